//! The interface of operators' logic. No I/O, no client, no clock, no randomness.
//!
//! A [`Composer`] is a pure function from a [`Subject`] and the [`ObservedState`] around it to a [`DesiredState`]: the
//! objects that should exist, and conditions. A runtime runs composers: the controller in a cluster, a plan in memory, or a
//! test in a few lines. It serves lookups from a [`Source`], calls [`Operator::composed`], and applies what that returns.
//!
//! What a composer needs and doesn't own, it looks up in the [`ObservedState`], which records the [`Dependency`]. What could
//! not be read is [`Lookup::Unknown`], which is not the same as [`Lookup::Missing`]: nothing is deleted because of it.

mod composed;
mod composer;
mod conditions;
mod desired;
mod failure;
mod generated;
mod key;
mod kind;
mod observed;
mod owner;
mod subject;

pub use c5c3_api::Reason;
pub use composed::Composed;
pub use composer::{Access, Composer, Operator, Use, status_of_failure, status_with_failure};
pub use conditions::{Conditions, Progress, RECONCILING, STALLED};
pub use desired::DesiredState;
pub use failure::Failure;
pub use generated::{Generated, Retention, Value as GeneratedValue};
pub use key::Key;
pub use kind::{Custom, Resource, ResourceKind};
pub use observed::{Dependency, ExternalRequest, Live, Lookup, ObservedState, Source};
pub use owner::Owner;
pub use subject::{Metadata, OwnerReference, Subject};
