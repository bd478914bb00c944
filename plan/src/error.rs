//! Why nothing can be planned.

use function_protocol::DocumentError;
use provider_composer::Failure;
use thiserror::Error;

use crate::compositions::CompositionError;
use crate::input::InputError;
use crate::manifest::NotAnObject;

/// Why nothing can be planned.
#[derive(Debug, Error)]
pub enum Error {
    /// The files can't be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Composite resources are requested, and no claim is given.
    #[error(
        "{0} has no composite resource: give an OpenStackCluster, ControlPlaneCluster, HypervisorCluster or StorageCluster"
    )]
    NoClaim(String),
    /// The Compositions can't be used.
    #[error(transparent)]
    Composition(#[from] CompositionError),
    /// A function's requirements change with every call; Crossplane gives up with this message.
    #[error(
        "{title}: requirements didn't stabilize after the maximum number of iterations ({rounds})"
    )]
    Unstable {
        /// The claim.
        title: String,
        /// How often the function was called again.
        rounds: usize,
    },
    /// Two things undo each other's work.
    #[error("after {rounds} rounds these still change: {changing}")]
    Unsettled {
        /// How long it was tried.
        rounds: usize,
        /// What still changed in the last round.
        changing: String,
    },
    /// The function composes something that isn't a Kubernetes object.
    #[error("the function composes {resource}, which is not a Kubernetes object")]
    Composed {
        /// The function's name for it.
        resource: String,
    },
    /// A resource isn't a Kubernetes object.
    #[error(transparent)]
    NotAnObject(#[from] NotAnObject),
    /// A document has no wire form, or can't be read from it.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A release isn't known.
    #[error(transparent)]
    Release(#[from] Failure),
    /// A manifest can't be written.
    #[error("the plan can't be written: {0}")]
    Written(String),
}
