//! The composers, by values: one call in, the whole answer out.

mod clusters;
mod openstack;
mod properties;
mod workloads;
