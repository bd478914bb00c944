//! The compute services of a share's nodes in Nova: disabled while nodes are drained, and deleted once their agents have stopped.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{
    CLOUDS_AUTHORITY, CLOUDS_FILE, ComputeState, HypervisorShareSpec, LeasePhase,
};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{
    DesiredState, Failure, Live, Lookup, ObservedState, Progress, Reason, Subject,
};
use provider_openstack::Awaited;

use crate::aggregate;
use crate::configuration::Configuration;
use crate::drain::{self, Reports};
use crate::leases::Leases;
use crate::named;
use crate::nodes::{self, Node};
use crate::nova::{
    Access, Aggregate, Call, Change, Occupants, Question, Service, VALID, after, request,
};

/// How the reason of a compute service that this operator disabled begins. One that is disabled for another reason stays so.
const DISABLED: &str = "drained by the HypervisorShare";
/// How many hosts a Nova is asked about in one reconcile: those that are nearest to being free.
const ASKED: usize = 32;
/// How long it takes until nodes that run are read again, in seconds.
const RARELY: u32 = 300;

/// The Nova of a share's control plane.
enum Nova {
    /// No nova-compute of this share ever ran.
    Never,
    /// It can't be read.
    Unknown(String),
    /// It answers.
    Known(Access, BTreeMap<String, Service>),
}

/// Reads the compute services of a share's nodes, completes the reports, and changes what differs from the nodes' phases.
///
/// # Errors
/// A call can't be written.
pub fn reconcile(
    share: &Subject<HypervisorShareSpec>,
    leases: &Leases,
    reports: &mut Reports,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<(), Failure> {
    let nova = nova(share, observed);
    let asked = nearest(leases, reports);
    for node in leases.nodes() {
        let Some(since) = nodes::since(node) else {
            continue;
        };
        let name = node.metadata.name.as_str();
        let phase = nodes::phase(node);
        let (access, service) = match &nova {
            Nova::Never => {
                let state = state(phase, None, reports.evidence(node).has_no_agent);
                reports.add(name, since, state, 0);
                continue;
            }
            Nova::Unknown(_) => continue,
            Nova::Known(access, services) => (access, services.get(name)),
        };
        let id = |service: &Service| service.id.clone();
        match (phase, service) {
            (LeasePhase::Leased, Some(service)) if is_ours(service) => {
                let service = id(service);
                call(access, Change::Enable { service }, desired)?;
            }
            (LeasePhase::Leased | LeasePhase::Wiping, _) => {}
            (_, Some(service)) if service.disabled.is_none() => {
                let reason = format!("{DISABLED} {} since {since}", share.name());
                let service = id(service);
                call(access, Change::Disable { service, reason }, desired)?;
            }
            (LeasePhase::Draining | LeasePhase::Releasing, _) if !asked.contains(name) => {}
            (LeasePhase::Draining | LeasePhase::Releasing, _) => {
                let host = name.to_owned();
                let Lookup::Found(Occupants {
                    servers,
                    migrations,
                }) = access.read(Question::Occupants { host: host.clone() }, observed)
                else {
                    continue;
                };
                let instances = servers.saturating_add(migrations);
                let has_no_agent = reports.evidence(node).has_no_agent;
                reports.add(name, since, state(phase, service, has_no_agent), instances);
                // nova-compute registers anew as long as it runs.
                if let Some(service) = service
                    && phase == LeasePhase::Releasing
                    && has_no_agent
                    && instances == 0
                {
                    let service = id(service);
                    call(access, Change::Delete { service, host }, desired)?;
                }
            }
        }
    }
    if let Nova::Known(access, services) = &nova {
        aggregate(share, leases, access, services, observed, desired)?;
    }
    let progress = progress(&nova, leases);
    let often = leases.draining() > 0 || !progress.is_ready();
    let condition = "ComputeServicesUp";
    match nova {
        Nova::Never => return Ok(()),
        // Until then servers would be scheduled elsewhere, or outside of the nodes' zone.
        Nova::Known(..) if !share.is_deleted() => desired.conditions.set(condition, &progress),
        _ => desired.conditions.note(condition, &progress),
    }
    desired.requeue_at(after(if often { VALID } else { RARELY }, observed));
    Ok(())
}

/// Keeps the aggregate of the share's nodes. Nova removes a host from it when it deletes the compute service.
fn aggregate(
    share: &Subject<HypervisorShareSpec>,
    leases: &Leases,
    access: &Access,
    services: &BTreeMap<String, Service>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<(), Failure> {
    let Lookup::Found(found) = access.read::<Vec<Aggregate>>(Question::Aggregates, observed) else {
        return Ok(());
    };
    let nodes = leases.nodes().iter().map(|node| &node.metadata.name);
    let hosts: BTreeSet<String> = nodes
        .filter(|name| services.contains_key(*name))
        .cloned()
        .collect();
    let (changes, progress) = aggregate::changes(share, &hosts, &found);
    if !progress.is_ready() {
        desired.requeue_at(after(VALID, observed));
    }
    match share.is_deleted() {
        true => desired.conditions.note("AggregateReady", &progress),
        false => desired.conditions.set("AggregateReady", &progress),
    }
    for change in changes {
        call(access, change, desired)?;
    }
    Ok(())
}

fn call(access: &Access, change: Change, desired: &mut DesiredState) -> Result<(), Failure> {
    let access = access.clone();
    let call = request(&Call { access, change }).map_err(|error| {
        let message = format!("a call of Nova can't be written: {error}");
        Failure::new(Reason::InternalError, message)
    })?;
    desired.call(call);
    Ok(())
}

/// The nodes that Nova is asked about: those whose agents stop, then those without a domain, then others.
fn nearest(leases: &Leases, reports: &Reports) -> BTreeSet<String> {
    let ending = leases.nodes().iter().filter(|node| {
        matches!(
            nodes::phase(node),
            LeasePhase::Draining | LeasePhase::Releasing
        )
    });
    let mut ending: Vec<(bool, bool, &str)> = ending
        .map(|node| {
            let is_draining = nodes::phase(node) == LeasePhase::Draining;
            let has_domain = !reports.evidence(node).has_no_domain;
            (is_draining, has_domain, node.metadata.name.as_str())
        })
        .collect();
    ending.sort_unstable();
    let nearest = ending.into_iter().take(ASKED);
    nearest.map(|(_, _, name)| name.to_owned()).collect()
}

/// What is reported of a node whose service is disabled or doesn't exist. That one doesn't exist counts only once no agent can
/// register it any more.
fn state(phase: LeasePhase, service: Option<&Service>, has_no_agent: bool) -> ComputeState {
    match service {
        None if phase != LeasePhase::Draining && has_no_agent => ComputeState::Removed,
        _ => ComputeState::Disabled,
    }
}

fn is_ours(service: &Service) -> bool {
    let reason = service.disabled.as_deref();
    reason.is_some_and(|reason| reason.starts_with(DISABLED))
}

fn nova(share: &Subject<HypervisorShareSpec>, observed: &ObservedState<'_>) -> Nova {
    let access = match access(share, observed) {
        Ok(Some(access)) => access,
        Ok(None) => return Nova::Never,
        Err(progress) => return Nova::Unknown(progress.message().to_owned()),
    };
    match access.read(Question::Services, observed) {
        Lookup::Found(services) => Nova::Known(access, services),
        Lookup::Missing => Nova::Unknown("there is no driver of Nova".to_owned()),
        Lookup::Unknown(why) => Nova::Unknown(why),
    }
}

/// How Nova is reached. None where nova-compute never had a configuration.
fn access(
    share: &Subject<HypervisorShareSpec>,
    observed: &ObservedState<'_>,
) -> Awaited<Option<Access>> {
    let spec = &share.spec;
    let nova = match Configuration::find("nova", Some(spec.cell()), spec, observed) {
        Ok(nova) => nova,
        Err(progress @ Progress::Waiting { .. }) => {
            let copy = observed.get::<Secret>(&drain::namespace(share.name()), "nova");
            return match copy {
                Lookup::Missing => Ok(None),
                Lookup::Found(_) => Err(progress),
                Lookup::Unknown(message) => Err(Progress::Unknown { message }),
            };
        }
        Err(progress) => return Err(progress),
    };
    let endpoints = spec.endpoints.iter();
    let addresses = endpoints.flat_map(|endpoint| {
        let names = endpoint.hostnames.iter();
        names.map(|name| (name.clone(), endpoint.addresses.clone()))
    });
    Ok(Some(Access {
        clouds: nova.text(CLOUDS_FILE)?.to_owned(),
        ca: nova
            .has(CLOUDS_AUTHORITY)
            .then(|| nova.text(CLOUDS_AUTHORITY).map(str::to_owned))
            .transpose()?,
        addresses: addresses.collect(),
    }))
}

/// Whether the nova-compute of every leased node reports to Nova.
fn progress(nova: &Nova, leases: &Leases) -> Progress {
    let services = match nova {
        Nova::Never => return Progress::Ready,
        Nova::Unknown(why) => {
            let message = format!(
                "Nova can't be read, so that no node is freed unless spec.computeServices says what is on it: {why}"
            );
            return Progress::waiting(Reason::LookupFailed, message);
        }
        Nova::Known(_, services) => services,
    };
    let is_down = |node: &&Live<Node>| {
        let service = services.get(&node.metadata.name);
        service.is_none_or(|service| !service.is_up)
    };
    let leased = leases.in_phase(LeasePhase::Leased).filter(is_down);
    let down: Vec<&str> = leased.map(|node| node.metadata.name.as_str()).collect();
    if down.is_empty() {
        return Progress::Ready;
    }
    Progress::waiting(
        Reason::NotRegistered,
        format!(
            "nova-compute doesn't report to Nova from {}: check its pods on these nodes, and `openstack compute service list`",
            named(&down, ", ")
        ),
    )
}
