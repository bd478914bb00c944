//! Runs the composers with no cluster at all and shows what they make.
//!
//! [`read`] takes claims and pools from files, [`plan`] runs everything that would run in the clusters until nothing
//! changes, and a [`Plan`] is shown as a [`tree`] or as a [`stream`]. Objects live in memory, under the name of the cluster
//! that they would be in. What runs is a list of [`Reconciler`]s: Crossplane with our function, provider-kubernetes, and
//! the operators of foreign kinds as far as anybody waits for them.

mod composite;
mod compositions;
mod control_plane;
mod controller;
mod crossplane;
mod error;
pub mod graph;
pub mod images;
mod input;
mod kind;
mod manifest;
mod names;
mod operated;
mod operators;
mod outcome;
mod outdated;
mod placeholder;
mod presets;
mod provider;
mod readiness;
mod resource;
mod run;
mod schema;
mod secret;
mod secret_path;
mod settle;
mod store;
mod stream;
mod tree;
mod yaml;

pub use compositions::{Composition, CompositionError, Compositions};
pub use controller::Listing;
pub use crossplane::Event;
pub use crossplane::required::Wanted;
pub use error::Error;
pub use input::{Files, Given, InputError, Place, read};
pub use kind::ClaimKind;
pub use manifest::{Manifest, NotAnObject};
pub use operated::{Operated, PlannedObject, State};
pub use operators::simulated;
pub use outcome::{Applied, Plan, Planned};
pub use readiness::{Readiness, conditions, readiness};
pub use resource::{CONTROL_PLANE, defaulted};
pub use run::{Settings, plan};
pub use secret_path::SecretPath;
pub use settle::Reconciler;
pub use store::{Key, Store};
pub use stream::{Format, aligned, composites, configuration, stream, yaml};
pub use tree::{
    Branch, Mark, Page, Paint, conditions as listed, credentials, operated, printable, tree, urls,
};
