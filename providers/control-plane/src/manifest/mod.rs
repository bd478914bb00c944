//! Foreign kinds, as far as they are composed or read. Each is checked against its own schema in the lab.

pub mod external_secrets;
pub mod korc;
