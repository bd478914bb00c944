//! Tempest of a control plane, and what it found.

use c5c3_api::control_plane::Verified;
use c5c3_api::parts::Resources;
use c5c3_api::tempest::{TempestSpec, TempestStatus, Tests, tested_services};
use provider_composer::{Conditions, Custom, DesiredState, Lookup, Progress, Reason};
use provider_openstack::table::Tags;
use provider_openstack::{NEUTRON, TEMPEST, keystone_credentials};
use serde::Deserialize;

use crate::graph::Node;
use crate::infrastructure::named;
use crate::node_state::{NodeState, NodeStates};
use crate::recipe::Recipe;

/// The condition of a Tempest, and of its control plane.
const TESTS_PASSED: &str = "TestsPassed";

impl Recipe<'_> {
    /// Wants Tempest.
    pub(super) fn tempest(&self, tags: &Tags, desired: &mut DesiredState) {
        let step = Node::Tempest.step();
        let said = self.spec().tempest.clone().unwrap_or_default();
        let spec = TempestSpec {
            schedule: said.schedule,
            suspend: said.suspend,
            release: Some(tags.release.to_string()),
            image: self.image(tags.of_service(&TEMPEST), &said.image),
            keystone: self.access(named(&keystone_credentials(step.name))),
            tests: said.tests.unwrap_or_else(|| self.tests()),
            external_network: self.tested_network.clone(),
            resources: Resources::default(),
            logs: said.logs,
            topology: self.spec().global.topology.clone(),
            depends_on: self.depends_on(step),
            ..TempestSpec::default()
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }

    /// Orders tests of networks after the external network, whose progress is given: a new Tempest waits for it, and one whose tests
    /// were skipped runs them again with it. Any other keeps what it has, so that a network that can't be read for a while repeats no
    /// tests.
    pub(crate) fn wait_for_external_network(
        &mut self,
        network: Option<&Progress>,
        states: &mut NodeStates,
    ) {
        let step = Node::Tempest.step();
        let name = self.spec().global.network.external_network.as_deref();
        let (Some(progress), Some(name)) = (network, name) else {
            return;
        };
        let Some(state) = states.get_mut(&step.node).filter(|_| self.tests_networks()) else {
            return;
        };
        let used = state.text("/spec/externalNetwork");
        let is_new = !state.may_exist();
        let key = step.keys(self.namespace()).next();
        let was_skipped = key.is_some_and(|key| {
            matches!(
                self.observed.condition(&key, TESTS_PASSED),
                Lookup::Found(Some(passed))
                    if passed.status == "False" && passed.reason == Reason::TestsSkipped.to_string()
            )
        });
        self.tested_network = match progress.is_ready() && (is_new || used.is_some() || was_skipped)
        {
            true => Some(name.to_owned()),
            false => used.map(str::to_owned),
        };
        if is_new && !state.is_taken && !progress.is_ready() {
            let why = progress.message();
            let message = format!("{} waits for the external network: {why}", step.title());
            state.progress = Progress::waiting(Reason::WaitingFor("Network"), message);
            state.is_blocked = true;
        }
    }

    /// Whether networks are among what is tested. Without a choice everything is.
    fn tests_networks(&self) -> bool {
        let said = self.spec().tempest.as_ref();
        let tests = said.and_then(|said| said.tests.clone());
        let services = tests.unwrap_or_else(|| self.tests()).services;
        services.is_empty() || services.iter().any(|service| service == NEUTRON.type_)
    }

    /// All services that run are tested.
    fn tests(&self) -> Tests {
        let runs = |name: &str| self.graph.steps().any(|step| step.name == name);
        let tested = tested_services().filter(|(name, _)| runs(name));
        Tests {
            services: tested.map(|(_, tested)| tested.to_owned()).collect(),
            ..Tests::default()
        }
    }

    /// Repeats what Tempest found: the condition that its tests passed, which Ready doesn't wait for, and the results of its last
    /// run. Those that were repeated before stay while they can't be read.
    pub(crate) fn verified(
        &self,
        states: &NodeStates,
        conditions: &mut Conditions,
    ) -> Option<Verified> {
        let state = states.get(&Node::Tempest)?;
        conditions.note_result(TESTS_PASSED, &self.tests_passed(state));
        let before = || self.subject.status.verified.clone();
        let object = match &state.object {
            Lookup::Found(object) => object,
            Lookup::Missing => return None,
            Lookup::Unknown(_) => return before(),
        };
        let Ok(status) = TempestStatus::deserialize(object.get("status")?) else {
            return before();
        };
        let results = status.results?;
        Some(Verified {
            time: status.last_run?,
            passed: results.passed_tests,
            failed: results.failed_tests,
            skipped: results.skipped_tests,
        })
    }

    /// Whether the tests passed of what the Tempest's present spec says.
    fn tests_passed(&self, state: &NodeState) -> Progress {
        let step = Node::Tempest.step();
        let waiting = |message: String| Progress::waiting(Reason::WaitingFor(step.word), message);
        let key = step.keys(self.namespace()).next();
        let condition = match (&state.object, key) {
            (Lookup::Found(_), Some(key)) => self.observed.condition(&key, TESTS_PASSED),
            _ => return waiting(state.message().to_owned()),
        };
        match condition {
            Lookup::Found(Some(condition)) => match condition.status.as_str() {
                "True" => Progress::Ready,
                "False" => {
                    Progress::failing(Reason::reported(&condition.reason), condition.message)
                }
                _ => waiting(condition.message),
            },
            Lookup::Found(None) | Lookup::Missing => waiting(format!(
                "{} hasn't reported whether its tests passed",
                step.title()
            )),
            Lookup::Unknown(message) => Progress::Unknown { message },
        }
    }
}
