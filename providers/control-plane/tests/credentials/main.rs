//! The catalogue, credentials and their rotation, and aggregates, in a cluster in memory.

#![cfg(test)]

mod aggregate;
mod catalogue;
mod exemptions;
mod exposure;
mod restored;
mod rotation;
mod stage;
mod tenant;
mod users;
