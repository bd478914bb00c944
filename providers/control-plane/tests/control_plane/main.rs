//! The composer of ControlPlanes, in a cluster in memory.

#![cfg(test)]

mod alarms;
mod answers;
mod any_size;
mod anything;
mod backup;
mod bootstrap;
mod cells;
mod certificates;
mod deletion;
mod exposure;
mod first_network;
mod graph;
mod growth;
mod hypervisor_access;
mod images;
mod memcached;
mod mistakes;
mod monitoring;
mod network;
mod ovn;
mod passwords;
mod pools;
mod recovery;
mod release;
mod removal;
mod retry;
mod sizes;
mod verified;

use provider_control_plane_fixtures as stage;
