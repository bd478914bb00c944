//! Traits in Placement that the nodes of a share have no longer.
//!
//! nova-compute adds the traits of its provider configuration to the resource provider of its host, and leaves those there that an earlier
//! configuration had, since they may be an administrator's (nova/compute/resource_tracker.py, `_merge_provider_configs`). A flavor that
//! requires a trait would still find the nodes of a pool that has lost the label. So the share's status has the traits that nodes may have
//! from an earlier spec until Placement has them of none. Those that the share never had stay.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use c5c3_api::shell::argument;
use provider_composer::{DesiredState, Lookup, ObservedState, Progress, Reason, Subject, named};
use provider_openstack::Prerequisite;

use crate::aggregate;
use crate::asked::{AT_ONCE, drawn};
use crate::compute_services::Computes;
use crate::leases::Leases;
use crate::members::known;
use crate::nodes;
use crate::nova::{Access, Change, ProviderTraits, Question, VALID, after, hosts_of};
use crate::pods::{self, Pods};

/// The agent that sets the traits of its node.
pub const NOVA_COMPUTE: &str = "nova-compute";
/// The condition that says which nodes still have former traits. It is only there while some may have.
const CONDITION: &str = "FormerTraitsRemoved";
/// The condition that says which former traits the share's aggregate requires of flavors. It is only there while there are some.
const REQUIRED: &str = "AggregateTraitsPresent";
/// How traits begin that no driver of Nova sets.
const CUSTOM: &str = "CUSTOM_";
/// How many traits a status has.
const REMEMBERED: usize = 128;

/// Resource providers of nodes that have former traits: by ID, the node and these traits.
type Providers<'n> = BTreeMap<String, (&'n String, BTreeSet<String>)>;

/// Removes from Placement what nodes have of a share's former traits, once nova-compute has started there with the present ones, which
/// `configuration` stands for. Before, it would add them again. Returns the traits that nodes have or may have, both those that the share
/// leases and those that it has lost, which a person may give back. A trait that the aggregate requires of flavors is among them, too.
pub fn reconcile(
    share: &Subject<HypervisorShareSpec>,
    leases: &Leases,
    pods: &Prerequisite<Pods>,
    computes: &Computes,
    configuration: Option<&str>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Vec<String> {
    let (wanted, lost) = (&share.spec.traits, &computes.lost);
    let former = share.status.traits.iter();
    let former: BTreeSet<String> = former
        .filter(|name| name.starts_with(CUSTOM) && !wanted.contains(name))
        .cloned()
        .collect();
    let never_ran = matches!(computes.services, Lookup::Missing);
    if former.is_empty() || (never_ran && lost.is_empty()) {
        return wanted.clone();
    }
    let all = wanted.iter().chain(&former).take(REMEMBERED);
    let all: Vec<String> = all.cloned().collect();
    // Resource providers are deleted with the compute services.
    if share.is_deleted() {
        return all;
    }
    let isolating = computes.isolating.as_ref();
    let required = former.iter();
    let required = required.filter(|name| isolating.is_some_and(|own| own.contains(*name)));
    let required: Vec<&String> = required.collect();
    if !required.is_empty() {
        let progress = isolated(aggregate::name(share), &required);
        desired.conditions.note(REQUIRED, &progress);
    }
    let wait = |progress: &Progress, desired: &mut DesiredState| {
        desired.conditions.note(CONDITION, progress);
        desired.requeue_at(after(VALID, observed));
    };
    let names = named(&Vec::from_iter(&former), ", ");
    let message =
        format!("it isn't known which nodes have traits that this share has no longer, {names}");
    let Some(access) = &computes.access else {
        let message = format!("{message}: Nova can't be read");
        wait(&Progress::Unknown { message }, desired);
        return all;
    };
    let traits = former.clone();
    let found = access.read(Question::Traits { traits }, observed);
    let found: BTreeMap<String, ProviderTraits> = match known(found, &message) {
        Ok(Some(found)) => found,
        // The condition ResourceProvidersChecked says so.
        Ok(None) => return all,
        Err(unknown) => {
            wait(&unknown, desired);
            return all;
        }
    };
    // The resource providers of others are deleted.
    let running = [LeasePhase::Leased, LeasePhase::Draining];
    let nodes = leases.nodes().iter();
    let nodes = nodes.filter(|node| running.contains(&nodes::phase(node)));
    let nodes: BTreeSet<&String> = nodes.map(|node| &node.metadata.name).collect();
    let is_current = |host: &str| {
        let has = |pods: &Pods| {
            let mut own = pods.of(NOVA_COMPUTE, host);
            own.any(|pod| pods::is_up(pod) && pods::configuration_of(pod) == configuration)
        };
        configuration.is_some() && pods.as_ref().is_ok_and(has)
    };
    let outdated = nodes.iter().copied().filter(|host| !is_current(host));
    let outdated: Vec<&String> = outdated.collect();
    let mut providers = Providers::new();
    for (id, ProviderTraits { name, traits }) in found {
        let host = hosts_of(&name).find_map(|host| nodes.get(&host.to_owned()).copied());
        if let Some(host) = host.filter(|host| is_current(host)) {
            providers.insert(id, (host, traits));
        }
    }
    let left = remove(&providers, access, observed, desired);
    let lost = Vec::from_iter(lost);
    match progress(&names, &outdated, &left, &lost) {
        Some(progress) => {
            wait(&progress, desired);
            all
        }
        // The aggregate may require any of them.
        None if isolating.is_none() => all,
        None => {
            let required = wanted.iter().chain(required).take(REMEMBERED);
            required.cloned().collect()
        }
    }
}

/// Removes these traits from some of the resource providers. Returns the nodes that still have some.
fn remove<'n>(
    providers: &Providers<'n>,
    access: &Access,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Vec<&'n String> {
    let asked = drawn(providers.keys(), AT_ONCE, observed.now());
    let mut foreign = BTreeSet::new();
    for provider in asked {
        let Some((host, traits)) = providers.get(provider) else {
            continue;
        };
        let question = Question::Hypervisor {
            host: (*host).clone(),
        };
        match access.read::<Option<String>>(question, observed) {
            Lookup::Found(Some(id)) if id == *provider => {
                let change = Change::RemoveTraits {
                    provider: id,
                    traits: traits.clone(),
                };
                access.call(change, desired);
            }
            // It is of another host that has this name with a domain.
            Lookup::Found(Some(_)) => drop(foreign.insert(provider)),
            Lookup::Found(None) | Lookup::Missing | Lookup::Unknown(_) => {}
        }
    }
    let left = providers.iter().filter(|(id, _)| !foreign.contains(id));
    let left: BTreeSet<&String> = left.map(|(_, (host, _))| *host).collect();
    Vec::from_iter(left)
}

/// What is waited for, if anything.
fn progress(
    names: &str,
    outdated: &[&String],
    left: &[&String],
    lost: &[&String],
) -> Option<Progress> {
    let mut messages = Vec::new();
    if !outdated.is_empty() {
        messages.push(format!(
            "waits for nova-compute to restart with the present traits on {}",
            named(outdated, ", ")
        ));
    }
    if !left.is_empty() {
        messages.push(format!(
            "waits for Placement to remove them from the resource providers of {}",
            named(left, ", ")
        ));
    }
    if !lost.is_empty() {
        messages.push(format!(
            "waits until Nova and Placement have nothing left of {}, which this share leases no longer",
            named(lost, ", ")
        ));
    }
    let message = format!(
        "flavors that require traits that this share has no longer, {names}, may still find its nodes: {}. Until then, nodes also lose such a \
         trait that is set by hand. Servers that require one move only to hosts that have it: to move them between nodes of this share, give \
         it the trait again (with claims, by the label of the pool)",
        messages.join("; ")
    );
    let waiting = Progress::waiting(Reason::WaitingFor("Placement"), message);
    (!messages.is_empty()).then_some(waiting)
}

/// What is said of an aggregate whose hosts are kept for flavors that require traits which they have no longer.
fn isolated(aggregate: &str, traits: &[&String]) -> Progress {
    let properties = traits
        .iter()
        .map(|name| format!("--property {}", argument(&format!("trait:{name}"))));
    let properties: Vec<String> = properties.collect();
    Progress::failed(
        Reason::TraitMissing,
        format!(
            "Nova's aggregate {aggregate} has properties by which flavors must require traits that this share has no longer, {}: where the \
             scheduler has enable_isolated_aggregate_filtering, no flavor finds its hosts. Remove them by `openstack aggregate unset {} \
             {}`, or give the share the trait again (with claims, by the label of the pool). Until then, hosts also lose such a trait \
             that is set by hand",
            named(traits, ", "),
            properties.join(" "),
            argument(aggregate)
        ),
    )
}
