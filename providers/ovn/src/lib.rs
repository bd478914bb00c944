//! The ovn-operator's composers: OVN's databases with what translates between them, and the nodes of the virtual network.
//!
//! Members of a database run `member.sh`, which creates, joins, leaves and repairs the cluster by itself; the composer says
//! how many there should be, and never more than one less than there are.

mod backup;
mod chassis;
mod cluster;
mod daemon;
mod encryption;
mod gauges;
mod member;
mod network;
mod nodes;
pub mod ovsdb;

pub use chassis::OvnChassis;
pub use cluster::OvnCluster;
