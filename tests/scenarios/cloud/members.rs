//! Volumes while both members of their backend are killed in turn, and a backup and a copy of an image while members are replaced.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams};
use lab::{
    Ceph, Cloud, Context, Image, Kind, Result, ensure, eventually, is, kind, minutes, seconds,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::backup::{WHOLE, asked};
use super::tenant::{ADMINISTRATOR, CLOUDS};
use super::{CONTROL_PLANE, DATABASE_USER, MESSAGING_USER, issuer, operators, tasks, volumes};

const POD: Kind = kind("v1", "Pod");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");

/// The members of the backend, and what runs backups.
const MEMBERS: [&str; 2] = ["cinder-st-pool-volume-0", "cinder-st-pool-volume-1"];
const BACKUP: &str = "cinder-backup-0";
/// Their StatefulSets.
const SETS: [&str; 2] = ["openstack/cinder-st-pool-volume", "openstack/cinder-backup"];
/// The pools of volumes and of backups.
const VOLUMES: &str = "production-volumes";
const BACKUPS: &str = "production-backups";

/// How many steps of the load show that it goes on.
const STEPS: usize = 15;
/// How many steps the deaths of both members may cost: each of three workers a step that the member works on, and the deletion of what was
/// created by it.
const LOST: usize = 2 * 3 * 2;
/// How many bytes per second a backup and a copy write. Each has 48 MiB, and takes more than four minutes.
const SPEED: u32 = 192 << 10;
/// How long pods of other components may take to end.
const USUAL: Duration = seconds(75);

/// What members have claimed, which they settle when they start again.
const CLAIMED: &str = "SELECT resource_type, resource_id, workers.status, services.host
    FROM cinder.workers JOIN cinder.services ON services.id = workers.service_id WHERE services.topic = 'cinder-volume'";
/// What Cinder works on, or isn't as it should be.
const UNSETTLED: &str = "SELECT status, 'volume', id FROM cinder.volumes WHERE NOT deleted AND status <> 'available'
    UNION ALL SELECT status, 'snapshot', id FROM cinder.snapshots WHERE NOT deleted AND status <> 'available'";

/// What a load has done until now.
#[derive(Debug, Deserialize)]
struct Report {
    /// How many steps succeeded.
    done: usize,
    /// The steps that failed.
    failed: Vec<String>,
    /// The clones that stay.
    kept: Vec<String>,
}

/// The volume that others are clones and backups of.
#[derive(Deserialize)]
struct Base {
    volume: String,
    checksum: String,
}

/// A backup of it, and a copy of its image.
#[derive(Deserialize)]
struct Begun {
    backup: String,
    copy: String,
}

/// A control plane with volumes.
struct Site<'a> {
    cloud: &'a Cloud,
    ceph: &'a Ceph,
}

pub fn volumes_survive_their_members() -> Result<()> {
    let services = ["keystone", "glance", "cinder"];
    let services = services.map(|service| Image::of_service(service, "2025.2"));
    let images = [
        Image::mariadb(),
        Image::memcached(),
        Image::rabbitmq(),
        Image::ceph(),
        Image::guest(),
    ];
    let images = images.into_iter().chain(services);
    let images = images.collect::<Result<Vec<Image>>>()?;
    lab::on_a_bare_machine(async move |machine| {
        let mut cloud = Cloud::bare(&machine, &images).await?;
        operators(&machine, &mut cloud).await?;
        cloud.volume("databases", "1Gi", DATABASE_USER).await?;
        cloud.volume("messages", "2Gi", MESSAGING_USER).await?;
        let ceph = volumes::ceph(&cloud).await?;
        cloud.cluster.apply(include_str!("members.yaml")).await?;
        issuer(&cloud, machine.authority().identity(), cloud.namespace()).await?;
        eventually("the control plane is Ready", minutes(12), async || {
            let found = cloud.cluster.get(CONTROL_PLANE, WHOLE).await?;
            let mut conditions = ["Ready", "AccessReady", "VolumeTypesReady"].iter();
            conditions.try_for_each(|condition| is(&found, condition))
        })
        .await?;
        tasks::give_modules(&cloud).await?;
        let script = include_str!("volumes.py");
        cloud.give("volumes", "volumes.py", script).await?;
        let site = Site {
            cloud: &cloud,
            ceph: &ceph,
        };
        let base: Base = serde_json::from_str(&site.does(CLOUDS, "prepare").await?)?;
        site.has(&base.volume, &base)?;
        site.members_are_killed(&base).await?;
        site.members_are_replaced(&base).await?;
        cloud.roles_suffice()
    })
}

impl Site<'_> {
    /// Kills one member and then the other while volumes are created and deleted. All that members had claimed is settled, the rest can be
    /// deleted, and no content is lost.
    async fn members_are_killed(&self, base: &Base) -> Result<()> {
        let load = format!("load-{}", base.volume);
        tasks::starts(self.cloud, "volumes", CLOUDS, &load).await?;
        self.goes_on(&load).await?;
        let [first, second] = MEMBERS;
        self.kill(first).await?;
        self.goes_on(&load).await?;
        self.delete(second).await?;
        self.goes_on(&load).await?;
        let worker = tasks::pod(self.cloud, &load).await?;
        let worker = self.cloud.node.container(&worker).await?;
        worker.run(&["touch", "/tmp/stop"])?;
        let said = tasks::ended(self.cloud, &load).await?;
        let last = said
            .lines()
            .last()
            .context("the load has printed nothing")?;
        let report: Report = serde_json::from_str(last)?;
        println!("the load: {report:?}");
        ensure!(
            report.failed.len() <= LOST,
            "more than {LOST} steps failed: {report:?}"
        );
        ensure!(!report.kept.is_empty(), "no clone is left: {report:?}");

        eventually(
            "members settle what they had claimed",
            minutes(5),
            async || {
                let claimed = asked(self.cloud, CLAIMED).await?;
                ensure!(claimed.is_empty(), "{claimed}");
                Ok(())
            },
        )
        .await?;
        let left = asked(self.cloud, UNSETTLED).await?;
        println!("no member works any more on: {left}");
        let mut states = left
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        ensure!(
            states.all(|state| ["creating", "deleting"].contains(&state)),
            "{left}"
        );
        self.does(ADMINISTRATOR, "release").await?;
        let left = asked(self.cloud, UNSETTLED).await?;
        ensure!(left.is_empty(), "these can't be deleted: {left}");

        self.are_in_ceph().await?;
        for volume in report.kept.iter().chain([&base.volume]) {
            self.has(volume, base)?;
        }
        Ok(())
    }

    /// Changes an option while a backup and a copy of an image are written, for longer than a pod usually has to end. Both become complete.
    async fn members_are_replaced(&self, base: &Base) -> Result<()> {
        for pool in [VOLUMES, BACKUPS] {
            self.ceph.limit_writes(pool, SPEED)?;
        }
        let begin = format!("begin-{}", base.volume);
        let begun: Begun = serde_json::from_str(&self.does(CLOUDS, &begin).await?)?;
        eventually("both are written", minutes(2), async || {
            let backups = self.ceph.images(BACKUPS)?;
            ensure!(!backups.is_empty(), "the backup isn't written yet");
            self.is_in("volumes", &begun.copy, "downloading").await
        })
        .await?;
        let change = json!({"extraConfig": {"DEFAULT": {"quota_backups": "50"}}});
        let change = json!({"spec": {"services": {"cinder": change}}});
        let cluster = &self.cloud.cluster;
        cluster.edit(CONTROL_PLANE, WHOLE, change).await?;
        let pod = format!("openstack/{BACKUP}");
        let former = eventually("the backup's member terminates", minutes(3), async || {
            let found = cluster.get(POD, &pod).await?;
            let terminates = found.metadata.deletion_timestamp.is_some();
            ensure!(terminates, "{BACKUP} doesn't terminate");
            Ok(container(&found.data))
        })
        .await?;
        let terminates = Instant::now();
        self.is_in("backups", &begun.backup, "creating").await?;
        self.comes_back(BACKUP, &former).await?;
        let time = terminates.elapsed();
        println!("{BACKUP} was replaced after {} s", time.as_secs());
        ensure!(
            time > USUAL,
            "the backup took {} s: any pod could have completed it",
            time.as_secs()
        );

        eventually("both are complete", minutes(8), async || {
            self.is_in("backups", &begun.backup, "available").await?;
            self.is_in("volumes", &base.volume, "available").await?;
            self.is_in("volumes", &begun.copy, "available").await
        })
        .await?;
        eventually("all members are replaced", minutes(8), async || {
            for set in SETS {
                let found = cluster.get(STATEFUL_SET, set).await?;
                let status = &found.data["status"];
                ensure!(
                    status["currentRevision"] == status["updateRevision"]
                        && status["readyReplicas"] == found.data["spec"]["replicas"],
                    "{set}: {status}"
                );
            }
            Ok(())
        })
        .await?;
        for pool in [VOLUMES, BACKUPS] {
            self.ceph.unlimit_writes(pool)?;
        }
        let restore = format!("restore-{}", begun.backup);
        let restored = self.does(CLOUDS, &restore).await?;
        for volume in [restored.trim(), begun.copy.as_str(), base.volume.as_str()] {
            self.has(volume, base)?;
        }
        self.are_in_ceph().await
    }

    /// Has somebody do a task.
    async fn does(&self, clouds: &str, task: &str) -> Result<String> {
        tasks::starts(self.cloud, "volumes", clouds, task).await?;
        tasks::ended(self.cloud, task).await
    }

    /// Waits until the load has made some more steps.
    async fn goes_on(&self, load: &str) -> Result<()> {
        let mut begun = None;
        eventually("volumes are created and deleted", minutes(6), async || {
            let report = tasks::last_printed::<Report>(self.cloud, load).await?;
            let report = report.context("nothing is done yet")?;
            let before = *begun.get_or_insert(report.done);
            ensure!(report.done >= before + STEPS, "{before} steps, {report:?}");
            Ok(())
        })
        .await
    }

    /// Kills a member's processes, which the kubelet starts again.
    async fn kill(&self, member: &str) -> Result<()> {
        let pod = format!("openstack/{member}");
        let former = container(&self.cloud.cluster.get(POD, &pod).await?.data);
        self.cloud.node.container(&pod).await?.signal("SIGKILL")?;
        self.comes_back(member, &former).await
    }

    /// Deletes a member's pod, and leaves its processes a second. With no time at all, two members would have one name for a while.
    async fn delete(&self, member: &str) -> Result<()> {
        let cluster = &self.cloud.cluster;
        let pod = format!("openstack/{member}");
        let former = container(&cluster.get(POD, &pod).await?.data);
        let pods: Api<Pod> = Api::namespaced(cluster.client(), self.cloud.namespace());
        let soon = DeleteParams::default().grace_period(1);
        pods.delete(member, &soon).await?;
        self.comes_back(member, &former).await
    }

    /// Waits until a pod has another container, and is ready.
    async fn comes_back(&self, pod: &str, former: &Value) -> Result<()> {
        let what = format!("{pod} is back");
        eventually(&what, minutes(6), async || {
            let pod = format!("openstack/{pod}");
            let found = self.cloud.cluster.get(POD, &pod).await?;
            let status = &found.data["status"];
            ensure!(container(&found.data) != *former, "{status}");
            is(&found, "Ready")
        })
        .await
    }

    /// Fine when a volume or backup has a status.
    async fn is_in(&self, table: &str, id: &str, status: &str) -> Result<()> {
        let query = format!("SELECT status FROM cinder.{table} WHERE id = '{id}'");
        let found = asked(self.cloud, &query).await?;
        ensure!(found == status, "{id} of {table} is {found}");
        Ok(())
    }

    /// Fine when a volume has the content of the first.
    fn has(&self, volume: &str, base: &Base) -> Result<()> {
        let checksum = self.ceph.checksum(VOLUMES, &format!("volume-{volume}"))?;
        let expected = &base.checksum;
        ensure!(
            checksum == *expected,
            "volume {volume} has {checksum} instead of {expected}"
        );
        Ok(())
    }

    /// Fine when Ceph has the volumes that Cinder has, and no others.
    async fn are_in_ceph(&self) -> Result<()> {
        let known = "SELECT id FROM cinder.volumes WHERE NOT deleted";
        let known = asked(self.cloud, known).await?;
        let known: BTreeSet<String> = known.lines().map(|id| format!("volume-{id}")).collect();
        let (deleted, found): (BTreeSet<String>, BTreeSet<String>) = self
            .ceph
            .images(VOLUMES)?
            .into_iter()
            .partition(|image| image.ends_with(".deleted"));
        println!(
            "images of deleted volumes that had clones: {}",
            deleted.len()
        );
        ensure!(found == known, "Ceph has {found:?}, Cinder {known:?}");
        Ok(())
    }
}

/// The container of a pod.
fn container(pod: &Value) -> Value {
    pod["status"]["containerStatuses"][0]["containerID"].clone()
}
