//! A pool takes a host from one share for another: the server on it moves to another host of its share, and no two clouds have the host.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use lab::{
    Cloud, Cluster, Context, Kind, Machine, Nova, Result, bail, ensure, eventually, is, kind,
    minutes, never_until, scaled, seconds,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tenant::{ADMINISTRATOR, CLOUDS, Tenant};
use super::{issuer, tasks};

const DAEMON_SET: Kind = kind("apps/v1", "DaemonSet");
const JOB: Kind = kind("batch/v1", "Job");
const NODE: Kind = kind("v1", "Node");
const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");

/// The share that gives up a host.
const FIRST: &str = "production";
/// The namespace of its agents.
const AGENTS: &str = "agents-production";
/// The share that gets the host, with its control plane and its aggregate.
const OTHER: &str = "other";
/// How the labels of a lease begin.
const LEASE: &str = "c5c3.node-restriction.kubernetes.io/";
/// Where a machine's firmware has the machine's UUID. libvirt migrates nothing between hosts with one UUID, and takes any for a host
/// without one (src/util/viruuid.c and src/qemu/qemu_migration_cookie.c).
const FIRMWARE: &str = "/sys/class/dmi/id/product_uuid";
/// How long nobody may have asked what the first cloud has.
const GAP: Duration = seconds(30);

/// What Nova and Placement of the first cloud have at a moment.
#[derive(Debug, Deserialize)]
struct Sample {
    /// When they were asked, in milliseconds since 1970.
    time: i64,
    /// The hosts in aggregates.
    members: BTreeSet<String>,
    /// The hosts with a compute service.
    services: BTreeSet<String>,
    /// For whom something is allocated, by host with a resource provider: servers and migrations.
    providers: BTreeMap<String, BTreeSet<String>>,
}

/// A server of the tenant.
#[derive(Debug, Deserialize)]
struct Server {
    host: String,
    /// Another one after each start.
    boot: String,
}

/// The lease of a host, as its labels say.
struct Lease {
    control_plane: String,
    phase: String,
    since: String,
}

/// Creates a share of another control plane, whose Nova and Placement are simulated, and waits until it has a host with a server of the
/// tenant's.
pub async fn to_another_share(tenant: &Tenant<'_>, machine: &Machine) -> Result<()> {
    let cloud = tenant.cloud;
    let cluster = &cloud.cluster;
    encrypts_migrations(cloud, machine).await?;
    let script = include_str!("handover.py");
    cloud.give("handover", "handover.py", script).await?;
    does(tenant, ADMINISTRATOR, "members").await?;
    let before = servers(tenant, "pair").await?;
    let hosts: BTreeSet<&str> = before.values().map(|server| server.host.as_str()).collect();
    ensure!(hosts.len() == 2, "not each host has a server: {before:?}");
    let protocol = tenant.does_as(CLOUDS, "display").await?;
    ensure!(protocol.trim() == "RFB 003.008", "{protocol}");
    tenant.starts("handover", ADMINISTRATOR, "watch").await?;

    let nova = Nova::start(machine).await?;
    let spec = json!({
        "aggregate": {"name": OTHER},
        "agents": {"virtualization": "qemu", "datapath": "netdev", "tunnelInterface": "underlay"},
    });
    nova.share(cluster, OTHER, None, spec).await?;
    // A share may take five minutes to count its servers.
    let host = eventually("a host is drained", minutes(7), async || {
        draining(tenant).await
    })
    .await?;
    let released = "a host is released with a server";
    never_until(released, servers(tenant, "running"), async || {
        let lease = lease(cluster, &host).await?;
        ensure!(
            lease.control_plane == FIRST && lease.phase == "Draining",
            "{} leases {host}, {}",
            lease.control_plane,
            lease.phase
        );
        Ok(())
    })
    .await?;
    let is_live = !Path::new(FIRMWARE).exists();
    let way = if is_live { "migrate" } else { "shelve" };
    let left = does(tenant, ADMINISTRATOR, way).await?;
    ensure!(left.trim() == host, "servers left {left}, not {host}");

    let since = eventually("the other share leases it", minutes(7), async || {
        let lease = lease(cluster, &host).await?;
        ensure!(
            lease.control_plane == OTHER,
            "{} does, {}",
            lease.control_plane,
            lease.phase
        );
        milliseconds(&lease.since)
    })
    .await?;
    // As its nova-compute does.
    nova.state().services.insert(host.clone(), None);
    eventually("the other cloud has the host", minutes(5), async || {
        let members = nova.state().members(OTHER);
        ensure!(members.contains(&host), "its aggregate has {members:?}");
        is(&cluster.get(SHARE, OTHER).await?, "LibvirtReady")
    })
    .await?;
    let both = "two clouds have a host";
    let after = never_until(both, servers(tenant, "running"), async || {
        is_in_one_cloud(&samples(tenant).await?, &host, since)
    })
    .await?;
    println!("{host} was handed over: servers before {before:?}, after {after:?}");
    let ids = |servers: &BTreeMap<String, Server>| servers.keys().cloned().collect::<Vec<_>>();
    ensure!(ids(&before) == ids(&after), "a server is lost or new");
    for (id, server) in &after {
        ensure!(server.host != host, "{id} is on {host}");
        let is_same = server.boot == before[id].boot;
        ensure!(is_same || !is_live, "{id} was started anew");
    }

    were_complete(&samples(tenant).await?, &host, since, &ids(&after))?;
    let watch = format!("{}/watch", cloud.namespace());
    cluster.delete(JOB, &watch).await?;
    tenant.deletes_servers().await?;
    let usages = tenant.does_as(ADMINISTRATOR, "usages").await?;
    let stays = other(tenant, &host);
    ensure!(
        usages.trim() == format!("{stays} DISK_GB=0 MEMORY_MB=0 VCPU=0"),
        "{usages}"
    );
    Ok(())
}

/// Gives the first share an aggregate, and certificates by which its hosts migrate servers and show consoles.
async fn encrypts_migrations(cloud: &Cloud, machine: &Machine) -> Result<()> {
    let cluster = &cloud.cluster;
    issuer(cloud, machine.authority().identity(), AGENTS).await?;
    let sets = ["libvirt", "nova-compute"].map(|agent| format!("{AGENTS}/{agent}"));
    let mut templates: Vec<Value> = Vec::new();
    for set in &sets {
        let found = cluster.get(DAEMON_SET, set).await?;
        templates.push(found.data["spec"]["template"].clone());
    }
    let change = json!({"spec": {
        "aggregate": {"name": FIRST},
        "agents": {"issuerRef": {"name": "site"}},
    }});
    cluster.edit(SHARE, FIRST, change).await?;
    for (set, before) in sets.iter().zip(&templates) {
        eventually(&format!("{set} is replaced"), minutes(6), async || {
            let now = cluster.get(DAEMON_SET, set).await?;
            let status = &now.data["status"];
            ensure!(
                now.data["spec"]["template"] != *before,
                "its pods are as they were"
            );
            ensure!(
                status["observedGeneration"] == json!(now.metadata.generation)
                    && status["updatedNumberScheduled"] == 2
                    && status["numberReady"] == 2,
                "{status}"
            );
            Ok(())
        })
        .await?;
    }
    eventually("both hypervisors work", minutes(3), async || {
        let share = cluster.get(SHARE, FIRST).await?;
        is(&share, "HostsWorking")?;
        is(&share, "ConsolesReady")?;
        is(&share, "Ready")
    })
    .await
}

/// The host that the first share gives up.
async fn draining(tenant: &Tenant<'_>) -> Result<String> {
    let mut phases = Vec::new();
    for hypervisor in tenant.hypervisors {
        let name = hypervisor.name();
        let lease = lease(&tenant.cloud.cluster, name).await?;
        if lease.phase == "Draining" {
            return Ok(name.to_owned());
        }
        phases.push(lease.phase);
    }
    bail!("the phases of the hosts are {phases:?}")
}

/// The host that isn't this one.
fn other<'a>(tenant: &Tenant<'a>, host: &str) -> &'a str {
    let [first, second] = tenant.hypervisors;
    match first.name() == host {
        true => second.name(),
        false => first.name(),
    }
}

async fn lease(cluster: &Cluster, host: &str) -> Result<Lease> {
    let labels = cluster.get(NODE, host).await?.metadata.labels;
    let labels = labels.unwrap_or_default();
    let label = |name: &str| {
        let value = labels.get(&format!("{LEASE}{name}"));
        value.cloned().unwrap_or_default()
    };
    Ok(Lease {
        control_plane: label("control-plane"),
        phase: label("lease-phase"),
        since: label("lease-since"),
    })
}

/// A moment as a label has it, in milliseconds since 1970.
fn milliseconds(moment: &str) -> Result<i64> {
    let moment = DateTime::strptime("%Y%m%dT%H%M%SZ", moment)?;
    Ok(moment.to_zoned(TimeZone::UTC)?.timestamp().as_millisecond())
}

/// Runs a task of handover.py, and returns what it prints.
async fn does(tenant: &Tenant<'_>, clouds: &str, task: &str) -> Result<String> {
    tenant.starts("handover", clouds, task).await?;
    tenant.ended(task).await
}

/// Runs a task that prints the tenant's servers.
async fn servers(tenant: &Tenant<'_>, task: &str) -> Result<BTreeMap<String, Server>> {
    let printed = does(tenant, CLOUDS, task).await?;
    Ok(serde_json::from_str(&printed)?)
}

/// What was seen of the first cloud until now.
async fn samples(tenant: &Tenant<'_>) -> Result<Vec<Sample>> {
    tasks::printed(tenant.cloud, "watch").await
}

/// Fine if the first cloud didn't have the host any more when the other share leased it.
fn is_in_one_cloud(samples: &[Sample], host: &str, since: i64) -> Result<()> {
    let mut both = samples.iter().filter(|sample| {
        sample.time >= since
            && (sample.members.contains(host)
                || sample.services.contains(host)
                || sample.providers.contains_key(host))
    });
    let both = both.next();
    ensure!(
        both.is_none(),
        "{OTHER} leases {host} since {since}, and {FIRST} still has it: {both:?}"
    );
    Ok(())
}

/// Fine if the first cloud was seen all the time, with everything that it had of the host at first and what is left in the end.
fn were_complete(samples: &[Sample], host: &str, since: i64, servers: &[String]) -> Result<()> {
    let pauses = samples.windows(2).map(|two| two[1].time - two[0].time);
    let longest = pauses.max().unwrap_or_default();
    println!(
        "the cloud was seen {} times, with {longest} ms in between at most",
        samples.len()
    );
    let gap = i64::try_from(scaled(GAP).as_millis())?;
    ensure!(longest < gap, "for {longest} ms nobody has watched");
    let (first, last) = samples.first().zip(samples.last()).context("no sample")?;
    let has_server = |used: &BTreeSet<String>| servers.iter().any(|server| used.contains(server));
    ensure!(
        first.members.contains(host)
            && first.services.contains(host)
            && first.providers.get(host).is_some_and(has_server),
        "{host} wasn't whole at first: {first:?}"
    );
    let mut before = samples.iter().rev();
    let emptied = before.find_map(|sample| sample.providers.get(host));
    ensure!(
        emptied.is_some_and(BTreeSet::is_empty),
        "{host} left Placement with {emptied:?}"
    );
    let mut used = last.providers.values();
    ensure!(
        last.time > since
            && last.providers.len() == 1
            && used.all(|used| servers.iter().all(|server| used.contains(server))),
        "{servers:?} aren't all that Placement has: {last:?}"
    );
    Ok(())
}
