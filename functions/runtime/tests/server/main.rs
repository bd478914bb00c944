//! A served function over loopback, as a core, a kubelet and Prometheus see it.

mod calls;
mod certificates;
mod operations;
mod serving;
mod tls;
