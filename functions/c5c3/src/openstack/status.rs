//! What the claim's owner sees: phase, endpoints, consumed pools, and conditions.

use c5c3_api::control_plane::{Compute, ControlPlaneStatus, UpdatePhase};
use c5c3_api::openstack_cluster::{
    ConsumedHypervisorPool, ConsumedPools, ConsumedStoragePool, Phase,
};
use c5c3_api::{Condition, OpenStackClusterStatus, Reason};
use function_protocol::{Fatal, Readiness, Response};

use super::Recipe;
use super::ceph::Ceph;
use super::control_plane::{is_current, is_ready};
use super::pools_observed::pools_observed;
use super::shares::{PoolCondition, REPEATED, Repeated, Shares};
use super::tenant::Tenant;
use super::unsupported::unsupported;
use super::verify::Verdict;
use crate::composed::Retention;
use crate::observed::{Observation, condition, is_true};
use crate::transitions;
use crate::ttl::set_ttl;

/// What was found while composing.
pub struct Findings {
    /// Ceph.
    pub ceph: Ceph,
    /// Ceph's keys that haven't arrived, in words.
    pub keys: Vec<String>,
    /// The shares of hypervisor pools.
    pub shares: Shares,
    /// What the claim asks for beyond the site's limits.
    pub exceeded: Option<String>,
    /// The hypervisor pools and cells of the ControlPlane.
    pub compute: Compute,
    /// Why the namespace in the control plane cluster can't be used, where that is known.
    pub namespace: Option<String>,
    /// The ControlPlane.
    pub control_plane: Observation<ControlPlaneStatus>,
    /// The clouds.yaml of the tenant's first user, where the site hands it out.
    pub tenant: Option<Tenant>,
    /// What the claim no longer wants and still exists.
    pub retention: Retention,
    /// Whether every name that the claim asks for is its own.
    pub accepted: bool,
    /// Whether everything composed is ready.
    pub all_ready: bool,
}

impl Recipe<'_> {
    /// Says how the claim is.
    pub fn status(&self, findings: &Findings, response: &mut Response) -> Result<(), Fatal> {
        let problems = self.site.problems();
        let settled = findings.all_ready && problems.is_empty() && findings.accepted;
        let control_plane = &findings.control_plane.status;
        let verdict = self.verdict(control_plane);
        let phase = self.phase(findings, settled, verdict);
        self.conditions(findings, &problems, response);
        let unexposed_consoles = self.unexposed_consoles(&findings.compute)?;
        self.exposed(control_plane, unexposed_consoles, response);
        pools_observed(control_plane, response);
        self.tests_passed(control_plane, response);
        self.bootstrap_allowed(response)?;
        self.images_ready(control_plane, response);
        self.size_accepted(control_plane, &findings.ceph.kept_quotas, response);
        self.cells_applied(&findings.compute, response);
        self.migration_between_pools(&findings.shares.moves, response);
        self.retained(&findings.retention, response);
        let connection = self.connection(findings.tenant.as_ref(), response);
        response.status(&OpenStackClusterStatus {
            phase: Some(phase),
            connection,
            endpoints: control_plane.endpoints.clone(),
            verified: self.verified(control_plane),
            consumed_pools: Some(self.consumed_pools(&findings.shares)),
            ceph_resources: self.ceph_resources(findings),
        })?;
        response.composite_ready(Readiness::from(settled && phase == Phase::Ready));
        set_ttl(response, settled);
        Ok(())
    }

    fn phase(&self, findings: &Findings, settled: bool, verdict: Verdict) -> Phase {
        let control_plane = &findings.control_plane.status;
        let updating = !matches!(
            control_plane.update_phase,
            None | Some(UpdatePhase::Idle | UpdatePhase::Complete)
        );
        if !findings.accepted && !findings.control_plane.exists {
            Phase::Failed
        } else if settled {
            match verdict {
                Verdict::Passed => Phase::Ready,
                Verdict::Pending => Phase::Verifying,
                Verdict::Failed => Phase::Degraded,
            }
        } else if !findings.control_plane.exists {
            if self.site.problems().is_empty() {
                Phase::Provisioning
            } else {
                Phase::Pending
            }
        } else if let Some(phase) = self.cluster.status.phase
            && self.was_ready()
            && !is_current(&findings.control_plane)
        {
            // Until the c5c3-operator has reconciled the last change, nothing is known against the former phase.
            phase
        } else if self.was_ready() && !updating && verdict != Verdict::Pending {
            Phase::Degraded
        } else {
            Phase::Provisioning
        }
    }

    fn conditions(
        &self,
        findings: &Findings,
        problems: &[(Reason, String)],
        response: &mut Response,
    ) {
        let unsupported = unsupported(&self.cluster.spec);
        let (holds, reason) = match &unsupported {
            Some(_) => (false, Reason::Unsupported),
            None => (true, Reason::Supported),
        };
        let message = unsupported.unwrap_or_default();
        transitions::set(response, "ServicesSupported", holds, reason, message);
        self.access_offered(response);
        let (reason, message) = match &findings.exceeded {
            Some(message) => (Reason::LimitExceeded, message.clone()),
            None => (Reason::Accepted, String::new()),
        };
        let allowed = findings.exceeded.is_none();
        transitions::set(response, "SharesAllowed", allowed, reason, message);
        match problems.first() {
            Some((reason, _)) => {
                let sentences: Vec<&str> = problems.iter().map(|(_, why)| why.as_str()).collect();
                transitions::set(response, "PoolsReady", false, *reason, sentences.join("; "));
            }
            None => {
                let less = self.guaranteed_less();
                let message = match less.is_empty() {
                    true => "every pool can be consumed".to_owned(),
                    false => format!(
                        "every pool can be consumed, but {}, and others by weight alone: ask the pool's owner for more",
                        less.join(", ")
                    ),
                };
                transitions::set(response, "PoolsReady", true, Reason::PoolsReady, message);
            }
        }
        if !findings.control_plane.exists {
            let is_admitted = problems.is_empty() && findings.accepted;
            return uncreated(findings.namespace.as_deref(), is_admitted, response);
        }
        let storage = [&findings.ceph.waiting[..], &findings.keys[..]].concat();
        self.part(response, "StorageReady", &storage);
        match self.unreached() {
            Some((reason, message)) if !findings.shares.waiting.is_empty() => {
                let (type_, reason) = ("HypervisorsReady", reason.name());
                transitions::result(response, type_, Some(false), reason, message);
            }
            _ => self.part(response, "HypervisorsReady", &findings.shares.waiting),
        }
        for Repeated { type_, .. } in REPEATED {
            let reported = findings.shares.repeated.get(type_);
            let reported = reported.map(Vec::as_slice).unwrap_or_default();
            repeat(response, type_, reported);
        }
        let control_plane = &findings.control_plane;
        let ready = condition(&control_plane.status.conditions, "Ready");
        let holds = control_plane.synced && is_ready(&control_plane.status);
        let (reason, message) = match (&control_plane.problem, ready) {
            (Some(problem), _) => (Reason::NotApplied, problem.clone()),
            (None, Some(ready)) if !ready.reason.is_empty() => {
                let is_stalled = is_true(&control_plane.status.conditions, "Stalled");
                return transitions::repeat(
                    response,
                    "ControlPlaneReady",
                    holds,
                    ready,
                    is_stalled,
                );
            }
            (None, _) if holds => (Reason::Ready, String::new()),
            (None, _) => (
                Reason::Waiting,
                "the c5c3-operator hasn't reported whether it is ready".to_owned(),
            ),
        };
        transitions::set(response, "ControlPlaneReady", holds, reason, message);
    }

    /// Says whether those outside the cluster can use the APIs, as far as the site decides it.
    fn access_offered(&self, response: &mut Response) {
        let site = [
            (
                self.presets.exposure.is_some(),
                "the APIs have names of Services only, which pods of the control plane cluster reach: the platform team sets \
                 exposure in the Composition's input",
            ),
            (
                self.presets.tenant_access.is_some(),
                "no credentials are handed out: the platform team sets tenantAccess in the Composition's input",
            ),
        ];
        let lacking = site.iter().filter(|(offered, _)| !offered);
        let lacking: Vec<&str> = lacking.map(|(_, lacking)| *lacking).collect();
        let (holds, reason) = match lacking.is_empty() {
            true => (true, Reason::Offered),
            false => (false, Reason::NotOffered),
        };
        let message = lacking.join("; ");
        transitions::set(response, "AccessOffered", holds, reason, message);
    }

    /// One part of the claim: ready once all of it is.
    fn part(&self, response: &mut Response, type_: &str, waiting: &[String]) {
        if waiting.is_empty() {
            transitions::set(response, type_, true, Reason::Ready, String::new());
            return;
        }
        let message = format!("waiting for {}", transitions::listed(waiting));
        let reason = if self.was_ready() {
            Reason::NotReady
        } else {
            Reason::Waiting
        };
        transitions::set(response, type_, false, reason, message);
    }

    /// Whether the claim has been ready before.
    fn was_ready(&self) -> bool {
        matches!(
            self.cluster.status.phase,
            Some(Phase::Ready | Phase::Degraded)
        )
    }

    fn consumed_pools(&self, shares: &Shares) -> ConsumedPools {
        let hypervisor = self.site.hypervisors.iter().map(|pool| {
            let name = pool.name.to_string();
            ConsumedHypervisorPool {
                status: Some(pool.status()),
                node_count: shares.hosts.get(&name).copied(),
                name,
            }
        });
        let storage = self.site.storages.iter().map(|pool| ConsumedStoragePool {
            name: pool.name.to_string(),
            status: Some(pool.status()),
            available_capacity: pool
                .composite
                .as_ref()
                .filter(|_| pool.is_eligible())
                .and_then(|composite| composite.status.capacity.as_ref())
                .and_then(|capacity| capacity.available.clone()),
        });
        ConsumedPools {
            hypervisor: hypervisor.collect(),
            storage: storage.collect(),
        }
    }
}

/// Sets the conditions of all parts while there is no ControlPlane. `namespace` is why its namespace can't be used.
fn uncreated(namespace: Option<&str>, is_admitted: bool, response: &mut Response) {
    let blocked = namespace.filter(|_| is_admitted);
    let blocked = blocked.map(|namespace| format!("waiting for {namespace}"));
    let message = match (blocked.as_deref(), is_admitted) {
        (Some(blocked), _) => blocked,
        (None, true) => "it is being created",
        (None, false) => {
            "nothing is created before the claim is accepted and its pools have admitted it"
        }
    };
    for part in ["StorageReady", "HypervisorsReady"] {
        transitions::await_turn(response, part, message);
    }
    let type_ = "ControlPlaneReady";
    match &blocked {
        Some(blocked) => {
            let reason = Reason::NotApplied;
            transitions::set(response, type_, false, reason, blocked.clone());
        }
        None => transitions::await_turn(response, type_, message),
    }
    for Repeated { type_, .. } in REPEATED {
        repeat(response, type_, &[]);
    }
}

/// Repeats a condition of shares, once one reports it: the worst, with the messages of all that aren't True. Of a share that doesn't report
/// it, nothing is known.
fn repeat(response: &mut Response, type_: &str, shares: &[PoolCondition]) {
    let silent = Condition {
        status: "Unknown".to_owned(),
        reason: Reason::Waiting.to_string(),
        message: "it hasn't reported this yet".to_owned(),
        ..Condition::default()
    };
    let said = shares
        .iter()
        .map(|(pool, said)| (pool, said.as_ref().unwrap_or(&silent)));
    let said: Vec<(&String, &Condition)> = said.collect();
    let worst = said.iter().min_by_key(|(_, said)| match holds(said) {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    });
    let is_reported = shares.iter().any(|(_, said)| said.is_some());
    let Some((_, worst)) = worst.filter(|_| is_reported) else {
        let message = "no HypervisorShare reports it";
        return transitions::lapse(response, type_, None, Reason::Waiting, message);
    };
    let open = said.iter().filter(|(_, said)| holds(said) != Some(true));
    let messages = open.map(|(pool, said)| format!("HypervisorShare in {pool}: {}", said.message));
    let message = messages.collect::<Vec<String>>().join("; ");
    let said = Condition {
        message,
        ..Condition::clone(worst)
    };
    let is_wrong = said.reason == Reason::RequirementMissing.name();
    transitions::note(response, type_, &said, is_wrong);
}

/// Whether a condition holds; none if that isn't known.
fn holds(said: &Condition) -> Option<bool> {
    match said.status.as_str() {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}
