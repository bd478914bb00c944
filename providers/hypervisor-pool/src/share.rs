//! What a share composes in the namespace of its agents: configuration, certificates and agents.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{HypervisorShareSpec, LeasePhase};
use c5c3_api::ovn_cluster::ISSUER_EXCLUSIVE;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::{Certificate, Issuer};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, HostAlias};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{
    DesiredState, Key, Live, Lookup, ObservedState, Progress, Reason, Resource, SecretValues,
    Subject,
};
use provider_openstack::{
    CertificateAuthority, Prerequisite, all, config_map, issuance, issued, overdue, progress,
};
use serde_json::{Value, json};

use crate::agents::migration::{self, MIGRATION};
use crate::agents::uplinks::{self, UPLINKS};
use crate::agents::{self, CERTIFICATE, LIBVIRT, PROVIDERS};
use crate::compute_services::Computes;
use crate::configuration::Configuration;
use crate::drain::{self, DRAIN, Reports, WIPE};
use crate::enabling::had_worked;
use crate::identity::identity;
use crate::leases::Leases;
use crate::nodes::{self, LEASE, Node, PHASE};
use crate::pod::{Agent, Nodes};
use crate::traits::NOVA_COMPUTE;
use crate::working::Hosts;
use crate::{hold, libvirt, status};

/// Open vSwitch's agent.
const OPENVSWITCH: &str = "openvswitch";

/// The share's own authority, which signs nothing but the certificate of the share's nodes.
const AUTHORITY: CertificateAuthority<'_> = CertificateAuthority {
    name: "hypervisor-ca",
    root: "hypervisor-ca-root",
    common_name: "hypervisor-ca",
};

/// What a share composes, once it has nodes.
pub struct Share<'a> {
    subject: &'a Subject<HypervisorShareSpec>,
    leases: &'a Leases,
    reports: &'a Reports,
    /// The namespace of its agents.
    namespace: String,
}

impl<'a> Share<'a> {
    /// A share with its leases, and what is known of its nodes.
    pub fn of(
        subject: &'a Subject<HypervisorShareSpec>,
        leases: &'a Leases,
        reports: &'a Reports,
    ) -> Self {
        Self {
            subject,
            leases,
            reports,
            namespace: drain::namespace(subject.name()),
        }
    }

    /// Composes everything in the namespace. What waits for its configuration stays as it is. `unstored` has the lost nodes that the status
    /// has no room for. Returns what stands for the configuration of nova-compute, if it is known.
    pub fn compose(
        &self,
        computes: &Computes,
        unstored: &BTreeSet<String>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Option<String> {
        let lacks = status::lacks(self.reports.pods());
        let requirements = status::requirements(&lacks);
        desired.conditions.note("HostsReady", &requirements);
        let (spec, settings) = (&self.subject.spec, &self.subject.spec.agents);
        let pool = &self.leases.pool;
        let images = &pool.images;
        let find = |name, cell| Configuration::find(name, cell, spec, observed);
        let ovn = find("ovn", None);
        let neutron = find("neutron", None);
        let nova = find("nova", Some(spec.cell()));
        let cinder = find("cinder", None);
        for (name, configuration) in [
            ("ovn", &ovn),
            ("neutron", &neutron),
            ("nova", &nova),
            ("cinder", &cinder),
        ] {
            match configuration {
                Ok(configuration) => configuration.copy(&self.namespace, desired),
                Err(_) => Configuration::keep(name, &self.namespace, desired),
            }
        }
        // Not every control plane has volumes.
        if !matches!(cinder, Err(Progress::Waiting { .. })) {
            desired
                .conditions
                .set("VolumeKeysReady", &progress(&cinder));
        }
        if settings.is_encrypted() {
            let consoles = match &nova {
                Ok(nova) => nova.consoles(),
                Err(waits) => waits.clone(),
            };
            desired.conditions.note("ConsolesReady", &consoles);
        }
        let certificate = self.certificate(observed, desired);
        let files = libvirt::configuration(settings);
        let providers = self.providers();
        let texts: Vec<&str> = files
            .data
            .iter()
            .flatten()
            .map(|(_, text)| text.as_str())
            .collect();
        let lease = self.lease();
        let libvirt = agents::libvirt(settings, images, &lease, &texts);
        match certificate {
            Ok(()) => desired.apply(&self.namespace, LIBVIRT, &files),
            Err(_) => desired.keep(Key::of::<ConfigMap>(&self.namespace, LIBVIRT)),
        }
        let map = [("providers.yaml", providers.clone())];
        let map = config_map(ObjectMeta::default(), map);
        desired.apply(&self.namespace, PROVIDERS, &map);
        let composed: [(&str, &str, Prerequisite<Agent>); 5] = [
            (
                OPENVSWITCH,
                "OpenVSwitchReady",
                Ok(agents::open_vswitch(settings, images, &lease)),
            ),
            (
                "ovn-controller",
                "OVNControllerReady",
                ovn.clone().and_then(|ovn| {
                    let zone = spec.availability_zone.as_deref();
                    let has_networks = !pool.physical_networks.is_empty();
                    agents::ovn_controller(settings, images, &ovn, has_networks, zone)
                }),
            ),
            (
                "neutron-ovn-agent",
                "NeutronAgentReady",
                all((&ovn, &neutron))
                    .and_then(|(ovn, neutron)| agents::neutron_agent(images, ovn, neutron)),
            ),
            (LIBVIRT, "LibvirtReady", certificate.map(|()| libvirt)),
            (
                NOVA_COMPUTE,
                "ComputeReady",
                nova.clone()
                    .and_then(|nova| agents::nova_compute(settings, pool, &nova, &providers)),
            ),
        ];
        let agents = composed.each_ref().map(|(name, ..)| *name);
        let compute = composed.iter().find(|(name, ..)| *name == NOVA_COMPUTE);
        let compute = compute.and_then(|(.., agent)| agent.as_ref().ok());
        let configuration = compute.map(|agent| agent.configuration.clone());
        for (name, condition, agent) in composed {
            match agent {
                Ok(agent) => {
                    // The others connect to nothing in the control plane, and a change would restart them.
                    let aliases = match name {
                        OPENVSWITCH | LIBVIRT => Vec::new(),
                        _ => self.aliases(),
                    };
                    let set = agent.daemon_set(name, self.nodes(name, observed), aliases);
                    desired.apply(&self.namespace, name, &set);
                    let rollout = status::rollout(&self.namespace, name, observed);
                    desired.conditions.note(condition, &rollout);
                }
                Err(waits) => {
                    desired.keep(Key::of::<DaemonSet>(&self.namespace, name));
                    match name {
                        // Nodes that work go on without the certificate.
                        LIBVIRT => desired.conditions.note(condition, &waits),
                        _ => desired.conditions.set(condition, &waits),
                    }
                }
            }
        }
        self.uplinks(observed, desired);
        self.migration(&nova, observed, desired);
        let hosts = Hosts {
            agents: &agents,
            lacks,
            reports: self.reports,
            computes,
            had_worked: had_worked(self.subject),
        };
        hosts.report(self.subject, self.leases, desired);
        self.ending(observed, desired);
        hold::compose(&self.namespace, self.leases, unstored, observed, desired);
        configuration
    }

    /// Composes what connects nodes to physical networks. Not all nodes must be: others have no gateways.
    fn uplinks(&self, observed: &ObservedState<'_>, desired: &mut DesiredState) {
        let (spec, pool) = (&self.subject.spec, &self.leases.pool);
        if pool.physical_networks.is_empty() {
            return;
        }
        let zone = spec.availability_zone.as_deref();
        let agent = uplinks::uplinks(&spec.agents, pool, zone);
        let set = agent.daemon_set(UPLINKS, self.nodes(UPLINKS, observed), Vec::new());
        desired.apply(&self.namespace, UPLINKS, &set);
        let nodes = self.leases.in_phase(LeasePhase::Leased);
        let ready = uplinks::progress(&self.namespace, nodes, self.reports.pods());
        desired.conditions.note("UplinksReady", &ready);
    }

    /// Composes what servers need to move between hosts without running. The share is Ready without it, because all else works.
    fn migration(
        &self,
        nova: &Prerequisite<Configuration>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) {
        let cell = self.subject.spec.cell();
        migration::key(&self.namespace, cell, nova, observed, desired);
        let agent = nova
            .clone()
            .and_then(|nova| migration::nova_migration(&self.leases.pool, &nova, &self.lease()));
        let ready = match agent {
            Ok(agent) => {
                let set = agent.daemon_set(MIGRATION, self.nodes(MIGRATION, observed), Vec::new());
                desired.apply(&self.namespace, MIGRATION, &set);
                migration::progress(&self.namespace, observed, self.reports.pods())
            }
            Err(waits) => {
                desired.keep(Key::of::<DaemonSet>(&self.namespace, MIGRATION));
                waits
            }
        };
        desired.conditions.note("MigrationReady", &ready);
    }

    /// Whether the hosts have the SSH key of Nova's cell; none where they have no key.
    pub fn has_cell_key(&self, observed: &ObservedState<'_>) -> Option<bool> {
        match observed.get::<SecretValues>(&self.namespace, MIGRATION) {
            Lookup::Found(secret) => Some(migration::is_of_cell(&secret)),
            Lookup::Missing => None,
            Lookup::Unknown(_) => self.subject.status.cell_key,
        }
    }

    /// Composes what watches and wipes nodes whose lease ends.
    fn ending(&self, observed: &ObservedState<'_>, desired: &mut DesiredState) {
        let (settings, images) = (&self.subject.spec.agents, &self.leases.pool.images);
        let bridges = self.leases.pool.physical_networks.iter();
        let bridges: Vec<&str> = bridges
            .map(|pooled| pooled.network.bridge.as_str())
            .collect();
        let ending = [
            (DRAIN, LeasePhase::Draining, agents::drain(images)),
            (
                WIPE,
                LeasePhase::Wiping,
                agents::wipe(settings, images, &bridges),
            ),
        ];
        for (name, phase, agent) in ending {
            if self.leases.in_phase(phase).next().is_some() {
                let mut nodes = self.nodes(name, observed);
                nodes
                    .labels
                    .insert(PHASE.to_owned(), phase.name().to_owned());
                nodes.except = None;
                let set = agent.daemon_set(name, nodes, Vec::new());
                desired.apply(&self.namespace, name, &set);
            }
        }
    }

    /// What `/var/lib/nova/lease` says on nodes that have files of the share, or nothing of another one.
    fn lease(&self) -> String {
        let identity = identity(self.subject).unwrap_or_default();
        format!("{} {identity}", self.subject.name())
    }

    /// The nodes of the share that run an agent.
    fn nodes(&self, agent: &str, observed: &ObservedState<'_>) -> Nodes {
        let lease = self.subject.spec.control_plane.clone();
        let ended = [LeasePhase::Releasing, LeasePhase::Wiping];
        let runs = |node: &Live<Node>| !ended.contains(&nodes::phase(node));
        let all = || self.leases.nodes().iter();
        let dead = all().filter(|node| node.body.is_dead(observed.now()));
        let pods = self.reports.pods();
        // A pod of an agent that has ended may be unable to end.
        let down = dead.filter(|node| status::is_down(agent, node, runs(node), pods));
        Nodes {
            labels: BTreeMap::from([(LEASE.to_owned(), lease)]),
            except: Some((PHASE, ended.map(|phase| phase.name().to_owned()).into())),
            dead: down.count(),
            count: all().filter(|node| runs(node)).count(),
        }
    }

    /// Addresses of the control plane's Services, where it is in another cluster: agents and certificates have the same
    /// names in both.
    fn aliases(&self) -> Vec<HostAlias> {
        let endpoints = self.subject.spec.endpoints.iter();
        let aliases = endpoints.flat_map(|endpoint| {
            endpoint.addresses.iter().map(|address| HostAlias {
                ip: address.to_string(),
                hostnames: Some(endpoint.hostnames.clone()),
            })
        });
        aliases.collect()
    }

    /// Composes one certificate for all nodes of the share, by which they know each other. It has a subject, without which libvirt refuses the
    /// certificate of a client (`virNetTLSSessionCheckCertificate` in `src/rpc/virnettlscontext.c`), and servers don't migrate. It is renewed
    /// with each node that joins; until then, nodes that have the former one work.
    ///
    /// # Errors
    /// Connections are encrypted, and there is no certificate yet, without which no pod of libvirt starts.
    fn certificate(
        &self,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Prerequisite<()> {
        const CONDITION: &str = "CertificateReady";
        let settings = &self.subject.spec.agents;
        if !settings.is_encrypted() {
            return Ok(());
        }
        self.report_issuer(desired);
        let purpose = "the nodes' certificate";
        let existing = issued(&self.namespace, CERTIFICATE, purpose, observed).map(|_| ());
        // An object of a kind that isn't installed would hold up all else.
        let kinds = [Manifest::<Certificate>::KIND, Manifest::<Issuer>::KIND];
        let mut kinds = kinds.into_iter();
        let missing = kinds.find(|kind| !observed.is_installed(*kind, &self.namespace));
        if let Some(kind) = missing {
            let message = format!(
                "waits for cert-manager, whose kind {} isn't installed in the hypervisors' cluster: install it, or set neither \
                 agents.encrypted nor agents.issuerRef",
                kind.kind
            );
            let waits = Progress::waiting(Reason::WaitingFor("Certificate"), message);
            desired.conditions.note(CONDITION, &waits);
            return existing;
        }
        let metadata = ObjectMeta::default();
        let issuer = settings.issuer_ref.clone();
        let issuer =
            issuer.unwrap_or_else(|| AUTHORITY.compose(&self.namespace, &metadata, desired));
        let certificate = Certificate {
            common_name: Some(CERTIFICATE.to_owned()),
            secret_name: CERTIFICATE.to_owned(),
            dns_names: self.leases.names(),
            ip_addresses: self.leases.addresses(),
            usages: vec!["server auth".to_owned(), "client auth".to_owned()],
            issuer_ref: issuer,
            ..Certificate::default()
        };
        desired.apply(&self.namespace, CERTIFICATE, &Manifest::of(certificate));
        let issued = overdue(&self.namespace, CERTIFICATE, observed, desired)
            .unwrap_or_else(|| issuance(&self.namespace, CERTIFICATE, purpose, observed));
        desired.conditions.note(CONDITION, &issued);
        existing
    }

    /// Reports an issuer that signs for others, too. A share may have one from before the API server refused it.
    fn report_issuer(&self, desired: &mut DesiredState) {
        let issuer = self.subject.spec.agents.issuer_ref.as_ref();
        if let Some(shared) = issuer.filter(|issuer| issuer.is_shared()) {
            let message = format!(
                "every certificate of ClusterIssuer {}, also of others, gives access to libvirt on the nodes: when no server has to \
                 migrate live for some minutes, set agents.encrypted and remove agents.issuerRef, or name an Issuer in the namespace {}",
                shared.name, self.namespace
            );
            let progress = Progress::failed(Reason::IssuerShared, message);
            desired.conditions.note(ISSUER_EXCLUSIVE, &progress);
        }
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
