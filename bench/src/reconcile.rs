//! Reconciles of a ControlPlane, without any I/O.

use std::hint::black_box;

use clap::ValueEnum;
use provider_control_plane_fixtures::Stage;
use serde_json::json;

/// How far the ControlPlane has come, which has every part that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// It was just made.
    New,
    /// It runs: nothing is to be done.
    Running,
}

impl Case {
    /// Reconciles it so many times.
    pub fn repeat(self, times: usize) {
        let spec = json!({ "cortex": { "enabled": true }, "tempest": { "enabled": true } });
        let stage = match self {
            Case::New => Stage::new(spec),
            Case::Running => Stage::running(spec),
        };
        for _ in 0..times {
            black_box(black_box(&stage).reconcile());
        }
    }
}
