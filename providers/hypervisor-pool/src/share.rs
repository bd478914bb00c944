//! What a share composes: a namespace, configuration, certificates and agents.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::HypervisorShareSpec;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Failure, Key, Lookup, ObservedState, Reason, Subject};
use provider_openstack::manifest::{Manifest, cert_manager};
use provider_openstack::{Awaited, all, progress};
use serde_json::{Value, json};

use crate::agents::{self, CERTIFICATE, LIBVIRT, PROVIDERS};
use crate::configuration::Configuration;
use crate::nodes::{LEASE, Nodes};
use crate::pod::Agent;
use crate::{libvirt, status};

/// The level of Pod Security that pods with files and processes of a node need
/// (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>).
const POD_SECURITY: &str = "pod-security.kubernetes.io/enforce";

/// What a share composes, once it has nodes.
pub struct Share<'a> {
    subject: &'a Subject<HypervisorShareSpec>,
    nodes: &'a Nodes<'a>,
    /// The namespace of its agents.
    pub namespace: String,
}

impl<'a> Share<'a> {
    /// A share with its nodes.
    pub fn of(subject: &'a Subject<HypervisorShareSpec>, nodes: &'a Nodes<'a>) -> Self {
        Self {
            subject,
            nodes,
            namespace: format!("agents-{}", subject.name()),
        }
    }

    /// Composes the namespace. Whether it exists; only then may anything be in it.
    ///
    /// # Errors
    /// It belongs to someone else, or can't be read.
    pub fn namespace(
        &self,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<bool, Failure> {
        let labels = BTreeMap::from([(POD_SECURITY.to_owned(), "privileged".to_owned())]);
        let namespace = Namespace {
            metadata: ObjectMeta {
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let key = desired.apply("", &self.namespace, &namespace);
        match observed.object(&key) {
            Lookup::Missing => Ok(false),
            Lookup::Found(found) if is_owned(&found, self.subject.metadata.uid.as_deref()) => {
                Ok(found.pointer("/metadata/deletionTimestamp").is_none())
            }
            Lookup::Found(_) => Err(Failure::new(
                Reason::NameTaken,
                format!(
                    "the Namespace {} exists and doesn't belong to this share: delete it, or give the share another name",
                    self.namespace
                ),
            )),
            Lookup::Unknown(why) => Err(Failure::transient(
                Reason::LookupFailed,
                format!("the Namespace {} can't be read: {why}", self.namespace),
            )),
        }
    }

    /// Composes everything in the namespace. What waits for its configuration stays as it is.
    pub fn compose(&self, observed: &ObservedState<'_>, desired: &mut DesiredState) {
        let requirements = status::requirements(&self.namespace, observed);
        desired.conditions.set("HostsReady", &requirements);
        let (spec, settings) = (&self.subject.spec, &self.subject.spec.agents);
        let source = spec.control_plane_namespace();
        let find = |name, cell| Configuration::find(name, cell, &source, observed);
        let ovn = find("ovn", None);
        let neutron = find("neutron", None);
        let nova = find("nova", Some(spec.cell()));
        for (name, configuration) in [("ovn", &ovn), ("neutron", &neutron), ("nova", &nova)] {
            match configuration {
                Ok(configuration) => configuration.copy(&self.namespace, desired),
                Err(_) => desired.keep(Key::of::<Secret>(&self.namespace, name)),
            }
        }
        self.certificate(desired);
        let files = libvirt::configuration(settings.issuer_ref.is_some());
        let providers = self.providers();
        let texts: Vec<&str> = files
            .data
            .iter()
            .flatten()
            .map(|(_, text)| text.as_str())
            .collect();
        let libvirt = agents::libvirt(settings, &texts);
        desired.apply(&self.namespace, LIBVIRT, &files);
        desired.apply(&self.namespace, PROVIDERS, &providers_map(&providers));
        let composed: [(&str, &str, Awaited<Agent>); 5] = [
            (
                "openvswitch",
                "OpenVSwitchReady",
                ovn.clone()
                    .and_then(|ovn| agents::open_vswitch(settings, &ovn)),
            ),
            (
                "ovn-controller",
                "OVNControllerReady",
                ovn.clone()
                    .and_then(|ovn| agents::ovn_controller(settings, &ovn, &self.mappings())),
            ),
            (
                "neutron-ovn-agent",
                "NeutronAgentReady",
                all((&ovn, &neutron))
                    .and_then(|(ovn, neutron)| agents::neutron_agent(ovn, neutron)),
            ),
            ("libvirt", "LibvirtReady", Ok(libvirt)),
            (
                "nova-compute",
                "ComputeReady",
                nova.clone()
                    .and_then(|nova| agents::nova_compute(settings, &nova, &providers)),
            ),
        ];
        for (name, condition, agent) in composed {
            let waits = progress(&agent);
            let has = match agent {
                Ok(agent) => {
                    let set = agent.daemon_set(name, self.selector());
                    desired.apply(&self.namespace, name, &set);
                    status::rollout(&self.namespace, name, observed)
                }
                Err(_) => {
                    desired.keep(Key::of::<DaemonSet>(&self.namespace, name));
                    waits
                }
            };
            desired.conditions.set(condition, &has);
        }
    }

    /// The label of the share's nodes.
    fn selector(&self) -> BTreeMap<String, String> {
        let lease = self.subject.spec.control_plane.clone();
        BTreeMap::from([(LEASE.to_owned(), lease)])
    }

    /// The bridges to physical networks, as OVN has them.
    fn mappings(&self) -> Vec<String> {
        let networks = self.nodes.physical_networks.iter();
        networks
            .map(|network| format!("{}:{}", network.name, network.bridge))
            .collect()
    }

    /// Composes one certificate for all nodes of the share, by which they know each other and the consoles' proxy knows them.
    fn certificate(&self, desired: &mut DesiredState) {
        let Some(issuer) = &self.subject.spec.agents.issuer_ref else {
            return;
        };
        let certificate = Manifest {
            metadata: ObjectMeta::default(),
            spec: cert_manager::Certificate {
                secret_name: CERTIFICATE.to_owned(),
                dns_names: self.nodes.hosts(),
                ip_addresses: self.nodes.addresses(),
                usages: vec!["server auth".to_owned(), "client auth".to_owned()],
                private_key: cert_manager::PrivateKey {
                    algorithm: "ECDSA".to_owned(),
                    size: 256,
                    rotation_policy: "Always".to_owned(),
                },
                issuer_ref: issuer.clone(),
                ..cert_manager::Certificate::default()
            },
        };
        desired.apply(&self.namespace, CERTIFICATE, &certificate);
    }

    /// Nova's provider configuration: the traits of every node, which Placement has before the first server
    /// (<https://docs.openstack.org/nova/latest/admin/managing-resource-providers.html>). JSON is YAML too.
    fn providers(&self) -> String {
        let traits = &self.subject.spec.traits;
        let providers: Vec<Value> = Some(json!({
            "identification": { "uuid": "$COMPUTE_NODE" },
            "traits": { "additional": traits },
        }))
        .into_iter()
        .filter(|_| !traits.is_empty())
        .collect();
        json!({ "meta": { "schema_version": "1.0" }, "providers": providers }).to_string()
    }
}

fn providers_map(text: &str) -> ConfigMap {
    ConfigMap {
        data: Some(BTreeMap::from([(
            "providers.yaml".to_owned(),
            text.to_owned(),
        )])),
        ..ConfigMap::default()
    }
}

/// Whether an object's controller is the share of this UID.
fn is_owned(object: &Value, uid: Option<&str>) -> bool {
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut owners = owners.into_iter().flatten();
    uid.is_some() && owners.any(|owner| owner["uid"].as_str() == uid)
}
