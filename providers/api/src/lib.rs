//! The kinds that users write, as Rust types. No logic, no client.
