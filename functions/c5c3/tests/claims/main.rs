//! The composers, by values: one call in, the whole answer out.

#![cfg(test)]

mod activity;
mod admission;
mod clusters;
mod names;
mod openstack;
mod ownership;
mod properties;
mod requests;
mod restored;
mod reuse;
mod sizes;
mod workloads;
