//! Namespace and ControlPlane, in the control plane cluster.

use std::collections::BTreeMap;

use c5c3_api::cinder::VolumeBackup;
use c5c3_api::control_plane::{
    CephClientRef, CephPoolNames, Compute, ControlPlaneCeph, ControlPlaneNetwork,
    ControlPlaneServices, ControlPlaneSpec, ControlPlaneStatus, ControlPlaneTls, CortexComponent,
    Global, HypervisorAccess, IssuerKind, IssuerRef, Monitoring, NamedRef,
    Storage as ControlPlaneStorage,
};
use c5c3_api::hypervisor::HypervisorShareStatus;
use c5c3_api::parts::{self, Component};
use c5c3_api::{Cidr, Condition, PhysicalNetwork, Reason};
use c5c3_kinds::kubernetes::Namespace;
use function_protocol::Fatal;
use serde::Deserialize;

use super::Recipe;
use super::keys::secret_name;
use super::resource::{self, CONTROL_PLANE, NAMESPACE};
use super::shares::Shares;
use super::verify::TESTS_PASSED;
use super::wanted::{Client, Storage, Storages, wants_backups};
use crate::composed::{Composed, Creation};
use crate::manifest::{Manifest, ObjectMeta};
use crate::observed::{Observation, condition, is_true};
use crate::pools::Rbd;

/// The label of the Pod Security that a namespace enforces.
pub const ENFORCED: &str = "pod-security.kubernetes.io/enforce";

/// How the provider's message ends where an object that it may only observe doesn't exist, as before the claim's pools admit it
/// (`errExternalResourceNotExist` in crossplane-runtime, pkg/reconciler/managed/reconciler.go).
const UNOBSERVED: &str = "external resource does not exist";

/// What is read of a Namespace's status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NamespaceStatus {
    phase: String,
}

/// Whether a namespace can be used.
pub fn is_active(namespace: &NamespaceStatus) -> bool {
    namespace.phase == "Active"
}

impl Recipe<'_> {
    /// Wants the control plane's namespace; `requests` to pools stand on its Object. Returns why the namespace can't be used, where that
    /// is known.
    pub fn namespace(
        &self,
        requests: ObjectMeta,
        composed: &mut Composed<'_>,
    ) -> Result<Option<String>, Fatal> {
        if !self.site.wants_namespace() {
            return Ok(None);
        }
        // A claim whose name is another's asks for nothing, and takes the name when it is free.
        let creation = if self.site.owner.root_is_foreign() {
            Creation::Allowed
        } else {
            composed.describe(NAMESPACE, requests);
            self.site.creation()
        };
        let namespace = self.namespace_manifest();
        let cluster = self.site.control_plane.name.name();
        let observation = composed.object(NAMESPACE, cluster, namespace, creation, is_active)?;
        Ok(self.unusable(cluster, &observation))
    }

    /// The namespace in a cluster and why it can't be used, for the platform team; none where it can, or nothing is known of it.
    pub fn unusable(
        &self,
        cluster: &str,
        namespace: &Observation<NamespaceStatus>,
    ) -> Option<String> {
        let phase = &namespace.status.phase;
        let why = match namespace.problem.as_deref() {
            Some(problem) if problem.is_empty() || problem.ends_with(UNOBSERVED) => return None,
            Some(problem) => {
                format!(
                    "{problem}; the platform team checks the cluster's kubeconfig and its rights"
                )
            }
            None if phase.is_empty() || is_active(&namespace.status) => return None,
            None => format!("it is {phase}, and is created again once it is gone"),
        };
        let name = self.names.namespace();
        Some(format!("Namespace {name} in {cluster} ({why})"))
    }

    /// The control plane's namespace, which is called the same in every cluster.
    pub fn namespace_manifest(&self) -> Manifest<Namespace> {
        let claim_namespace = self.cluster.metadata.claim_namespace().to_owned();
        let mariadb = &self.running.infrastructure.value.mariadb;
        // mariadb-operator's init container of Galera and its MaxScale can't be given what `restricted` asks for.
        let has_helpers = mariadb.is_galera() || mariadb.max_scale().is_some();
        let needs_baseline = mariadb.external.is_none() && has_helpers;
        let enforced = match needs_baseline || self.running.is_baseline {
            true => "baseline",
            false => "restricted",
        };
        let levels = [
            (ENFORCED, enforced),
            ("pod-security.kubernetes.io/audit", "restricted"),
            ("pod-security.kubernetes.io/warn", "restricted"),
        ];
        let pod_security = levels.map(|(label, level)| (label.to_owned(), level.to_owned()));
        let labels = [
            ("c5c3.io/claim-namespace".to_owned(), claim_namespace),
            ("c5c3.io/openstack-cluster".to_owned(), "true".to_owned()),
        ];
        let mut namespace = Manifest::without_spec(self.names.namespace());
        namespace.metadata.labels = labels.into_iter().chain(pod_security).collect();
        namespace
    }

    /// Wants the ControlPlane.
    pub fn control_plane(
        &self,
        storages: &Storages,
        shares: &Shares,
        compute: &Compute,
        composed: &mut Composed<'_>,
    ) -> Result<Observation<ControlPlaneStatus>, Fatal> {
        let claim = &self.cluster.spec;
        let preset = self.presets.size(claim.size)?;
        let cortex = claim.cortex.as_ref().filter(|cortex| cortex.enabled);
        let mut services = self.services(&preset.services, shares)?;
        services.cinder.backup = self.volume_backup(&preset.services, storages, composed);
        let spec = ControlPlaneSpec {
            open_stack_release: claim
                .open_stack_release
                .clone()
                .unwrap_or_else(|| self.presets.open_stack_release.clone()),
            compute: Some(compute.clone()),
            storage: Some(self.storage(storages, composed)),
            infrastructure: preset.infrastructure.clone(),
            backup: self.presets.backup.clone(),
            services: Some(services),
            cortex: cortex.map(|cortex| CortexComponent {
                enabled: true,
                replicas: preset.cortex.as_ref().map(|preset| preset.replicas),
                pipelines: cortex.pipelines.clone(),
                ..CortexComponent::default()
            }),
            tempest: self.tempest(preset, composed),
            access: self.access(),
            bootstrap: self.bootstrap()?,
            global: self.global(composed),
            ..ControlPlaneSpec::default()
        };
        let manifest = Manifest::new(&self.names.namespace(), self.names.control_plane(), spec);
        let cluster = self.site.control_plane.name.name();
        let creation = self.site.creation_in_namespace().when(composed.owns_all());
        let ready =
            |found: &Observation<ControlPlaneStatus>| is_current(found) && is_ready(&found.status);
        let mut found =
            composed.observed_object(CONTROL_PLANE, cluster, manifest, creation, ready)?;
        if !is_current(&found) {
            await_operator(&mut found.status.conditions);
        }
        Ok(found)
    }

    fn storage(&self, storages: &Storages, composed: &Composed<'_>) -> ControlPlaneStorage {
        let served: Vec<&Storage> = storages.served(composed).collect();
        let has = |purpose: Rbd| {
            served
                .iter()
                .any(|storage| storage.pools.contains(&purpose))
        };
        let name = |purpose: Rbd| has(purpose).then(|| purpose.pool(&self.names));
        let filesystem = served.iter().any(|storage| storage.filesystem);
        let object_store = served.iter().any(|storage| storage.object_store);
        let clients = served.iter().flat_map(|storage| {
            storage.clients.iter().map(|client| CephClientRef {
                service: client.service().to_owned(),
                storage_cluster: storage.cluster.clone(),
                user: self.names.with(client.service()),
                secret_ref: NamedRef {
                    name: secret_name(*client, &storage.cluster),
                },
            })
        });
        ControlPlaneStorage {
            ceph: Some(ControlPlaneCeph {
                pools: CephPoolNames {
                    volumes: name(Rbd::Volumes),
                    images: name(Rbd::Images),
                    ephemeral: name(Rbd::Ephemeral),
                },
                filesystem: filesystem.then(|| NamedRef {
                    name: self.names.filesystem(),
                }),
                object_store: object_store.then(|| NamedRef {
                    name: self.names.object_store(),
                }),
                clients: clients.collect(),
            }),
            storage_clusters: served
                .iter()
                .map(|storage| storage.cluster.clone())
                .collect(),
        }
    }

    /// The backups of volumes, where the claim has a pool for them.
    fn volume_backup(
        &self,
        preset: &ControlPlaneServices,
        storages: &Storages,
        composed: &Composed<'_>,
    ) -> Option<VolumeBackup> {
        let mut served = storages.served(composed);
        let storage = served.find(|storage| storage.has_backups(composed))?;
        let given = preset.cinder.backup.as_ref();
        Some(VolumeBackup {
            component: self.backup_component(preset)?,
            rbd: Some(parts::Rbd {
                pool: Rbd::Backups.pool(&self.names),
                user: None,
                ceph_secret_ref: NamedRef {
                    name: secret_name(Client::Backup, &storage.cluster),
                },
                ceph_client_ref: None,
            }),
            s3: None,
            // Otherwise each backup takes space of its volume's pool, whose quota is the claim's, also after it was deleted.
            snapshots: given.and_then(|given| given.snapshots).or(Some(1)),
        })
    }

    /// What copies volumes to backups and back, where the claim wants backups.
    pub fn backup_component(&self, preset: &ControlPlaneServices) -> Option<Component<1>> {
        let backup = preset.cinder.backup.clone().unwrap_or_default();
        wants_backups(&self.cluster.spec).then_some(backup.component)
    }

    /// The preset's services, switched as the claim says.
    ///
    /// # Errors
    /// The preset has one place for the backups of all claims, which each tenant could read and delete.
    fn services(
        &self,
        preset: &ControlPlaneServices,
        shares: &Shares,
    ) -> Result<ControlPlaneServices, Fatal> {
        let backup = preset.cinder.backup.as_ref();
        if backup.is_some_and(|backup| backup.rbd.is_some() || backup.s3.is_some()) {
            return Err(Fatal::new(
                "the Composition's input sets services.cinder.backup.rbd or .s3, one place for the volumes of all claims, where each \
                 could read and delete those of others: remove it; claims have pools of their own by storage.ceph.backupPool",
            ));
        }
        let wanted = &self.cluster.spec.services;
        let mut services = preset.clone();
        for (service, enabled, _) in services.each_mut() {
            *enabled = wanted.is_enabled(service);
        }
        services.octavia.get_or_insert_default().enabled = wanted.octavia;
        services.manila.get_or_insert_default().enabled = wanted.manila;
        self.disable_new_services(&shares.enabling, &mut services.nova.overrides);
        self.expose(&mut services)?;
        Ok(services)
    }

    fn global(&self, composed: &Composed<'_>) -> Global {
        let claim = &self.cluster.spec;
        let issuer = claim
            .tls
            .issuer_ref
            .as_ref()
            .or(self.presets.issuer.as_ref());
        let networks = self.hypervisor_networks(composed);
        Global {
            region: claim.region.clone(),
            tls: ControlPlaneTls {
                enabled: claim.tls.enabled,
                issuer_ref: issuer.filter(|_| claim.tls.enabled).map(|name| IssuerRef {
                    name: name.clone(),
                    kind: IssuerKind::ClusterIssuer,
                }),
                ..ControlPlaneTls::default()
            },
            network: ControlPlaneNetwork {
                external_network: claim.network.external_network.clone(),
                physical_networks: self.physical_networks(composed),
                mtu: claim.network.mtu,
                hypervisor_access: self.hypervisor_access(&networks),
                hypervisor_networks: networks,
                ..ControlPlaneNetwork::default()
            },
            monitoring: Monitoring {
                enabled: self.presets.monitoring || self.presets.process_metrics,
                processes: self.presets.process_metrics,
            },
            images: self.presets.images.clone(),
            ..Global::default()
        }
    }

    /// The addresses of the hypervisors' nodes. While those of a pool aren't known, all stay as they are: without its network
    /// the agents of a pool would lose their control plane. Pods of the control plane may connect to all of them, so that those of
    /// a pool are added when it has admitted the claim. Those of a pool that the claim dropped stay as long as it has a share, whose
    /// nodes are drained through the control plane.
    fn hypervisor_networks(&self, composed: &Composed<'_>) -> Option<Vec<Cidr>> {
        if !self.cluster.spec.services.nova {
            return None;
        }
        let last = self.existing.network();
        let last = last.and_then(|network| network.hypervisor_networks.clone());
        let pools = self.site.hypervisors.iter();
        let known: Option<Vec<_>> = pools.map(|pool| Some((pool, pool.nodes()?))).collect();
        let had = |nodes: &Cidr| last.iter().flatten().any(|one| one == nodes);
        let admitted = known.into_iter().flatten();
        let admitted = admitted.filter(|(pool, nodes)| pool.is_admitted() || had(nodes));
        let mut networks: Vec<Cidr> = admitted.map(|(_, nodes)| nodes).collect();
        if !self.dropped_hypervisors(composed).is_empty() {
            let mut others = last.clone().unwrap_or_default();
            others.retain(|nodes| !networks.contains(nodes));
            networks.extend(others);
        }
        Some(networks)
            .filter(|networks| !networks.is_empty())
            .or(last)
    }

    /// The physical networks of the claim's hypervisors, with the VLANs that are its own in all pools. While a share doesn't report
    /// them, all stay as they are: Neutron would refuse networks that exist.
    fn physical_networks(&self, composed: &Composed<'_>) -> Vec<PhysicalNetwork> {
        let mut networks: BTreeMap<String, PhysicalNetwork> = BTreeMap::new();
        for pool in &self.site.hypervisors {
            let share =
                composed.observation::<HypervisorShareStatus>(&resource::share(pool.name.name()));
            let expected = pool.composite.as_ref().map_or(1, |composite| {
                composite.spec.network.physical_networks.len()
            });
            let reported = share.status.physical_networks;
            if reported.len() < expected
                && let Some(last) = self.existing.network()
            {
                return last.physical_networks.clone();
            }
            for network in reported {
                match networks.get_mut(&network.name) {
                    Some(known) => {
                        known.vlan_range = known
                            .vlan_range
                            .zip(network.vlan_range)
                            .and_then(|(one, other)| one.intersection(other))
                    }
                    None => {
                        networks.insert(network.name.clone(), network);
                    }
                }
            }
        }
        networks.into_values().collect()
    }

    /// The load balancers for hypervisors, which need encrypted endpoints and limit who connects.
    fn hypervisor_access(&self, networks: &Option<Vec<Cidr>>) -> Option<HypervisorAccess> {
        let allowed = networks.is_some() && self.cluster.spec.tls.enabled;
        let access = self.presets.hypervisor_access.as_ref();
        access.filter(|_| allowed).cloned()
    }
}

/// Whether the c5c3-operator has reconciled the last change of the ControlPlane.
pub fn is_current(found: &Observation<ControlPlaneStatus>) -> bool {
    let ready = condition(&found.status.conditions, "Ready");
    found.is_reconciled(ready.and_then(|ready| ready.observed_generation))
}

/// Withdraws `Ready` and `TestsPassed`, which describe the ControlPlane before its last change.
fn await_operator(conditions: &mut Vec<Condition>) {
    conditions.retain(|condition| condition.type_ != TESTS_PASSED);
    for ready in conditions
        .iter_mut()
        .filter(|condition| condition.type_ == "Ready" && condition.status == "True")
    {
        *ready = Condition {
            status: "False".to_owned(),
            reason: Reason::Waiting.to_string(),
            message: "waits for the c5c3-operator to reconcile the last change".to_owned(),
            ..ready.clone()
        };
    }
}

/// Whether the c5c3-operator says that the control plane is ready.
pub fn is_ready(status: &ControlPlaneStatus) -> bool {
    is_true(&status.conditions, "Ready")
}
