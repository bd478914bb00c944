//! The ControlPlane that exists: read once in a call, for all that follows from it.

use c5c3_api::control_plane::{ControlPlaneNetwork, ControlPlaneStatus, TenantAccess};
use function_protocol::Request;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::site::CONTROL_PLANE;
use crate::observed::{Observation, last_composed};

/// The ControlPlane that exists, whoever owns it.
pub struct Existing {
    /// What the c5c3-operator says of it.
    pub status: ControlPlaneStatus,
    /// The spec that it was last wanted with; none while there is no ControlPlane.
    pub spec: Option<LastSpec>,
}

/// What is read of the spec that a ControlPlane was last wanted with.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LastSpec {
    /// What the tenant's first user may do.
    pub access: Option<TenantAccess>,
    /// Whether there is a Tempest.
    pub tempest: Option<IgnoredAny>,
    /// What is read of what holds for all services.
    pub global: LastGlobal,
}

/// What is read of what holds for all services.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LastGlobal {
    /// Its networks.
    pub network: ControlPlaneNetwork,
}

impl Existing {
    /// Reads it; what can't be read counts as not there.
    pub fn of(request: &Request) -> Self {
        #[derive(Deserialize)]
        struct Manifest {
            spec: LastSpec,
        }
        let last = last_composed::<Manifest>(request, CONTROL_PLANE);
        let observed = request.observed().get(CONTROL_PLANE);
        Self {
            status: Observation::<ControlPlaneStatus>::of(observed).status,
            spec: last.ok().flatten().map(|manifest| manifest.spec),
        }
    }
}
