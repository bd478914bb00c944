//! One of the control planes that share a pool, and what its tenant and its administrator do.

use std::collections::BTreeSet;

use jiff::Timestamp;
use lab::{
    Cloud, CloudState, Context, Hypervisor, Kind, Machine, Result, ensure, eventually, is, kind,
    minutes,
};
use provider_openstack::table::MEMCACHED;
use serde_json::json;

use super::agents::agent_pod;
use super::tenant::ADMINISTRATOR;
use super::{CONTROL_PLANE, DATABASE_USER, MESSAGING_USER, SERVICE_USER, issuer, tasks};
use crate::pools::leases::Leases;

const POD: Kind = kind("v1", "Pod");
const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");

/// The task that watches a cloud.
const LOOK: &str = "look";

/// A control plane and its share of the pool.
pub struct Side {
    /// What both are called.
    pub name: &'static str,
    /// Its pods.
    pub cloud: Cloud,
}

impl Side {
    /// Creates both, for so many hosts, and what its tasks need.
    pub async fn create(&self, machine: &Machine, hosts: usize) -> Result<()> {
        let (cloud, name) = (&self.cloud, self.name);
        for (volume, size, user) in [
            ("databases", "1Gi", DATABASE_USER),
            ("messages", "2Gi", MESSAGING_USER),
            ("images", "20Gi", SERVICE_USER),
            ("northbound", "10Gi", SERVICE_USER),
            ("southbound", "10Gi", SERVICE_USER),
        ] {
            let volume = format!("{volume}-{name}");
            cloud.volume(&volume, size, user).await?;
        }
        let manifest = include_str!("shared.yaml")
            .replace("NAME", name)
            .replace("PLACE", cloud.namespace())
            .replace("HOSTS", &hosts.to_string())
            .replace("VERSION", MEMCACHED.tag);
        cloud.cluster.apply(&manifest).await?;
        issuer(cloud, machine.authority().identity(), cloud.namespace()).await?;
        tasks::give_modules(cloud).await?;
        for (map, file, script) in [
            ("handover", "handover.py", include_str!("handover.py")),
            ("shared", "shared.py", include_str!("shared.py")),
        ] {
            cloud.give(map, file, script).await?;
        }
        Ok(())
    }

    /// Waits until the control plane is Ready, and has it watched from then on.
    pub async fn comes_up(&self) -> Result<()> {
        let cloud = &self.cloud;
        let control_plane = format!("{}/{}", cloud.namespace(), self.name);
        let what = format!("{control_plane} is Ready");
        eventually(&what, minutes(25), async || {
            is(
                &cloud.cluster.get(CONTROL_PLANE, &control_plane).await?,
                "Ready",
            )
        })
        .await?;
        tasks::starts(cloud, "shared", ADMINISTRATOR, LOOK).await
    }

    /// What was seen of it until now.
    pub async fn states(&self) -> Result<Vec<CloudState>> {
        tasks::printed(&self.cloud, LOOK).await
    }

    /// What was seen of it last.
    pub async fn state(&self) -> Result<CloudState> {
        let last = tasks::last_printed::<CloudState>(&self.cloud, LOOK).await?;
        last.with_context(|| format!("nobody has seen {} yet", self.name))
    }

    /// Waits until it has the hosts that its share leases, which are so many, and no others.
    pub async fn has(&self, leases: &Leases, count: usize) -> Result<()> {
        let what = format!("{} has {count} hosts", self.name);
        eventually(&what, minutes(7), async || {
            let leased = BTreeSet::from_iter(leases.of(self.name, None));
            ensure!(leased.len() == count, "its share leases {leased:?}");
            let state = self.state().await?;
            ensure!(
                state.providers == leased && state.hypervisors == leased && state.ready == leased,
                "its share leases {leased:?}, and it has {state:?}"
            );
            // Ready alone needs one host. A server on another one fails while ovn-controller doesn't run there.
            let share = self.cloud.cluster.get(SHARE, self.name).await?;
            is(&share, "HostsWorking")?;
            is(&share, "Ready")
        })
        .await
    }

    /// Changes how many hosts its share may have.
    pub async fn may_have(&self, hosts: usize) -> Result<()> {
        let change = json!({ "spec": { "maxHosts": hosts } });
        let cluster = &self.cloud.cluster;
        cluster.edit(SHARE, self.name, change).await.map(drop)
    }

    /// Has its tenant do a task.
    pub async fn does(&self, task: &str) -> Result<()> {
        let clouds = format!("{}-clouds", self.name);
        tasks::starts(&self.cloud, "shared", &clouds, task).await?;
        tasks::ended(&self.cloud, task).await.map(drop)
    }

    /// Boots so many further servers.
    pub async fn boots(&self, count: usize) -> Result<()> {
        let before = self.state().await?.servers.len();
        self.does(&format!("boot-{count}")).await?;
        eventually("the new servers are seen", minutes(2), async || {
            let servers = self.state().await?.servers;
            ensure!(servers.len() == before + count, "{servers:?} are");
            Ok(())
        })
        .await
    }

    /// Its servers on a host.
    pub async fn servers_on(&self, host: &str) -> Result<Vec<String>> {
        let servers = self.state().await?.servers.into_iter();
        let servers = servers.filter(|(_, place)| place == host);
        Ok(servers.map(|(id, _)| id).collect())
    }

    /// Kills the API of its Nova.
    pub async fn loses_nova(&self) -> Result<()> {
        let (cloud, selector) = (
            &self.cloud,
            "app.kubernetes.io/instance=nova,app.kubernetes.io/component=api",
        );
        let what = format!("Nova's API of {} is killed", self.name);
        eventually(&what, minutes(2), async || {
            let pods = cloud.cluster.list(POD, selector).await?;
            let mut pods = pods
                .iter()
                .filter(|pod| pod.metadata.namespace.as_deref() == Some(cloud.namespace()));
            let pod = pods.next().and_then(|pod| pod.metadata.name.as_deref());
            let pod = format!("{}/{}", cloud.namespace(), pod.context("it has no pod")?);
            cloud.node.container(&pod).await?.signal("SIGKILL")
        })
        .await
    }

    /// Kills its libvirt and nova-compute on a host, once they run there. Returns when, in milliseconds since 1970.
    pub async fn loses_agents(&self, hypervisor: &Hypervisor) -> Result<i64> {
        for agent in ["libvirt", "nova-compute"] {
            let what = format!("{agent} of {} is killed", self.name);
            eventually(&what, minutes(6), async || {
                let pod = agent_pod(hypervisor, self.name, agent).await?;
                hypervisor.container(&pod).await?.signal("SIGKILL")
            })
            .await?;
        }
        Ok(Timestamp::now().as_millisecond())
    }

    /// Waits until nova-compute on a host has reported to its Nova after a moment. Of a host that is down, Nova deletes servers by itself, and
    /// their domains stay in libvirt (nova/compute/api.py, `_delete`).
    pub async fn has_report(&self, host: &str, after: i64) -> Result<()> {
        let what = format!("nova-compute of {} on {host} reports", self.name);
        eventually(&what, minutes(7), async || {
            let state = self.state().await?;
            ensure!(state.has_report(host, after), "{} has {state:?}", self.name);
            Ok(())
        })
        .await
    }
}
