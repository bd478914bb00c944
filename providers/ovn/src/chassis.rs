//! OVNChassis: one node of a virtual network, as the southbound database sees it.

use c5c3_api::ovn_chassis::{Encapsulation, OvnChassisSpec, OvnChassisStatus};
use c5c3_api::ovn_cluster::OvnClusterSpec;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use provider_composer::{
    Composer, Custom, DesiredState, ExternalRequest, Failure, Live, Lookup, ObservedState,
    Progress, Reason, Resource, Subject, Use, second,
};
use provider_openstack::after;

use crate::network::{Database, Network};
use crate::ovsdb::{Access, Answer, Removal, SYSTEM, VALID};

/// Composes OVNChassis: observes a node, and removes it from the southbound database when it is gone.
pub struct OvnChassis;

impl Composer for OvnChassis {
    type Spec = OvnChassisSpec;
    type Status = OvnChassisStatus;
    const OPERATOR: &'static str = "ovn-operator";
    const ORDERED_DELETION: bool = true;

    fn uses(&self) -> Vec<Use> {
        let clusters = Custom::<OvnClusterSpec>::KIND;
        [clusters, Pod::KIND, Node::KIND, Secret::KIND]
            .map(Use::reads)
            .into()
    }

    fn compose(
        &self,
        subject: &Subject<OvnChassisSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<OvnChassisStatus, Failure> {
        let spec = &subject.spec;
        if subject.is_deleted() {
            remove(subject, observed, desired)?;
            return Ok(subject.status.clone());
        }
        unsupported(spec, desired);
        let (progress, status) = match observe(subject.namespace(), observed) {
            Ok((_, answer)) => registered(&answer, spec, &subject.status, observed.now()),
            Err(progress) => (progress, subject.status.clone()),
        };
        desired.conditions.set("OVSConnected", &progress);
        desired.requeue_at(after(VALID, observed));
        Ok(status)
    }
}

/// Reports fields that have a value and no effect.
fn unsupported(spec: &OvnChassisSpec, desired: &mut DesiredState) {
    let given = [
        ("bridgeMappings", !spec.bridge_mappings.is_empty()),
        (
            "encapsulation",
            spec.encapsulation != Encapsulation::default(),
        ),
        ("gateway", spec.gateway),
    ];
    let given = given.into_iter().filter(|(_, given)| *given);
    let given: Vec<&str> = given.map(|(field, _)| field).collect();
    if !given.is_empty() {
        let message = format!(
            "HypervisorPool and HypervisorShare say how the node takes part, and {} has no effect: remove it; the status has \
             what the node registered",
            given.join(", ")
        );
        let progress = Progress::waiting(Reason::Unsupported, message);
        desired.conditions.note("AgentSettingsApplied", &progress);
    }
}

/// What the southbound database says of a node.
fn registered(
    answer: &Answer,
    spec: &OvnChassisSpec,
    before: &OvnChassisStatus,
    now: Timestamp,
) -> (Progress, OvnChassisStatus) {
    let name = answer.registered(spec.system_id.as_deref(), &spec.hostname);
    let registered = name.and_then(|name| Some((name, answer.chassis.get(name)?)));
    let Some((system_id, chassis)) = registered else {
        let expected = spec.system_id.as_ref().unwrap_or(&spec.hostname);
        let message = format!(
            "no ovn-controller has registered as {expected}: check that its pod runs on the node, and that \
             external-ids:hostname is {}",
            spec.hostname
        );
        let progress = Progress::waiting(Reason::NotRegistered, message);
        return (progress, OvnChassisStatus::default());
    };
    let heartbeat = Timestamp::from_millisecond(chassis.timestamp).ok();
    let heartbeat = heartbeat.filter(|_| chassis.timestamp > 0).map(second);
    let progress = match answer.is_alive(system_id, now) {
        Some(false) => Progress::failed(
            Reason::Silent,
            format!(
                "ovn-controller {system_id} does not carry out changes any more: check its pod on the node"
            ),
        ),
        _ => Progress::Ready,
    };
    let registered_at = before.registered_at.clone();
    let status = OvnChassisStatus {
        registered_at: registered_at.or_else(|| Some(second(now))),
        last_heartbeat: heartbeat,
        system_id: Some(system_id.to_owned()),
        address: chassis.address.clone(),
        options: said(&chassis.options),
        bridge_mappings: said(&chassis.mappings),
        conditions: Vec::new(),
    };
    (progress, status)
}

fn said(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// Removes a node from the southbound database if it is gone from Kubernetes too. Where something can't be read, nothing is
/// removed, and it is tried again.
fn remove(
    subject: &Subject<OvnChassisSpec>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Result<(), Failure> {
    let unread = |message: String| Failure::transient(Reason::LookupFailed, message);
    match observed.get::<Node>("", &subject.spec.hostname) {
        Lookup::Found(_) => return Ok(()),
        Lookup::Unknown(message) => return Err(unread(message)),
        Lookup::Missing => {}
    }
    match observed.list::<Custom<OvnClusterSpec>>(subject.namespace(), &[]) {
        Lookup::Found(clusters) if clusters.iter().all(is_deleted) => return Ok(()),
        Lookup::Missing => return Ok(()),
        Lookup::Found(_) | Lookup::Unknown(_) => {}
    }
    let (access, answer) = observe(subject.namespace(), observed).map_err(|progress| {
        let why = progress.message();
        unread(format!(
            "{} can't be removed from the southbound database yet: {why}",
            subject.spec.hostname
        ))
    })?;
    let known = subject.spec.system_id.as_ref();
    let known = known.or(subject.status.system_id.as_ref());
    let known = known.map(String::as_str);
    if let Some(system_id) = answer.registered(known, &subject.spec.hostname) {
        let removal = Removal {
            access,
            system_id: system_id.to_owned(),
        };
        desired.call(ExternalRequest::new(SYSTEM, &removal));
    }
    Ok(())
}

fn is_deleted(cluster: &Live<Custom<OvnClusterSpec>>) -> bool {
    cluster.metadata.deletion_timestamp.is_some()
}

/// Asks the southbound database of the namespace's OVNCluster.
fn observe(namespace: &str, observed: &ObservedState<'_>) -> Result<(Access, Answer), Progress> {
    let clusters = observed.list::<Custom<OvnClusterSpec>>(namespace, &[]);
    let clusters = clusters.or_default()?;
    let [cluster] = clusters.as_slice() else {
        let message = format!(
            "namespace {namespace} has {} OVNClusters, and a node belongs to the only one: keep one",
            clusters.len()
        );
        return Err(Progress::failed(Reason::NoCluster, message));
    };
    let network = Network::new(&cluster.metadata.name, namespace, &cluster.body.spec);
    let pods = network.observe(Database::Southbound, observed);
    let pods = pods.or_default()?;
    let client = network.client(observed)?;
    let query = network.query(Database::Southbound, &pods, client.as_ref());
    let query = query.ok_or_else(|| {
        let message = "waits for a ready member of the southbound database";
        Progress::waiting(Reason::WaitingFor("Members"), message)
    })?;
    let missing = || Progress::unknown("the southbound database gave no answer");
    let answer = query.observe(observed).required(missing)?;
    Ok((query.access, answer))
}
