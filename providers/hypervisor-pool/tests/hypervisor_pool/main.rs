//! Pools and shares of hypervisors, in a cluster in memory.

#![cfg(test)]

mod agents;
mod aggregates;
mod assignment;
mod compute_services;
mod configuration;
mod dead;
mod divisions;
mod drain;
mod enabling;
mod encryption;
mod failures;
mod fixture;
mod held;
mod histories;
mod hold;
mod incidents;
mod killed;
mod leases;
mod leftovers;
mod libvirtd;
mod lifecycle;
mod lists;
mod lost;
mod members;
mod migration;
mod migration_command;
mod movement;
mod nodes;
mod nova;
mod nova_migration;
mod pools;
mod requirements;
mod restored;
mod returned;
mod root;
mod same_identity;
mod surplus;
mod switch;
mod traits;
mod uplinks;
mod vlans;
mod wipe;
mod working;
