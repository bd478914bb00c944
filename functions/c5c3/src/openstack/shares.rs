//! The claim's share of each hypervisor pool.

use std::collections::BTreeMap;

use c5c3_api::HypervisorClusterSpec;
use c5c3_api::control_plane::ControlPlaneStatus;
use c5c3_api::hypervisor::{Agents, Aggregate, HypervisorShareSpec, HypervisorShareStatus};
use c5c3_api::parts::AgentEndpoint;
use function_protocol::Fatal;

use super::Recipe;
use super::site::CONTROL_PLANE;
use crate::composed::Composed;
use crate::composite::Metadata;
use crate::manifest::{Kind, Manifest};
use crate::observed::{Observation, condition};
use crate::pools::PoolComposite;

/// Label of a pool that becomes Nova's availability zone.
const ZONE: &str = "availability-zone";

impl Kind for HypervisorShareSpec {
    const API_VERSION: &'static str = "hypervisor.c5c3.io/v1alpha1";
    const KIND: &'static str = "HypervisorShare";
}

/// What is known of the shares.
#[derive(Default)]
pub struct Shares {
    /// Leased nodes by pool.
    pub hosts: BTreeMap<String, u32>,
    /// What isn't ready, in words.
    pub waiting: Vec<String>,
}

/// Name of the composed resource for a pool.
pub fn resource(pool: &str) -> String {
    format!("share-{pool}")
}

impl Recipe<'_> {
    /// Wants a share of every hypervisor pool.
    pub fn shares(&self, composed: &mut Composed<'_>) -> Result<Shares, Fatal> {
        let mut shares = Shares::default();
        let control_plane = composed.observation::<ControlPlaneStatus>(CONTROL_PLANE);
        let reported = control_plane.status.agent_endpoints;
        for (pool, part) in self.site.hypervisors.iter().zip(&self.parts) {
            let name = pool.name.name();
            let resource = resource(name);
            let observation: Observation<HypervisorShareStatus> = match &pool.composite {
                Some(composite) => {
                    let spec = HypervisorShareSpec {
                        control_plane: self.names.control_plane().to_owned(),
                        weight: part.weight,
                        min_hosts: promised(composite, &self.cluster.metadata)
                            .unwrap_or(part.min_hosts)
                            .min(part.max_hosts.unwrap_or(u32::MAX)),
                        max_hosts: part.max_hosts,
                        availability_zone: composite.spec.labels.get(ZONE).cloned(),
                        aggregate: Some(aggregate(name, &composite.spec)),
                        traits: traits(name, &composite.spec)?,
                        agents: Agents {
                            hosts: composite.spec.agents.clone(),
                            gateway: !composite.spec.network.physical_networks.is_empty(),
                            ..Agents::default()
                        },
                        endpoints: self.agent_endpoints(&reported, &resource, composed),
                        ..HypervisorShareSpec::default()
                    };
                    let share = Manifest::cluster_scoped(self.names.control_plane(), spec);
                    composed.object(
                        &resource,
                        name,
                        share,
                        self.site.creation_in(pool),
                        is_ready,
                    )?
                }
                None => {
                    composed.keep(&resource)?;
                    composed.observation(&resource)
                }
            };
            let leased = observation.status.host_count.unwrap_or_default();
            shares.hosts.insert(pool.name.to_string(), leased);
            if observation.exists && !(observation.synced && is_ready(&observation.status)) {
                shares.waiting.push(format!("HypervisorShare in {name}"));
            }
        }
        Ok(shares)
    }

    /// Where agents reach the control plane. While that isn't known, they keep the addresses that they have.
    fn agent_endpoints(
        &self,
        reported: &[AgentEndpoint],
        share: &str,
        composed: &Composed<'_>,
    ) -> Vec<AgentEndpoint> {
        if !reported.is_empty() || self.presets.hypervisor_access.is_none() {
            return reported.to_vec();
        }
        let last: Option<HypervisorShareSpec> = composed.last_wanted(share);
        last.unwrap_or_default().endpoints
    }
}

/// The nodes that a pool has promised the claim.
fn promised(pool: &PoolComposite<HypervisorClusterSpec>, claim: &Metadata) -> Option<u32> {
    let mut consumers = pool.status.consumers.iter();
    let own = consumers.find(|consumer| consumer.uid.as_deref() == claim.stored_uid())?;
    own.uid.as_ref().and(own.min_hosts)
}

fn is_ready(status: &HypervisorShareStatus) -> bool {
    condition(&status.conditions, "Ready").is_some_and(|ready| ready.status == "True")
}

/// Labels that say what kind of hosts these are, and so matter to Nova.
fn qualities(pool: &HypervisorClusterSpec) -> impl Iterator<Item = (&String, &String)> {
    pool.labels
        .iter()
        .filter(|(label, _)| !matches!(label.as_str(), ZONE | "dedicated"))
}

fn aggregate(name: &str, pool: &HypervisorClusterSpec) -> Aggregate {
    let metadata = qualities(pool).map(|(label, value)| (label.clone(), value.clone()));
    Aggregate {
        name: name.to_owned(),
        metadata: metadata.collect(),
    }
}

/// Returns Placement's custom traits, `CUSTOM_TIER_PREMIUM` for `tier: premium`
/// (<https://docs.openstack.org/placement/latest/user/index.html>: `CUSTOM_[A-Z0-9_]+`).
///
/// # Errors
/// Two labels become one trait.
fn traits(name: &str, pool: &HypervisorClusterSpec) -> Result<Vec<String>, Fatal> {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    for (label, value) in qualities(pool) {
        let upper = |character: char| match character.is_ascii_alphanumeric() {
            true => character.to_ascii_uppercase(),
            false => '_',
        };
        let custom: String = format!("CUSTOM_{label}_{value}")
            .chars()
            .map(upper)
            .collect();
        let label = format!("{label}: {value}");
        if let Some(other) = labels.insert(custom.clone(), label.clone()) {
            return Err(Fatal::new(format!(
                "the labels `{other}` and `{label}` of hypervisor pool {name} both become the trait {custom}; rename one of them"
            )));
        }
    }
    Ok(labels.into_keys().collect())
}
