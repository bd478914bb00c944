//! Neutron of a control plane, and the virtual network that it drives.

use c5c3_api::control_plane::OvnMembers;
use c5c3_api::neutron::{Dns, Ml2, NeutronSpec, Ovn, Plugin};
use c5c3_api::ovn_cluster::{OvnClusterSpec, OvnDatabase};
use c5c3_api::parts::{Image, Kept, NamespacedRef, Tls};
use provider_composer::{Custom, DesiredState};
use provider_openstack::NEUTRON;
use provider_openstack::table::{OVN, Tags};

use crate::graph::Node;
use crate::infrastructure::{OvnVolume, Sizes};
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants the OVNCluster. It stays as it is while its volumes or its issuer can't be read.
    pub(super) fn ovn(&self, sizes: &Sizes, desired: &mut DesiredState) {
        let (step, said) = (Node::Ovn.step(), &self.spec().infrastructure.ovn);
        let ([Ok(northbound), Ok(southbound)], Ok(issuer)) = (&sizes.ovn, &sizes.ovn_issuer) else {
            desired.kept.extend(step.keys(self.namespace()));
            return;
        };
        let database = |members: &OvnMembers, volume: &Kept<OvnVolume>| OvnDatabase {
            replicas: self.ovn_members(members),
            storage: volume.value.clone(),
            resources: members.resources.clone(),
        };
        let spec = OvnClusterSpec {
            ovn_image: self.image(OVN, &Image::default()),
            northbound: database(&said.northbound, northbound),
            southbound: database(&said.southbound, southbound),
            timers: said.timers.clone(),
            northd: said.northd.clone(),
            relay: said.relay.clone(),
            backup: said.backup.clone(),
            tls: Tls {
                issuer_ref: issuer.clone(),
                ..self.tls()
            },
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
            periodic_workers: said.periodic_workers.clone().unwrap_or_default(),
            ovn_maintenance_worker: said.ovn_maintenance_worker.clone().unwrap_or_default(),
            rpc_server: None,
            plugins: Plugin::all(),
            dns: Dns::default(),
            default_availability_zones: said.default_availability_zones.clone(),
            common: self.common(step, &NEUTRON, tags, &said.overrides),
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }
}
