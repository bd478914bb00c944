//! The composer of ControlPlanes, in a cluster in memory.

#![cfg(test)]

mod answers;
mod anything;

mod deletion;
mod graph;
mod mistakes;
mod release;
mod stage;
