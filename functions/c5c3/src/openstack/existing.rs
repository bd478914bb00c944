//! The ControlPlane that exists: read once in a call, for all that follows from it.

use std::collections::BTreeSet;

use c5c3_api::control_plane::{Compute, ControlPlaneNetwork, ControlPlaneStatus, TenantAccess};
use c5c3_api::parts::{ExtraConfig, PoolAgents};
use function_protocol::Request;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::resource::CONTROL_PLANE;
use crate::observed::{Observation, condition, is_true, last_observed, last_spec};

/// The ControlPlane that exists, whoever owns it.
pub struct Existing {
    /// What the c5c3-operator says of it.
    pub status: ControlPlaneStatus,
    /// The spec that it was last wanted with; none while there is no ControlPlane.
    pub spec: Option<LastSpec>,
}

/// What is read of a ControlPlane beside its status, where a cell of Nova was added.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Observed {
    metadata: ObservedMetadata,
    spec: ObservedSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObservedMetadata {
    generation: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObservedSpec {
    compute: Compute,
}

/// What is read of the spec that a ControlPlane was last wanted with.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LastSpec {
    /// What the tenant's first user may do.
    pub access: Option<TenantAccess>,
    /// Whether there is a Tempest.
    pub tempest: Option<IgnoredAny>,
    #[serde(deserialize_with = "if_readable")]
    global: LastGlobal,
    #[serde(deserialize_with = "if_readable")]
    services: LastServices,
    #[serde(deserialize_with = "if_readable")]
    compute: Compute,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LastGlobal {
    #[serde(deserialize_with = "if_readable")]
    network: Option<ControlPlaneNetwork>,
    tls: LastTls,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LastTls {
    enabled: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LastServices {
    nova: LastNova,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LastNova {
    extra_config: ExtraConfig,
}

/// Empty where it can't be read: the rest of the spec can be.
fn if_readable<'de, D, T>(part: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(T::deserialize(part).unwrap_or_default())
}

impl Existing {
    /// Reads it; what can't be read counts as not there.
    pub fn of(request: &Request) -> Self {
        let observed = request.observed().get(CONTROL_PLANE);
        Self {
            status: Observation::<ControlPlaneStatus>::of(observed).status,
            spec: last_spec(request, CONTROL_PLANE),
        }
    }

    /// Whether a condition is True.
    pub fn is_true(&self, type_: &str) -> bool {
        is_true(&self.status.conditions, type_)
    }

    /// The cells beside the first for which a condition is True; none while the status is still of an earlier spec.
    pub fn cells_with(&self, type_: &str, request: &Request) -> BTreeSet<String> {
        let observed = last_observed(request, CONTROL_PLANE).ok().flatten();
        let Observed { metadata, spec } = observed.unwrap_or_default();
        let said = condition(&self.status.conditions, type_);
        let is_current = said.is_some_and(|said| said.observed_generation >= metadata.generation);
        if !is_current || !self.is_true(type_) {
            return BTreeSet::new();
        }
        let cells = spec.compute.cells.into_iter();
        cells.map(|cell| cell.name).collect()
    }

    /// Whether it was last wanted without encryption.
    pub fn is_unencrypted(&self) -> bool {
        let spec = self.spec.as_ref();
        spec.is_some_and(|spec| spec.global.tls.enabled == Some(false))
    }

    /// The networks that it was last wanted with.
    pub fn network(&self) -> Option<&ControlPlaneNetwork> {
        self.spec.as_ref()?.global.network.as_ref()
    }

    /// What the agents of a pool ran with when it was last wanted.
    pub fn pool_agents(&self, pool: &str) -> Option<&PoolAgents> {
        let mut agents = self.spec.as_ref()?.compute.agents.iter();
        agents.find(|agents| agents.name == pool)
    }

    /// The value of an option, by section and name, of the Nova that it was last wanted with.
    pub fn nova_option(&self, (section, option): (&str, &str)) -> Option<&str> {
        let options = &self.spec.as_ref()?.services.nova.extra_config.0;
        options.get(section)?.get(option).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use function_protocol::Document;
    use function_protocol::v1::{Resource, RunFunctionRequest, State};
    use serde_json::json;

    use super::*;

    #[test]
    fn existing_keeps_the_rest_where_networks_cannot_be_read() {
        let global = json!({"network": {"mtu": "large"}, "tls": {"enabled": false}});
        let manifest = json!({"spec": {"access": "Domain", "global": global}});
        let object = json!({"spec": {"forProvider": {"manifest": manifest}}});
        let resource = Resource {
            resource: Some(Document::from_value(&object).unwrap()),
            ..Resource::default()
        };
        let observed = State {
            resources: [(CONTROL_PLANE.to_owned(), resource)].into(),
            ..State::default()
        };
        let (request, _) = Request::split(RunFunctionRequest {
            observed: Some(observed),
            ..RunFunctionRequest::default()
        });
        let existing = Existing::of(&request);
        assert_eq!(existing.network(), None);
        assert!(existing.is_unencrypted());
        let access = existing.spec.and_then(|spec| spec.access);
        assert_eq!(access, Some(TenantAccess::Domain));
    }
}
