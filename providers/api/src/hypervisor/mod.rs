//! What lives in a hypervisor cluster: the pool's own settings, and one share for each control plane.

mod pool;
mod share;

pub use self::{
    pool::{HypervisorPoolSpec, HypervisorPoolStatus},
    share::{
        Agents, Aggregate, Datapath, HypervisorShareSpec, HypervisorShareStatus, Virtualization,
    },
};
