//! What the command line says of a real cluster: a plan compared with what runs, and what runs as a tree. It never writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use lab::{
    Build, Cluster, Etcd, Kind, Operator, Result, condition, ensure, eventually, kind, minutes,
    our_program,
};
use serde_json::json;

const MARIADB: Kind = kind("k8s.mariadb.com/v1alpha1", "MariaDB");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");
const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");
const SECRET: Kind = kind("v1", "Secret");

const EXAMPLE: &str = "examples/control-planes/production.yaml";

#[test]
fn what_runs_is_compared_and_shown() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "control-plane").await?;
        let kubeconfig = cluster.kubeconfig_file();

        let nothing = status(kubeconfig, &[])?;
        ensure!(nothing.code == 1, "{nothing:?}");
        nothing.complains("the cluster knows no ControlPlanes: install the c5c3-operator")?;

        tokio::try_join!(
            cluster.install_mariadb(),
            cluster.install_rabbitmq(),
            cluster.install_valkey(),
            cluster.install_k_orc(),
            cluster.install_external_secrets(),
        )?;
        cluster.apply_files("package/crds").await?;
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
        forbidden(&cluster).await
    })
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
    shown.says("○ ControlPlane openstack/production (0 of 12 ready)")?;
    shown.says("○ MariaDB openstack-db, waits for mariadb-operator")?;
    shown.says("○ Keystone keystone, waits for mariadb, memcached")?;
    shown.says("○ KeystoneReady")?;
    let other = status(kubeconfig, &["elsewhere/production"])?;
    ensure!(other.code == 1, "{other:?}");
    other.complains("there is no elsewhere/production")
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
    some.is_silent_on("+ StatefulSet")?;

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

/// Who may not look is told what is missing.
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

/// What a run of the program has said.
#[derive(Debug)]
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn says(&self, text: &str) -> Result<()> {
        ensure!(self.stdout.contains(text), "{text:?} isn't said: {self:?}");
        Ok(())
    }

    fn complains(&self, text: &str) -> Result<()> {
        ensure!(self.stderr.contains(text), "{text:?} isn't said: {self:?}");
        Ok(())
    }

    fn is_silent_on(&self, text: &str) -> Result<()> {
        let shown = self.stdout.contains(text) || self.stderr.contains(text);
        ensure!(!shown, "{text:?} is said: {self:?}");
        Ok(())
    }
}

fn against(kubeconfig: &Path, file: &Path) -> Result<Run> {
    let mut program = program()?;
    program.arg("plan").arg("--filename").arg(file);
    program.arg("--against").arg(kubeconfig);
    Ok(Run::of(program.output()?))
}

fn status(kubeconfig: &Path, arguments: &[&str]) -> Result<Run> {
    let mut program = program()?;
    program.arg("status").arg("--kubeconfig").arg(kubeconfig);
    Ok(Run::of(program.args(arguments).output()?))
}

fn program() -> Result<Command> {
    let mut program = Command::new(our_program(Build::Debug)?);
    program.current_dir(workspace());
    Ok(program)
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Somebody who follows what runs, into a file.
struct Lines {
    program: Child,
    file: tempfile::NamedTempFile,
}

impl Lines {
    fn of(kubeconfig: &Path) -> Result<Self> {
        let file = tempfile::NamedTempFile::new()?;
        let mut program = program()?;
        program.args(["status", "--watch", "--kubeconfig"]);
        let program = program
            .arg(kubeconfig)
            .stdout(Stdio::from(file.reopen()?))
            .spawn()?;
        Ok(Self { program, file })
    }

    fn have(&self, line: &str) -> Result<()> {
        let lines = fs::read_to_string(self.file.path())?;
        ensure!(
            lines.lines().any(|other| other == line),
            "{line:?} isn't among:\n{lines}"
        );
        Ok(())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It has ended already, or is reaped here: nothing is left either way.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
