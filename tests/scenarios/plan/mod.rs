//! What the command line says of a real cluster: a plan compared with what runs, and what runs as a tree. It never writes.

mod pool;
mod program;
mod small;

use std::fs;
use std::path::Path;

use lab::{
    Build, Cluster, Etcd, Kind, Machine, Operator, Replicas, Result, Site, condition, ensure,
    eventually, is, kind, minutes,
};
use serde_json::{Value, json};

use pool::a_pool_is_shown_and_its_division_planned;
use program::{Lines, against, status, workspace};
use small::{KEY_OF_KEYSTONE, READER, ROTATION_OF_GLANCE, SMALL, WATCHER};

use lab::scenario;
use lab::suite::{CLUSTER, Scenario};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 180 s, what_runs_is_compared_and_shown, [CLUSTER]),
    scenario!(Gate, 120 s, what_is_ready_is_as_planned, [CLUSTER]),
    scenario!(Gate, 60 s, a_pool_is_shown_and_its_division_planned, [CLUSTER]),
];

const MARIADB: Kind = kind("k8s.mariadb.com/v1alpha1", "MariaDB");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");
const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");
const ROTATION: Kind = kind("c5c3.io/v1alpha1", "CredentialRotation");
const SECRET: Kind = kind("v1", "Secret");

const EXAMPLE: &str = "examples/control-planes/production.yaml";

fn what_runs_is_compared_and_shown() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        let kubeconfig = cluster.kubeconfig_file();

        let nothing = status(kubeconfig, &[])?;
        ensure!(nothing.code == 1, "{nothing:?}");
        nothing.complains("the cluster knows no ControlPlanes: install the c5c3-operator")?;

        cluster.install_control_plane_kinds().await?;
        let empty = status(kubeconfig, &[])?;
        ensure!(empty.code == 0, "{empty:?}");
        empty.says("There is nothing yet")?;

        let all = against(kubeconfig, Path::new(EXAMPLE))?;
        ensure!(all.code == 1, "{all:?}");
        all.says("+ ControlPlane openstack/production\n")?;
        all.says("+ Nova openstack/nova\n")?;
        all.says(" to add, 0 to change, 0 to go, 0 as planned")?;
        let secrets = cluster.list(SECRET, "").await?;
        ensure!(secrets.is_empty(), "a plan has written {secrets:?}");

        cluster
            .apply("{apiVersion: v1, kind: Namespace, metadata: {name: openstack}}")
            .await?;
        cluster.apply_files(EXAMPLE).await?;
        let operator = Operator::c5c3(&machine, &cluster, "c5c3-operator", &["c5c3"]).await?;
        waits(&cluster).await?;
        shown(kubeconfig)?;
        followed(&cluster).await?;

        operator.kill()?;
        compared(&cluster, machine.folder()).await?;
        forbidden(&cluster).await?;
        silent(&machine, &cluster).await
    })
}

/// A whole control plane, ready: nobody would change anything, and who only looks needs no other rights.
fn what_is_ready_is_as_planned() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let site = Site::open(&machine, Build::Debug).await?;
        let account = site.cluster.account("c5c3-operator").await?;
        site.start("c5c3-operator", &account, Replicas::One)?;
        let file = machine.folder().join("small.yaml");
        fs::write(&file, SMALL)?;
        let cluster = &site.cluster;
        cluster.apply(SMALL).await?;
        for object in [KEY_OF_KEYSTONE, READER, WATCHER] {
            cluster.apply(object).await?;
        }
        let reader = cluster.acting_as("small/reader").await?;
        let watcher = cluster.acting_as("small/watcher").await?;
        eventually("it is ready", minutes(2), async || {
            is(&cluster.get(CONTROL_PLANE, "small/small").await?, "Ready")
        })
        .await?;
        as_planned(&reader, &file, &[]).await?;

        cluster.apply(ROTATION_OF_GLANCE).await?;
        replaced(cluster).await?;
        // Its own operator would say that Glance's pods have the second.
        as_planned(&reader, &file, &["- ApplicationCredential small/glance-1"]).await?;

        let shown = status(watcher.kubeconfig_file(), &["small/small"])?;
        ensure!(shown.code == 0, "{shown:?}");
        shown.says("✔ ControlPlane small/small (6 of 6 ready)\n")?;
        shown.is_silent_on("Secret")?;
        let elsewhere = status(watcher.kubeconfig_file(), &["-n", "default", "-o", "json"])?;
        ensure!(elsewhere.stdout == "[]\n", "{elsewhere:?}");
        let json = status(watcher.kubeconfig_file(), &["-n", "small", "-o", "json"])?;
        let listed: Vec<Value> = serde_json::from_str(&json.stdout)?;
        let ready: Vec<_> = listed
            .iter()
            .map(|shown| {
                (
                    shown["kind"].as_str(),
                    shown["name"].as_str(),
                    shown["ready"].as_bool(),
                )
            })
            .collect();
        ensure!(
            ready.contains(&(Some("ControlPlane"), Some("small"), Some(true))),
            "{json:?}"
        );
        json.is_silent_on("\"kind\": \"Secret\"")?;
        only_looked(cluster)
    })
}

/// A comparison finds nothing, as soon as the operator has done all it has to, but what the services' own operators would
/// make, and the address of Keystone: those operators are simulated here, and their Keystone is elsewhere; and what is said besides.
async fn as_planned(reader: &Cluster, file: &Path, besides: &[&str]) -> Result<()> {
    eventually("all is as planned", minutes(2), async || {
        let run = against(reader.kubeconfig_file(), file)?;
        run.says("+ Deployment small/keystone\n")?;
        let mut changes = run
            .stdout
            .lines()
            .filter(|line| line.starts_with(['+', '~', '-']));
        let other = changes.find(|change| {
            !is_of_a_service(change) && !has_the_address(change) && !besides.contains(change)
        });
        ensure!(other.is_none(), "{other:?} isn't as planned");
        Ok(())
    })
    .await
}

/// Whether it is a Secret that says where Keystone is.
fn has_the_address(change: &str) -> bool {
    change.starts_with("~ Secret small/k-orc-") && change.ends_with("-clouds")
}

/// Whether something is added that Keystone's, Glance's or Placement's operator makes.
fn is_of_a_service(change: &str) -> bool {
    let kinds = [
        "CronJob",
        "Database",
        "Deployment",
        "Grant",
        "Job",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "Service",
        "User",
    ];
    let Some((kind, name)) = change
        .strip_prefix("+ ")
        .and_then(|added| added.split_once(' '))
    else {
        return false;
    };
    let secrets = ["-config-", "-fernet-key", "-credential-key", "-token-cache"];
    kinds.contains(&kind) || kind == "Secret" && secrets.iter().any(|secret| name.contains(secret))
}

/// Glance's credential is replaced. Its rotation is triggered by hand: the API server's clock can't be set.
async fn replaced(cluster: &Cluster) -> Result<()> {
    eventually("the rotation knows the first", minutes(1), async || {
        let rotation = cluster.get(ROTATION, "small/glance").await?;
        let current = &rotation.data["status"]["currentCredentialRef"]["name"];
        ensure!(current == "glance-1", "it is {current}");
        Ok(())
    })
    .await?;
    let time = json!({ "nextCredentialRef": { "name": "glance-2" } });
    cluster.set_status(ROTATION, "small/glance", time).await?;
    eventually("the second is handed out", minutes(1), async || {
        let rotation = cluster.get(ROTATION, "small/glance").await?;
        let current = &rotation.data["status"]["currentCredentialRef"]["name"];
        ensure!(current == "glance-2", "it is {current}");
        Ok(())
    })
    .await
}

/// Neither of the two has ever asked for anything but to look.
fn only_looked(cluster: &Cluster) -> Result<()> {
    for (name, looks) in [("reader", &["get", "list"][..]), ("watcher", &["list"])] {
        let user = format!("system:serviceaccount:small:{name}");
        let requests = cluster.audit()?;
        let mut requests = requests.iter().filter(|request| request.user == user);
        ensure!(requests.clone().count() > 10, "{name} has hardly asked");
        let other = requests.find(|request| !looks.contains(&request.verb.as_str()));
        ensure!(other.is_none(), "{name} has asked for {other:?}");
    }
    Ok(())
}

/// Waits until our operator waits for the first phase.
async fn waits(cluster: &Cluster) -> Result<()> {
    eventually("the first phase is made", minutes(1), async || {
        cluster
            .get(STATEFUL_SET, "openstack/openstack-memcached")
            .await?;
        cluster.get(MARIADB, "openstack/openstack-db").await?;
        let control_plane = cluster.get(CONTROL_PLANE, "openstack/production").await?;
        ensure!(
            condition(&control_plane, "Ready") == Some("False"),
            "it says nothing yet"
        );
        Ok(())
    })
    .await
}

/// The tree of what runs says what waits for what.
fn shown(kubeconfig: &Path) -> Result<()> {
    let shown = status(kubeconfig, &["production"])?;
    ensure!(shown.code == 0, "{shown:?}");
    shown.says("○ ControlPlane openstack/production (0 of 13 ready): ")?;
    shown.says("○ MariaDB openstack-db, waits for mariadb-operator")?;
    shown.says("○ Keystone keystone, waits for mariadb, memcached")?;
    shown.says("○ KeystoneReady")?;
    let other = status(kubeconfig, &["elsewhere/production"])?;
    ensure!(other.code == 1, "{other:?}");
    other.complains("the cluster has no elsewhere/production")
}

/// Who follows through a pipe gets a line for each change.
async fn followed(cluster: &Cluster) -> Result<()> {
    let lines = Lines::of(cluster.kubeconfig_file())?;
    eventually("all is shown first", minutes(1), async || {
        lines.have("MariaDB openstack/openstack-db: not ready")
    })
    .await?;
    cluster
        .set_status(
            MARIADB,
            "openstack/openstack-db",
            json!({ "conditions": [{
                "type": "Ready", "status": "True", "reason": "StatefulSetReady", "message": "Running",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }] }),
        )
        .await?;
    eventually("the change is shown", minutes(1), async || {
        lines.have("MariaDB openstack/openstack-db: ready")
    })
    .await
}

/// What was made is as planned; what was edited, or would be, is shown, but no value of a Secret.
async fn compared(cluster: &Cluster, folder: &Path) -> Result<()> {
    let kubeconfig = cluster.kubeconfig_file();
    let some = against(kubeconfig, Path::new(EXAMPLE))?;
    ensure!(some.code == 1, "{some:?}");
    some.says("0 to change, 0 to go")?;
    some.says("+ Nova openstack/nova\n")?;
    some.is_silent_on("+ MariaDB")?;
    some.is_silent_on("+ StatefulSet openstack/openstack-memcached")?;

    let edited = folder.join("edited.yaml");
    let text = fs::read_to_string(workspace().join(EXAMPLE))?;
    fs::write(
        &edited,
        text.replace("storageSize: 100Gi", "storageSize: 200Gi"),
    )?;
    let changed = against(kubeconfig, &edited)?;
    changed.says("~ ControlPlane openstack/production\n")?;
    changed.says("~ MariaDB openstack/openstack-db\n")?;
    changed.says("-    size: 100Gi\n")?;
    changed.says("+    size: 200Gi\n")?;

    let secret = cluster.get(SECRET, "openstack/openstack-db-root").await?;
    let password = secret.data["data"]["password"].as_str().unwrap_or_default();
    ensure!(password.len() > 20, "the password isn't there");
    for run in [&some, &changed] {
        run.is_silent_on(password)?;
    }
    Ok(())
}

/// Who may not look learns what is missing.
async fn forbidden(cluster: &Cluster) -> Result<()> {
    cluster
        .apply(
            "{apiVersion: v1, kind: ServiceAccount, metadata: {name: nobody, namespace: default}}",
        )
        .await?;
    let nobody = cluster.acting_as("default/nobody").await?;
    let kubeconfig = nobody.kubeconfig_file();
    let run = status(kubeconfig, &[])?;
    ensure!(run.code == 1, "{run:?}");
    run.complains("the kubeconfig's user may not list")?;
    let run = status(kubeconfig, &["--watch"])?;
    ensure!(run.code == 1, "{run:?}");
    run.complains("the kubeconfig's user may not list")?;
    let run = against(kubeconfig, Path::new(EXAMPLE))?;
    ensure!(run.code == 2, "{run:?}");
    run.complains("the kubeconfig's user may not get")
}

/// Who follows learns when the API server is away.
async fn silent(machine: &Machine, cluster: &Cluster) -> Result<()> {
    let lines = Lines::of(cluster.kubeconfig_file())?;
    eventually("all is shown first", minutes(1), async || {
        lines.have("MariaDB openstack/openstack-db: ready")
    })
    .await?;
    let server = format!("kube-apiserver-{}", cluster.name());
    machine.stop(&server)?;
    eventually("it says that nobody answers", minutes(2), async || {
        let lines = lines.all()?;
        ensure!(
            lines.contains("the cluster: the cluster at https://"),
            "{lines}"
        );
        ensure!(lines.contains(" doesn't answer: "), "{lines}");
        ensure!(!lines.contains(": gone"), "{lines}");
        Ok(())
    })
    .await
}
