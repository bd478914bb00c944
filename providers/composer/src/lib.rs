//! What every operator's logic stands on. No I/O, no client, no clock, no randomness.
//!
//! A [`Composer`] is a pure function from a [`Subject`] and the [`World`] around it to a [`Composition`]: the objects that
//! should exist, conditions and a status. Something carries composers: the controller in a cluster, a plan in memory, a
//! test in a few lines. The carrier looks at the world through a [`Source`], calls [`Operator::answer`], and makes the
//! world so.
//!
//! What a composer needs and doesn't own, it looks up in the [`World`], which notes the [`Ask`]. What could not be read is
//! [`Seen::Unread`], which is not the same as [`Seen::Missing`]: nothing may be dropped for it.

mod answer;
mod composer;
mod composition;
mod conditions;
mod failure;
mod generated;
mod key;
mod kind;
mod owner;
mod subject;
mod world;

pub use answer::Answer;
pub use c5c3_api::Reason;
pub use composer::{Access, Carried, Composer, Operator, Use, hindered, refused};
pub use composition::Composition;
pub use conditions::{Conditions, Progress, RECONCILING, STALLED};
pub use failure::Failure;
pub use generated::{Generated, Retention, Value as GeneratedValue};
pub use key::Key;
pub use kind::{Custom, Resource, ResourceKind};
pub use owner::Owner;
pub use subject::{Metadata, Subject};
pub use world::{Ask, Live, Outside, Seen, Source, World};
