//! The state in which a resource is reconciled.

use clap::ValueEnum;
use provider_composer::{Composed, Failure};

/// The state of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// It is new.
    New,
    /// It runs, and nothing changes.
    Running,
}

/// A reconcile that can be repeated.
pub type Again = Box<dyn Fn() -> Result<Composed, Failure>>;
