//! The nodes of a virtual network: what they are told, and an OVNChassis for each.

use std::net::IpAddr;

use c5c3_api::hypervisor::AGENTS;
use c5c3_api::ovn_chassis::{Encapsulation, OvnChassisSpec};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, Secret};
use provider_composer::{
    Custom, DesiredState, Key, Live, Lookup, ObservedState, Progress, Resource,
};
use provider_openstack::Awaited;

use crate::encryption::Encryption;
use crate::network::{Network, tag};

/// Annotation of a node: OVN's name of it, where that isn't the node's own.
const SYSTEM_ID: &str = "ovn.c5c3.io/system-id";
/// Annotation of a node: the address that tunnels end at, where that isn't the node's internal one.
const ENCAPSULATION_IP: &str = "ovn.c5c3.io/encapsulation-ip";
/// The component that the Secret is labelled with.
const COMPONENT: &str = "chassis";

impl Network<'_> {
    /// The nodes that run ovn-controller, or how far it has come to know them.
    pub(crate) fn nodes(&self, observed: &ObservedState<'_>) -> Awaited<Vec<Live<Node>>> {
        let labels = &self.spec.controller.node_selector;
        let labels: Vec<(&str, &str)> = labels
            .iter()
            .map(|(label, value)| (label.as_str(), value.as_str()))
            .collect();
        match observed.list::<Node>("", &labels) {
            Lookup::Found(nodes) => Ok(nodes),
            Lookup::Missing => Ok(Vec::new()),
            Lookup::Unknown(message) => Err(Progress::Unknown { message }),
        }
    }

    /// Composes an OVNChassis for each node. While nodes can't be read, all stay as they are.
    pub(crate) fn chassis(
        &self,
        nodes: &Awaited<Vec<Live<Node>>>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) {
        match nodes {
            Ok(nodes) => {
                for node in nodes {
                    let chassis = Custom::wanted(self.chassis_of(node));
                    desired.apply(self.namespace, &node.metadata.name, &chassis);
                }
            }
            Err(_) => {
                let kind = Custom::<OvnChassisSpec>::KIND;
                let found = observed.keys(kind, self.namespace, &[]).found();
                for key in found.unwrap_or_default() {
                    desired.keep(key);
                }
            }
        }
    }

    fn chassis_of(&self, node: &Live<Node>) -> OvnChassisSpec {
        let (name, annotations) = (&node.metadata.name, &node.metadata.annotations);
        let given = annotations.get(ENCAPSULATION_IP);
        OvnChassisSpec {
            hostname: name.clone(),
            system_id: annotations.get(SYSTEM_ID).cloned(),
            bridge_mappings: self.spec.chassis.bridge_mappings.clone(),
            encapsulation: Encapsulation {
                ip: given
                    .filter(|address| address.parse::<IpAddr>().is_ok())
                    .cloned()
                    .or_else(|| internal_address(node)),
                ..Encapsulation::default()
            },
            gateway: self.is_gateway(node),
        }
    }

    fn is_gateway(&self, node: &Live<Node>) -> bool {
        let wanted = &self.spec.chassis.gateway_node_selector;
        let labels = &node.metadata.labels;
        !wanted.is_empty()
            && wanted
                .iter()
                .all(|(label, value)| labels.get(label) == Some(value))
    }

    /// Composes the Secret with what nodes are told of OVN. The release in it changes when northd runs the new image: an
    /// ovn-controller waits for a northd of its own version (`ovn-match-northd-version`, ovn-controller(8)).
    ///
    /// # Errors
    /// The Secret can't be read, or nodes have no certificate yet. Then it stays as it is.
    pub(crate) fn chassis_secret(
        &self,
        encryption: Option<&Encryption>,
        image: Option<String>,
        nodes: &Awaited<Vec<Live<Node>>>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Awaited<()> {
        let name = self.named(COMPONENT);
        let before = match observed.get::<Secret>(self.namespace, &name) {
            Lookup::Found(secret) => secret.body.data.unwrap_or_default(),
            Lookup::Missing => Default::default(),
            Lookup::Unknown(message) => return Err(Progress::Unknown { message }),
        };
        let node = encryption.map(|encryption| encryption.node.clone());
        let node = node.transpose()?;
        let before = |key: &str| before.get(key).cloned();
        let value = |text: String| ByteString(text.into_bytes());
        let is_new = image.as_ref() == Some(&self.image);
        let release = match before("release") {
            Some(before) if !is_new => before,
            _ => value(tag(&self.spec.ovn_image).to_owned()),
        };
        let mappings = self.spec.chassis.bridge_mappings.iter();
        let mappings = mappings.map(|one| format!("{}:{}", one.physical_network, one.bridge));
        let gateways = nodes.as_ref().map(|nodes| {
            let gateways = nodes.iter().filter(|node| self.is_gateway(node));
            let gateways = gateways.map(|node| node.metadata.name.clone());
            value(gateways.collect::<Vec<_>>().join(","))
        });
        let gateways = gateways.or_else(|_| before("gatewayNodes").ok_or(()));
        let mut secret = match &node {
            Some(node) => self.secret(COMPONENT, node),
            None => Secret {
                metadata: self.metadata(COMPONENT),
                type_: Some("Opaque".to_owned()),
                ..Secret::default()
            },
        };
        let labels = secret.metadata.labels.get_or_insert_default();
        labels.insert(AGENTS.to_owned(), "ovn".to_owned());
        secret.data.get_or_insert_default().extend([
            ("remote".to_owned(), value(self.remote())),
            ("release".to_owned(), release),
            (
                "bridgeMappings".to_owned(),
                value(mappings.collect::<Vec<_>>().join(",")),
            ),
            ("gatewayNodes".to_owned(), gateways.unwrap_or_default()),
        ]);
        desired.apply(self.namespace, &name, &secret);
        Ok(())
    }

    /// Leaves the Secret as it is.
    pub(crate) fn keep_secret(&self, desired: &mut DesiredState) {
        desired.keep(Key::of::<Secret>(self.namespace, &self.named(COMPONENT)));
    }
}

fn internal_address(node: &Live<Node>) -> Option<String> {
    let addresses = node.body.status.as_ref()?.addresses.as_ref()?;
    let internal = addresses
        .iter()
        .find(|address| address.type_ == "InternalIP")?;
    Some(internal.address.clone())
}
