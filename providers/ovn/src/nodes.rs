//! The nodes of a virtual network: what they are told, and an OVNChassis for each.

use c5c3_api::hypervisor::AGENTS;
use c5c3_api::ovn_chassis::OvnChassisSpec;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, Secret};
use provider_composer::{
    Custom, DesiredState, Key, Lookup, ObservedState, Progress, Resource, label_pairs,
};
use provider_openstack::Prerequisite;

use crate::encryption::Encryption;
use crate::network::{Network, tag};

/// The component that the Secret is labelled with.
const COMPONENT: &str = "chassis";

impl Network<'_> {
    /// Composes an OVNChassis for each node that runs ovn-controller. While nodes can't be read, all stay as they are.
    pub(crate) fn chassis(&self, observed: &ObservedState<'_>, desired: &mut DesiredState) {
        let labels = &self.spec.controller.node_selector;
        let nodes = match observed.list::<Node>("", &label_pairs(labels)) {
            Lookup::Found(nodes) => nodes,
            Lookup::Missing => Vec::new(),
            Lookup::Unknown(_) => {
                let kind = Custom::<OvnChassisSpec>::KIND;
                let found = observed.keys(kind, self.namespace, &[]).found();
                desired.kept.extend(found.unwrap_or_default());
                return;
            }
        };
        for node in nodes {
            let name = &node.metadata.name;
            let chassis = Custom::wanted(OvnChassisSpec::of(name));
            desired.apply(self.namespace, name, &chassis);
        }
    }

    /// Composes the Secret with what nodes are told of OVN. Until a relay answers, nodes that have a database keep it. The release in it changes when northd runs the new image: an
    /// ovn-controller waits for a northd of its own version (`ovn-match-northd-version`, ovn-controller(8)).
    ///
    /// # Errors
    /// The Secret can't be read, or nodes have no certificate yet. Then it stays as it is.
    pub(crate) fn chassis_secret(
        &self,
        encryption: Option<&Encryption>,
        image: Option<String>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Prerequisite<Progress> {
        let name = self.named(COMPONENT);
        let secret = observed.get::<Secret>(self.namespace, &name).optional()?;
        let before = secret.and_then(|secret| secret.body.data);
        let before = before.unwrap_or_default();
        let node = encryption.map(|encryption| encryption.node.clone());
        let node = node.transpose()?;
        let before = |key: &str| before.get(key).cloned();
        let value = |text: String| ByteString(text.into_bytes());
        let is_new = image.as_ref() == Some(&self.image);
        let release = match before("release") {
            Some(before) if !is_new => before,
            _ => value(tag(&self.spec.ovn_image).to_owned()),
        };
        let relays = self.relays(observed);
        let remote = match before("remote") {
            Some(before) if !relays.is_ready() => before,
            _ => value(self.remote()),
        };
        let mut secret = self.secret(COMPONENT, node.as_ref());
        let labels = secret.metadata.labels.get_or_insert_default();
        labels.insert(AGENTS.to_owned(), "ovn".to_owned());
        secret.data.get_or_insert_default().extend([
            ("remote".to_owned(), remote),
            ("release".to_owned(), release),
        ]);
        desired.apply(self.namespace, &name, &secret);
        Ok(relays)
    }

    /// Leaves the Secret as it is.
    pub(crate) fn keep_secret(&self, desired: &mut DesiredState) {
        desired.keep(Key::of::<Secret>(self.namespace, &self.named(COMPONENT)));
    }
}
