//! Nova of a control plane.

use c5c3_api::nova::{
    Aggregate, Cell, ExternalScheduler, NovaDatabase, NovaSpec, Scheduler, ServiceAuth,
};
use c5c3_api::parts::{PoolAgents, Rbd};
use provider_composer::{Custom, DesiredState};
use provider_openstack::NOVA;
use provider_openstack::table::Tags;

use super::common::consoles_of;
use crate::graph::Node;
use crate::infrastructure::named;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants Nova.
    pub(super) fn nova(&self, tags: &Tags, desired: &mut DesiredState) {
        let (step, said) = (Node::Nova.step(), &self.services.nova);
        let database = self.database(&NOVA);
        let spec = NovaSpec {
            api: said.api.clone(),
            scheduler: Scheduler {
                component: said.scheduler.clone(),
                external_scheduler: self.external_scheduler(),
            },
            conductor: said.conductor.clone(),
            metadata: said.metadata.clone().unwrap_or_default(),
            no_vnc_proxy: said.no_vnc_proxy.clone().unwrap_or_default(),
            database: NovaDatabase {
                server: database.server,
                secret_ref: database.secret_ref,
                ..NovaDatabase::default()
            },
            messaging: self.messaging(&NOVA),
            cache: Some(self.cache()),
            keystone: self.keystone_access(step),
            service_auth: ServiceAuth {
                placement_service_user_ref: self.service_user(Node::Placement),
                neutron_service_user_ref: self.service_user(Node::Neutron),
                glance_service_user_ref: self.service_user(Node::Glance),
                cinder_service_user_ref: self.service_user(Node::Cinder),
            },
            cells: self.nova_cells(),
            aggregates: self.aggregates(),
            agents: self.agents(),
            deleted_rows: said.deleted_rows.clone().unwrap_or_default(),
            ephemeral: self.ephemeral(),
            common: self.common(step, &NOVA, tags, &said.overrides),
            ..NovaSpec::default()
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }

    fn nova_cells(&self) -> Vec<Cell> {
        let cells = self.cells().map(|(name, consoles)| Cell {
            consoles: self.exposed(&consoles_of(name), consoles),
            ..Cell::named(name)
        });
        cells.collect()
    }

    /// Cortex, where it runs and schedules for Nova.
    fn external_scheduler(&self) -> ExternalScheduler {
        let asked = self.graph.contains(Node::Cortex)
            && self.pipelines().iter().any(|pipeline| pipeline == "nova");
        ExternalScheduler {
            enabled: asked,
            endpoint: asked.then(|| self.cortex_endpoint()),
        }
    }

    /// Each pool is an aggregate of its hosts.
    fn aggregates(&self) -> Vec<Aggregate> {
        let pools = self.hypervisor_clusters().iter();
        pools
            .map(|pool| Aggregate {
                name: pool.clone(),
                compute_ref: Some(named(pool)),
                availability_zone: None,
                metadata: Default::default(),
                traits: Vec::new(),
            })
            .collect()
    }

    /// What the agents of each pool run with, as far as that is known.
    fn agents(&self) -> Vec<PoolAgents> {
        let compute = self.spec().compute.as_ref();
        compute.map_or_else(Vec::new, |compute| compute.agents.clone())
    }

    /// Ephemeral disks live in the first storage pool, where it has a place for them.
    fn ephemeral(&self) -> Option<Rbd> {
        let pool = self.pools()?.ephemeral.as_ref();
        let cluster = self.storage_clusters().first()?;
        Some(self.rbd("nova", "ephemeral", Some(pool?), cluster))
    }

    fn hypervisor_clusters(&self) -> &[String] {
        let compute = self.spec().compute.as_ref();
        compute.map_or(&[], |compute| &compute.hypervisor_clusters)
    }
}
