//! Neutron of a control plane, and the virtual network that it drives.

use c5c3_api::neutron::{Dns, Ml2, NeutronSpec, Ovn, Plugin};
use c5c3_api::ovn_cluster::{OvnClusterSpec, OvnDatabase};
use c5c3_api::parts::{Component, Image, NamespacedRef};
use provider_composer::{Custom, DesiredState};
use provider_openstack::NEUTRON;
use provider_openstack::table::{self, Tags};

use crate::graph::Node;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// The number of members of each of OVN's databases: as many as are desired of MariaDB, since both need a majority. OVN gets and
    /// loses members also where a MariaDB that runs can't.
    pub(crate) fn ovn_members(&self) -> u32 {
        self.spec().infrastructure.mariadb.replicas.min(3)
    }

    /// Wants the OVNCluster.
    pub(super) fn ovn(&self, desired: &mut DesiredState) {
        let step = Node::Ovn.step();
        let database = OvnDatabase {
            replicas: self.ovn_members(),
            ..OvnDatabase::default()
        };
        let spec = OvnClusterSpec {
            ovn_image: self.image("ovn", table::OVN, &Image::default()),
            northbound: database.clone(),
            southbound: database,
            tls: self.tls(),
            topology: self.spec().global.topology.clone(),
            operator_namespaces: self.spec().global.network.operator_namespaces.clone(),
            ..OvnClusterSpec::default()
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }

    /// Wants Neutron.
    pub(super) fn neutron(&self, tags: &Tags, desired: &mut DesiredState) {
        let (step, said) = (Node::Neutron.step(), &self.services.neutron);
        let network = &self.spec().global.network;
        let spec = NeutronSpec {
            api: said.api.clone(),
            database: self.database(&NEUTRON),
            messaging: self.messaging(&NEUTRON),
            keystone: self.keystone_access(step),
            ovn: Ovn {
                cluster_ref: Some(NamespacedRef {
                    name: Node::Ovn.step().name.to_owned(),
                    namespace: None,
                }),
                ..Ovn::default()
            },
            ml2: Ml2 {
                mtu: network.mtu,
                physical_networks: network.physical_networks.clone(),
                ..Ml2::default()
            },
            periodic_workers: Component::default(),
            ovn_maintenance_worker: Component::default(),
            rpc_server: None,
            plugins: Plugin::all(),
            dns: Dns::default(),
            default_availability_zones: Vec::new(),
            common: self.common(step, tags.release, tags.neutron, &said.overrides),
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }
}
