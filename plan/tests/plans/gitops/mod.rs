//! The GitOps repository of the examples: what Flux would find in it, without Flux.

mod charts;
mod claims;
mod references;
mod repository;
mod safety;
mod tenants;
mod versions;
