//! The claim's share of each hypervisor pool.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{
    Agents, Aggregate, FIRST_CELL, HypervisorShareSpec, HypervisorShareStatus,
};
use c5c3_api::parts::AgentEndpoint;
use c5c3_api::{Condition, HypervisorClusterSpec};
use function_protocol::Fatal;
use serde_json::Value;

use super::moves::Hosts;
use super::{Recipe, new_hosts, resource};
use crate::composed::Composed;
use crate::manifest::Manifest;
use crate::observed::{Observation, condition, is_true};
use crate::pools::{Named, allows};

/// Label of a pool that becomes Nova's availability zone.
const ZONE: &str = "availability-zone";

/// What stands for a label in the trait of a pool itself.
const POOL: &str = "pool";

/// Follows a share that nobody has looked at.
const NOT_REPORTED: &str = " (the hypervisor-pool-operator of that cluster hasn't reported it: the platform team installs the \
                            chart hypervisor-pool-operator there)";

/// A condition of the claim that repeats one of its shares. Both may be Ready without.
pub struct Repeated {
    /// The claim's condition.
    pub type_: &'static str,
    /// The shares' condition.
    of: &'static str,
    /// Whether every share has it: of one that doesn't report it, nothing is known.
    by_all: bool,
}

/// All of them.
pub const REPEATED: [Repeated; 5] = [
    repeated("AggregatesReady", "AggregateReady", true),
    // It names the nodes that don't work.
    repeated("HypervisorsWorking", "HostsWorking", true),
    // Shares have these two with encryption only, and the third once they have nodes.
    repeated("ConsolesReady", "ConsolesReady", false),
    repeated("HypervisorCertificatesReady", "CertificateReady", false),
    repeated("MigrationReady", "MigrationReady", false),
];

const fn repeated(type_: &'static str, of: &'static str, by_all: bool) -> Repeated {
    Repeated { type_, of, by_all }
}

/// The name of a pool, and a condition of the claim's share there; none if the share doesn't report it.
pub type PoolCondition = (String, Option<Condition>);

/// What is known of the shares.
#[derive(Default)]
pub struct Shares {
    /// Leased nodes by pool.
    pub hosts: BTreeMap<String, u32>,
    /// What isn't ready, in words.
    pub waiting: Vec<String>,
    /// What the shares report for the claim's conditions of [`REPEATED`].
    pub repeated: BTreeMap<&'static str, Vec<PoolCondition>>,
    /// To which pools servers move from the nodes of each share that exists.
    pub moves: Vec<Hosts>,
    /// Whether the operator of each pool enables new compute services; none where that isn't known.
    pub enabling: Vec<Option<bool>>,
}

impl Recipe<'_> {
    /// Wants a share of every hypervisor pool, where Nova runs servers on them.
    pub fn shares(&self, composed: &mut Composed<'_>) -> Result<Shares, Fatal> {
        let mut shares = Shares::default();
        if !self.cluster.spec.services.nova {
            return Ok(shares);
        }
        for (pool, part) in self.site.hypervisors.iter().zip(&self.parts) {
            let name = pool.name.name();
            let resource = resource::share(name);
            let observation: Observation<HypervisorShareStatus> = match &pool.composite {
                // It isn't wanted any more, and kept for its servers.
                _ if self.keeps_nova => composed.observation(&resource),
                Some(composite) => {
                    let spec = HypervisorShareSpec {
                        control_plane: self.names.control_plane().to_owned(),
                        weight: part.weight,
                        min_hosts: match part.min_hosts {
                            // The pool promises such a claim one node, which the share gets by its weight.
                            0 => 0,
                            min_hosts => pool
                                .promised()
                                .unwrap_or(min_hosts)
                                .min(part.max_hosts.unwrap_or(u32::MAX)),
                        },
                        max_hosts: part.max_hosts,
                        held: !allows(
                            &composite.spec.sharing,
                            self.cluster.metadata.claim_namespace(),
                        ),
                        availability_zone: composite.spec.labels.get(ZONE).cloned(),
                        aggregate: Some(aggregate(name, &composite.spec)),
                        traits: traits(name, &composite.spec, &self.site.hypervisors)?,
                        cell: self.cell(name, composed),
                        agents: Agents {
                            hosts: composite.spec.agents.clone(),
                            gateway: !composite.spec.network.physical_networks.is_empty(),
                            ..Agents::default()
                        },
                        identity: identity(&resource, composed),
                        endpoints: self.agent_endpoints(&resource, composed),
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
            let conditions = &observation.status.conditions;
            shares.enabling.push(new_hosts::enables(conditions));
            let is_ready = observation.synced && is_ready(&observation.status);
            if observation.exists && !is_ready && !self.keeps_nova {
                let why = why(&observation);
                shares
                    .waiting
                    .push(format!("HypervisorShare in {name}{why}"));
            }
            if observation.exists {
                let composite = pool.composite.as_ref();
                let cell = self.cell(name, composed);
                let key = observation.status.cell_key.map(|is_of_cell| !is_of_cell);
                // An earlier operator doesn't report it, and gives each share a key of its own.
                let moves = || is_true(conditions, "MigrationReady").then_some(true);
                shares.moves.push(Hosts {
                    pool: name.to_owned(),
                    cell: cell.unwrap_or_else(|| FIRST_CELL.to_owned()),
                    has_own_key: key.or_else(moves),
                    is_encrypted: composite.is_some_and(|pool| pool.spec.agents.encrypted),
                });
            }
            for Repeated { type_, of, by_all } in REPEATED {
                let said = condition(conditions, of).cloned();
                if said.is_some() || by_all && observation.exists {
                    let reported = shares.repeated.entry(type_).or_default();
                    reported.push((name.to_owned(), said));
                }
            }
        }
        Ok(shares)
    }

    /// The pools that guarantee fewer nodes than the claim can't do without, in words: they had no more when it enabled Nova or grew.
    pub fn guaranteed_less(&self) -> Vec<String> {
        let pools = self.site.hypervisors.iter().zip(&self.parts);
        let less = pools.filter_map(|(pool, part)| {
            let promised = pool.promised()?;
            (promised < part.needed).then(|| {
                format!(
                    "{} guarantees {promised} of the {} nodes that the claim asks for",
                    pool.name, part.needed
                )
            })
        });
        less.collect()
    }

    /// Where agents reach the control plane. While that isn't known, they keep the addresses that they have.
    fn agent_endpoints(&self, share: &str, composed: &Composed<'_>) -> Vec<AgentEndpoint> {
        let reported = &self.existing.status.agent_endpoints;
        if !reported.is_empty() || self.presets.hypervisor_access.is_none() {
            return reported.clone();
        }
        let last: Option<HypervisorShareSpec> = composed.last_wanted(share);
        last.unwrap_or_default().endpoints
    }
}

/// Returns the identity of a share: the recorded one or, the first time, the UID of the observed share. It stays where the share
/// is created again or the claim is restored from a backup, which then have other UIDs.
fn identity(share: &str, composed: &Composed<'_>) -> Option<String> {
    let wanted: Option<Value> = composed.last_wanted(share);
    let observed: Option<Value> = composed.own_object(share);
    let text = |value: Option<&Value>, pointer: &str| {
        let text = value?.pointer(pointer)?.as_str()?;
        Some(text.to_owned())
    };
    text(wanted.as_ref(), "/identity")
        .or_else(|| text(observed.as_ref(), "/spec/identity"))
        .or_else(|| text(observed.as_ref(), "/metadata/uid"))
}

/// Returns why a share isn't ready, in brackets, where that is known.
fn why(observation: &Observation<HypervisorShareStatus>) -> String {
    let conditions = &observation.status.conditions;
    let unready = condition(conditions, "Ready").filter(|ready| ready.status != "True");
    let said = unready.map(|ready| ready.message.as_str());
    match observation.problem.as_deref().or(said) {
        Some("") => String::new(),
        Some(message) => format!(" ({message})"),
        None if observation.synced && conditions.is_empty() => NOT_REPORTED.to_owned(),
        None => String::new(),
    }
}

fn is_ready(status: &HypervisorShareStatus) -> bool {
    is_true(&status.conditions, "Ready")
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

/// Returns Placement's custom traits: `CUSTOM_POOL_HV_POOL_A` for the pool itself, and `CUSTOM_TIER_PREMIUM` for the label `tier: premium`.
///
/// # Errors
/// Two labels become one trait, or one becomes the trait of another of the claim's pools, whose flavors would find the nodes of both.
fn traits(
    name: &str,
    pool: &HypervisorClusterSpec,
    all: &[Named<HypervisorClusterSpec>],
) -> Result<Vec<String>, Fatal> {
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    for (label, value) in qualities(pool) {
        let custom = custom(label, value);
        let label = format!("{label}: {value}");
        if let Some(other) = labels.insert(custom.clone(), label.clone()) {
            return Err(Fatal::new(format!(
                "the labels `{other}` and `{label}` of hypervisor pool {name} both become the trait {custom}; rename one of them"
            )));
        }
    }
    let others = all.iter().map(|pool| pool.name.name());
    for other in others.filter(|other| *other != name) {
        let custom = custom(POOL, other);
        if let Some(label) = labels.get(&custom) {
            return Err(Fatal::new(format!(
                "the label `{label}` of hypervisor pool {name} becomes {custom}, which is the trait of hypervisor pool {other}; rename the \
                 label"
            )));
        }
    }
    labels.entry(custom(POOL, name)).or_default();
    Ok(labels.into_keys().collect())
}

/// Returns a custom trait (<https://docs.openstack.org/placement/latest/user/index.html>: `CUSTOM_[A-Z0-9_]+`).
fn custom(label: &str, value: &str) -> String {
    let upper = |character: char| match character.is_ascii_alphanumeric() {
        true => character.to_ascii_uppercase(),
        false => '_',
    };
    format!("CUSTOM_{label}_{value}")
        .chars()
        .map(upper)
        .collect()
}
