//! Cortex of a control plane.

use std::collections::BTreeMap;

use c5c3_api::control_plane::CortexComponent;
use c5c3_api::cortex::{CortexSpec, Datasource, Pipeline};
use c5c3_api::parts::{CredentialsRef, Switch};
use provider_composer::{Custom, DesiredState};
use provider_openstack::table::CORTEX;
use provider_openstack::{CINDER, NOVA, keystone_credentials};

use crate::graph::Node;
use crate::infrastructure::named;
use crate::recipe::Recipe;

/// Port of Cortex's API.
const PORT: u16 = 8080;

impl Recipe<'_> {
    /// Wants Cortex.
    pub(super) fn cortex(&self, desired: &mut DesiredState) {
        let (step, said) = (Node::Cortex.step(), self.cortex_component());
        let global = &self.spec().global;
        let usual = CortexSpec::default();
        let mut database = said.database.clone();
        database.secret_ref = Some(self.cortex_database_secret());
        let pipelines = self.pipelines().into_iter();
        let spec = CortexSpec {
            replicas: said.replicas.unwrap_or(usual.replicas),
            image: self.image(CORTEX, &said.image),
            database,
            keystone: self.access(named(&keystone_credentials(step.name))),
            pipelines: pipelines.map(|name| (name, Pipeline::default())).collect(),
            datasources: self.datasources(),
            tls: self.tls(),
            topology: global.topology.clone(),
            monitoring: Switch {
                enabled: global.monitoring.enabled,
            },
            depends_on: self.depends_on(step),
            ..usual
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }

    /// What Cortex schedules for.
    pub(super) fn pipelines(&self) -> Vec<String> {
        let said = self.cortex_component().pipelines;
        let usual = [Node::Nova, Node::Cinder]
            .into_iter()
            .filter(|node| self.graph.contains(*node));
        match said.is_empty() {
            true => usual.map(|node| node.step().name.to_owned()).collect(),
            false => said,
        }
    }

    /// URL of Cortex's API within the cluster.
    pub(super) fn cortex_endpoint(&self) -> String {
        self.url(Node::Cortex.step().name, PORT)
    }

    /// Secret with Cortex's user and password in PostgreSQL.
    pub(crate) fn cortex_database_secret(&self) -> CredentialsRef {
        let said = self.cortex_component().database.secret_ref;
        said.unwrap_or_else(|| CredentialsRef {
            name: "cortex-db-credentials".to_owned(),
            key: "password".to_owned(),
        })
    }

    /// Cortex as the ControlPlane has it.
    pub(crate) fn cortex_component(&self) -> CortexComponent {
        self.spec().cortex.clone().unwrap_or_default()
    }

    /// Cortex learns from the services that run.
    fn datasources(&self) -> BTreeMap<String, Datasource> {
        let services = [(Node::Nova, NOVA), (Node::Cinder, CINDER)].into_iter();
        services
            .filter(|(node, _)| self.graph.contains(*node))
            .map(|(_, service)| {
                let endpoint = Some(self.url(service.name, service.port()));
                let datasource = Datasource {
                    enabled: true,
                    endpoint,
                };
                (service.name.to_owned(), datasource)
            })
            .collect()
    }
}
