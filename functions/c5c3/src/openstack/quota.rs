//! ResourceQuota and LimitRange of a control plane's namespace: as much as its size needs during an update, and no more.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Mul};

use c5c3_api::control_plane::{
    Backup, ControlPlaneServices, Infrastructure, NovaService, OvnInfrastructure,
};
use c5c3_api::parts::{Component, Quantity, Resources};
use c5c3_kinds::kubernetes::{Limit, LimitRange, ResourceQuota};
use function_protocol::{Fatal, Request};
use serde::Deserialize;

use super::Recipe;
use crate::composed::Composed;
use crate::input::SizePreset;
use crate::manifest::Manifest;
use crate::observed::{IgnoredStatus, last_composed, last_observed};

/// Names of the composed resources.
const QUOTA: &str = "quota";
const LIMITS: &str = "limits";

/// Name of the ResourceQuota and of the LimitRange.
const NAME: &str = "control-plane";

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1024.0 * MIB;

/// What pods request, and their volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Amounts {
    cores: f64,
    memory: f64,
    pods: f64,
    volumes: f64,
    storage: f64,
}

/// A pod of a service whose size states no resources.
const POD: Amounts = pod(0.1, 256.0 * MIB);

/// What the containers beside the service's own request.
const SIDECARS: Amounts = Amounts {
    pods: 0.0,
    ..pod(0.3, 192.0 * MIB)
};

/// A member of MariaDB or RabbitMQ whose size states no resources.
const MEMBER: Amounts = pod(0.5, 2.0 * GIB);

/// Members of each of OVN's databases that are in [`BASE`].
const OVN_MEMBERS: f64 = 3.0;

/// What no size has to state: three members of each of OVN's databases with volumes of 10Gi, two northds, two replicas of other components,
/// exporters, volumes for backups, and the Jobs of an update.
const BASE: Amounts = Amounts {
    volumes: 14.0,
    storage: 96.0 * GIB,
    pods: 45.0,
    ..pod(6.0, 16.0 * GIB)
};

/// Pods of Jobs of a cell: its tables, its mapping and its migrations, each also while one of an earlier release is there.
const JOBS_OF_CELL: u32 = 6;

/// How much more than it needs a control plane may have: a pod that is being deleted still counts.
const MARGIN: f64 = 1.25;

const fn pod(cores: f64, memory: f64) -> Amounts {
    Amounts {
        cores,
        memory,
        pods: 1.0,
        volumes: 0.0,
        storage: 0.0,
    }
}

impl Recipe<'_> {
    /// Composes both, where the namespace is composed. `cells` is the number of Nova's cells beside the first.
    pub fn quota(
        &self,
        request: &Request,
        cells: usize,
        composed: &mut Composed<'_>,
    ) -> Result<(), Fatal> {
        let namespace = self.names.namespace();
        let cluster = self.site.control_plane.name.name();
        let creation = self.site.creation_in_namespace().when(composed.owns_all());
        let preset = self.presets.size(self.cluster.spec.size)?;
        let quota = ResourceQuota {
            hard: hard(
                preset,
                cells,
                &self.running.infrastructure.value,
                self.presets.backup.as_ref(),
                self.backup_component(&preset.services).as_ref(),
                &Before::of(request)?,
            ),
        };
        let quota = Manifest::new(&namespace, NAME, quota);
        composed.object(QUOTA, cluster, quota, creation, |_: &IgnoredStatus| true)?;
        let limits = Manifest::new(&namespace, NAME, limits());
        composed.object(LIMITS, cluster, limits, creation, |_: &IgnoredStatus| true)?;
        Ok(())
    }
}

/// Requests of a container that states none: a ResourceQuota refuses it otherwise. A default limit would refuse containers that
/// request more.
fn limits() -> LimitRange {
    let requests = [("cpu", "100m"), ("memory", "128Mi")];
    let requests = requests.map(|(resource, amount)| (resource.to_owned(), amount.to_owned()));
    LimitRange {
        limits: [Limit {
            type_: "Container",
            default_request: requests.into(),
        }],
    }
}

/// The ResourceQuota as it was before.
#[derive(Default)]
struct Before {
    /// What was allowed.
    hard: BTreeMap<String, String>,
    /// What is used; empty while it isn't known.
    used: BTreeMap<String, String>,
}

/// A ResourceQuota as it was last composed.
#[derive(Deserialize)]
struct Composing {
    spec: Option<Hard>,
}

#[derive(Deserialize)]
struct Hard {
    hard: Option<BTreeMap<String, String>>,
}

/// A ResourceQuota as it was last observed.
#[derive(Deserialize)]
struct Observing {
    status: Option<Used>,
}

#[derive(Deserialize)]
struct Used {
    used: Option<BTreeMap<String, String>>,
}

impl Before {
    /// The quota as it was last composed, with what is used of it.
    ///
    /// # Errors
    /// What was observed isn't a ResourceQuota.
    fn of(request: &Request) -> Result<Self, Fatal> {
        let composed: Option<Composing> = last_composed(request, QUOTA)?;
        let observed: Option<Observing> = last_observed(request, QUOTA)?;
        let hard = composed.and_then(|composed| composed.spec?.hard);
        let used = observed.and_then(|observed| observed.status?.used);
        Ok(Self {
            hard: hard.unwrap_or_default(),
            used: used.unwrap_or_default(),
        })
    }

    /// As much of a resource as is needed. While more is used, as much as is used with a margin, but not more than before: a quota
    /// that is below what is used refuses every pod, also one that replaces another.
    fn lowered(&self, resource: &str, needed: f64) -> f64 {
        let amount = |amounts: &BTreeMap<String, String>| {
            let amount: Quantity = amounts.get(resource)?.parse().ok()?;
            Some(amount.amount())
        };
        let Some(before) = amount(&self.hard) else {
            return needed;
        };
        let used = amount(&self.used).map_or(before, |used| used * MARGIN);
        needed.max(before.min(used))
    }
}

/// What a namespace with a control plane of this size may have.
fn hard(
    preset: &SizePreset,
    cells: usize,
    pieces: &Infrastructure,
    backup: Option<&Backup>,
    volume_backup: Option<&Component<1>>,
    before: &Before,
) -> BTreeMap<String, String> {
    let mut needed = BASE;
    let backups = backup.and_then(|backup| backup.volume(&pieces.mariadb));
    needed.storage += backups.map_or(0.0, |size| size.bytes() as f64);
    needed += infrastructure(pieces);
    needed += optional(&preset.services);
    let mut components = preset.services.components();
    components.extend(volume_backup.map(|backup| (backup.replicas, &backup.resources)));
    for (replicas, resources) in components {
        needed += component(replicas, resources);
    }
    for _ in 0..cells {
        needed += cell(&preset.services.nova);
    }
    let allowed = needed * MARGIN;
    let whole = |amount: f64| format!("{}", amount.ceil());
    let gibibytes = |amount: f64| format!("{}Gi", (amount / GIB).ceil());
    let lowered = |resource: &str, amount: f64, written: &dyn Fn(f64) -> String| {
        let amount = before.lowered(resource, amount);
        (resource.to_owned(), written(amount))
    };
    let derived = [
        lowered("persistentvolumeclaims", allowed.volumes, &whole),
        lowered("pods", allowed.pods, &whole),
        lowered("requests.cpu", allowed.cores, &whole),
        lowered("requests.memory", allowed.memory, &gibibytes),
        lowered("requests.storage", allowed.storage, &gibibytes),
    ];
    let given = preset.quota.iter();
    let given = given.map(|(resource, amount)| (resource.clone(), amount.to_string()));
    derived.into_iter().chain(given).collect()
}

/// Databases, message bus and cache, whether the claim's services use them or not.
fn infrastructure(infrastructure: &Infrastructure) -> Amounts {
    let Infrastructure {
        mariadb,
        rabbitmq,
        valkey,
        memcached,
        ovn,
    } = infrastructure;
    let volume = |size: &c5c3_api::parts::Size| Amounts {
        // Galera keeps its state on a volume of its own.
        volumes: 2.0,
        storage: size.bytes() as f64 + GIB,
        ..SIDECARS
    };
    let cache = pod(0.5, memcached.memory.bytes() as f64 * 1.25 + 64.0 * MIB);
    let mut needed = cache * memcached.replicas;
    needed += stated(&mariadb.resources, MEMBER) * mariadb.replicas;
    needed += volume(&mariadb.storage_size) * mariadb.replicas;
    needed += stated(&rabbitmq.resources, MEMBER) * rabbitmq.replicas;
    needed += volume(&rabbitmq.storage_size) * rabbitmq.replicas;
    needed += stated(&valkey.resources, MEMBER) * valkey.replicas;
    needed += virtual_network(ovn);
    needed
}

/// What OVN requests beyond [`BASE`].
fn virtual_network(ovn: &OvnInfrastructure) -> Amounts {
    let OvnInfrastructure {
        northbound,
        southbound,
        timers: _,
        northd,
        relay,
        backup,
    } = ovn;
    let mut needed = beyond(2.0, northd.replicas, &northd.resources);
    needed += beyond(0.0, relay.replicas, &relay.resources);
    for members in [northbound, southbound] {
        let replicas = members.replicas.map_or(OVN_MEMBERS, f64::from);
        needed += beyond(OVN_MEMBERS, replicas, &members.resources);
        let storage = members.storage.size.bytes() as f64 * replicas;
        needed.volumes += (replicas - OVN_MEMBERS).max(0.0);
        needed.storage += (storage - OVN_MEMBERS * 10.0 * GIB).max(0.0);
    }
    if let Some(backup) = backup {
        needed.volumes += 1.0;
        needed.storage += backup.storage.size.bytes() as f64;
    }
    needed
}

/// What pods request beyond so many pods that state no resources.
fn beyond(usual: f64, replicas: impl Into<f64>, resources: &Resources) -> Amounts {
    let replicas = replicas.into();
    let pod = stated(resources, POD);
    let more = |each: f64, of_usual: f64| (each * replicas - of_usual * usual).max(0.0);
    Amounts {
        cores: more(pod.cores, POD.cores),
        memory: more(pod.memory, POD.memory),
        pods: more(pod.pods, POD.pods),
        ..Amounts::default()
    }
}

/// What components that no size has to state request beyond [`BASE`].
fn optional(services: &ControlPlaneServices) -> Amounts {
    let (nova, neutron) = (&services.nova, &services.neutron);
    let mut needed = Amounts::default();
    if let Some(metadata) = &nova.metadata {
        let most = metadata.autoscaling.as_ref().map(|most| most.max_replicas);
        let most = most.unwrap_or(metadata.replicas);
        needed += beyond(2.0, most, &metadata.resources);
        needed += SIDECARS * most.saturating_sub(2);
    }
    let others = [
        &nova.no_vnc_proxy,
        &neutron.periodic_workers,
        &neutron.ovn_maintenance_worker,
    ];
    for component in others.into_iter().flatten() {
        needed += beyond(2.0, component.replicas, &component.resources);
    }
    needed
}

/// What another cell of Nova requests: its conductor, its proxy of consoles, and the Jobs of an update.
fn cell(nova: &NovaService) -> Amounts {
    let proxy = nova.no_vnc_proxy.clone().unwrap_or_default();
    let mut needed = POD * JOBS_OF_CELL;
    needed += component(nova.conductor.replicas, &nova.conductor.resources);
    needed += component(proxy.replicas, &proxy.resources);
    needed
}

/// What the pods of a component request, and the one that a rollout adds.
fn component(replicas: u32, resources: &Resources) -> Amounts {
    let mut pod = stated(resources, POD);
    pod += SIDECARS;
    pod * (replicas + 1)
}

/// A pod that requests what is stated; of a resource that isn't stated, the usual amount.
fn stated(resources: &Resources, usual: Amounts) -> Amounts {
    let stated = |resource: &str| {
        let amounts = [&resources.requests, &resources.limits].into_iter();
        let amount = amounts.flat_map(|amounts| amounts.get(resource)).next()?;
        Some(amount.amount())
    };
    Amounts {
        cores: stated("cpu").unwrap_or(usual.cores),
        memory: stated("memory").unwrap_or(usual.memory),
        ..usual
    }
}

impl AddAssign for Amounts {
    fn add_assign(&mut self, other: Self) {
        self.cores += other.cores;
        self.memory += other.memory;
        self.pods += other.pods;
        self.volumes += other.volumes;
        self.storage += other.storage;
    }
}

impl<N: Into<f64>> Mul<N> for Amounts {
    type Output = Self;

    fn mul(self, times: N) -> Self {
        let times = times.into();
        Self {
            cores: self.cores * times,
            memory: self.memory * times,
            pods: self.pods * times,
            volumes: self.volumes * times,
            storage: self.storage * times,
        }
    }
}

#[cfg(test)]
mod tests;
