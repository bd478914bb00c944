//! Tempest of a control plane.

use c5c3_api::parts::Resources;
use c5c3_api::tempest::{TempestSpec, TestedService, Tests};
use provider_composer::{Custom, DesiredState};
use provider_openstack::keystone_credentials;
use provider_openstack::table::Tags;

use crate::graph::Node;
use crate::infrastructure::named;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants Tempest.
    pub(super) fn tempest(&self, tags: &Tags, desired: &mut DesiredState) {
        let step = Node::Tempest.step();
        let said = self.spec().tempest.clone().unwrap_or_default();
        let spec = TempestSpec {
            schedule: said.schedule,
            release: Some(tags.release.to_string()),
            image: self.image(step.name, tags.tempest, &said.image),
            keystone: self.access(named(&keystone_credentials(step.name))),
            tests: said.tests.unwrap_or_else(|| self.tests()),
            resources: Resources::default(),
            topology: self.spec().global.topology.clone(),
            depends_on: self.depends_on(step),
            ..TempestSpec::default()
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }

    /// All services that run are tested.
    fn tests(&self) -> Tests {
        let services = [
            (Node::Keystone, TestedService::Identity),
            (Node::Glance, TestedService::Image),
            (Node::Placement, TestedService::Placement),
            (Node::Nova, TestedService::Compute),
            (Node::Neutron, TestedService::Network),
            (Node::Cinder, TestedService::Volume),
        ];
        let running = services
            .into_iter()
            .filter(|(node, _)| self.graph.contains(*node));
        Tests {
            services: running.map(|(_, service)| service).collect(),
            ..Tests::default()
        }
    }
}
