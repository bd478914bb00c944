//! OpenStack control planes as a service.
fn main() {}
