//! Pools and shares of hypervisors, in a cluster in memory.

#![cfg(test)]

mod agents;
mod assignment;
mod compute_services;
mod configuration;
mod drain;
mod fixture;
mod histories;
mod leases;
mod lifecycle;
mod pools;
mod vlans;
