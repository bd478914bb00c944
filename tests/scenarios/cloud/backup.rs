//! The databases of a control plane are lost, and restored from a backup as the documentation says.

use std::fs;
use std::sync::Arc;

use lab::{
    Cloud, Context, Image, Kind, Machine, Operator, Result, ensure, eventually, is, kind, minutes,
};
use serde_json::{Value, json};

use super::{CONTROL_PLANE, DATABASE_USER, does};

const CRON_JOB: Kind = kind("batch/v1", "CronJob");
const JOB: Kind = kind("batch/v1", "Job");
const POD: Kind = kind("v1", "Pod");
pub(super) const MARIADB: Kind = kind("k8s.mariadb.com/v1alpha1", "MariaDB");
const RESTORE: Kind = kind("k8s.mariadb.com/v1alpha1", "Restore");
pub(super) const WHOLE: &str = "openstack/production";
const MEMBER: &str = "openstack/openstack-db-0";
/// The page that tells how to restore.
const PAGE: &str = include_str!("../../../docs/operations.md");

/// The images of a control plane with a database and Keystone.
pub(super) fn images() -> Result<[Image; 4]> {
    Ok([
        Image::mariadb()?,
        Image::mariadb_operator()?,
        Image::memcached()?,
        Image::of_service("keystone", "2025.2")?,
    ])
}

/// A cloud with the operators of such a control plane. Those of MariaDB and K-ORC run until they are dropped.
pub(super) async fn with_operators(
    machine: &Arc<Machine>,
    images: &[Image],
) -> Result<(Cloud, [Operator; 2])> {
    let mut cloud = Cloud::bare(machine, images).await?;
    cloud.cluster.install_control_plane_kinds().await?;
    let mariadb = Operator::mariadb(machine, &cloud.cluster).await?;
    let k_orc = Operator::k_orc(machine, &cloud.cluster).await?;
    for operator in ["c5c3", "keystone"] {
        cloud.install(machine, operator).await?;
    }
    Ok((cloud, [mariadb, k_orc]))
}

pub fn a_lost_database_is_restored() -> Result<()> {
    let images = images()?;
    lab::on_a_bare_machine(async move |machine| {
        let (cloud, _operators) = with_operators(&machine, &images).await?;
        cloud.volume("databases", "1Gi", DATABASE_USER).await?;
        cloud.volume("backups", "2Gi", DATABASE_USER).await?;
        cloud.cluster.apply(include_str!("backup.yaml")).await?;
        ready(&cloud).await?;

        let before = projects(&cloud).await?;
        ensure!(before.contains("admin"), "projects: {before}");
        let time = back_up(&cloud).await?;
        lose(&cloud).await?;
        restore(&cloud, &time).await?;
        ready(&cloud).await?;
        let after = projects(&cloud).await?;
        ensure!(after == before, "{before} became {after}");
        // Keystone knows the password that is in the Secret.
        does(&cloud, "token", "token").await?;
        cloud.roles_suffice()
    })
}

pub(super) async fn ready(cloud: &Cloud) -> Result<()> {
    eventually("the control plane is Ready", minutes(6), async || {
        is(&cloud.cluster.get(CONTROL_PLANE, WHOLE).await?, "Ready")
    })
    .await
}

/// The projects of Keystone and their IDs, which are random.
pub(super) async fn projects(cloud: &Cloud) -> Result<String> {
    asked(cloud, "SELECT id, name FROM keystone.project ORDER BY id").await
}

/// What MariaDB answers to its root user.
pub(super) async fn asked(cloud: &Cloud, query: &str) -> Result<String> {
    asked_of(cloud, MEMBER, query).await
}

/// What a member of MariaDB, `namespace/name`, answers to its root user.
pub(super) async fn asked_of(cloud: &Cloud, member: &str, query: &str) -> Result<String> {
    let member = cloud.node.container_of(member, "mariadb").await?;
    let ask = r#"mariadb --user=root --password="$MARIADB_ROOT_PASSWORD" --batch --skip-column-names --execute "$0""#;
    member.run(&["sh", "-c", ask, query])
}

/// Runs the schedule's Job now, and gives the time of the backup.
pub(super) async fn back_up(cloud: &Cloud) -> Result<String> {
    let schedules = cloud.cluster.list(CRON_JOB, "").await?;
    let schedule = schedules.first().context("there is no schedule")?;
    cloud.run_now(schedule, "before-maintenance").await?;
    eventually("a backup is written", minutes(3), async || {
        let job = cloud
            .cluster
            .get(JOB, "openstack/before-maintenance")
            .await?;
        is(&job, "Complete")
    })
    .await?;
    let time = time(cloud).await?;
    let (file, files) = (format!("backup.{time}.gzip.sql"), files(cloud)?);
    ensure!(files.contains(&file), "{file} isn't one of {files:?}");
    Ok(time)
}

/// The time in the name of the file that the Job has written, from its log. mariadb-operator compares it with the one to restore.
async fn time(cloud: &Cloud) -> Result<String> {
    let selector = "job-name=before-maintenance";
    let pods = cloud.cluster.list(POD, selector).await?;
    let pod = pods.first().and_then(|pod| pod.metadata.name.as_deref());
    let pod = format!("openstack/{}", pod.context("the Job has no pod")?);
    let said = cloud.node.logs_of(&pod, "mariadb").await?;
    let time = said.lines().find_map(|line| {
        let (_, file) = line.split_once("Taking backup: ")?;
        let (_, time) = file.split_once("/backup.")?;
        time.strip_suffix(".gzip.sql")
    });
    time.map(str::to_owned)
        .with_context(|| format!("the log names no file: {said}"))
}

/// The names of the files on the volume with backups.
fn files(cloud: &Cloud) -> Result<Vec<String>> {
    let folder = cloud.node.folder("backups", DATABASE_USER)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Empties the volume of the database, whose pod begins anew.
async fn lose(cloud: &Cloud) -> Result<()> {
    let member = cloud.node.container(MEMBER).await?;
    let old = cloud.cluster.get(POD, MEMBER).await?.metadata.uid;
    member.run(&["sh", "-c", "rm -rf /var/lib/mysql/*"])?;
    cloud.cluster.delete(POD, MEMBER).await?;
    eventually("MariaDB is Ready without data", minutes(4), async || {
        let new = cloud.cluster.get(POD, MEMBER).await?;
        ensure!(new.metadata.uid != old, "the pod is the old one");
        is(&new, "Ready")?;
        is(
            &cloud.cluster.get(MARIADB, "openstack/openstack-db").await?,
            "Ready",
        )?;
        // mariadb-operator has created the users again.
        let users = asked(cloud, "SELECT user FROM mysql.global_priv").await?;
        ensure!(
            users.lines().any(|user| user == "keystone"),
            "users: {users}"
        );
        Ok(())
    })
    .await?;
    let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'keystone'";
    let tables = asked(cloud, tables).await?;
    ensure!(tables == "0", "{tables} tables of Keystone are left");
    Ok(())
}

/// Applies the manifest of the page, for the time of a backup.
pub(super) async fn restore(cloud: &Cloud, time: &str) -> Result<()> {
    let manifest = PAGE
        .split("```yaml\n")
        .filter_map(|block| block.split("```").next())
        .find(|block| block.contains("kind: Restore"))
        .context("docs/operations.md has no Restore")?;
    let mut restore: Value = serde_saphyr::from_str(manifest)?;
    restore["spec"]["targetRecoveryTime"] = json!(time);
    cloud.cluster.apply(&restore.to_string()).await?;
    eventually("the backup is restored", minutes(4), async || {
        let restore = cloud
            .cluster
            .get(RESTORE, "openstack/after-the-loss")
            .await?;
        is(&restore, "Complete")
    })
    .await
}
