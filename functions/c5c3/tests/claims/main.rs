//! The composers, by values: one call in, the whole answer out.

mod call;
mod clusters;
mod openstack;
mod properties;
