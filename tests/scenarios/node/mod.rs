//! A node: pods really run there, and nothing of it is left.

mod acceptance;
mod client;
mod cloud;
mod federation;
mod hypervisors;
mod metrics;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use lab::{
    Cluster, Context, Etcd, Kind, Machine, Node, Result, ensure, eventually, is, kind, minutes,
};
use serde_json::json;

use lab::scenario;
use lab::suite::{NODE, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Cloud, 480 s, cloud::a_cloud_issues_tokens_and_keeps_images, [NODE, &[
        Need::Tool(Tool::Dex),
        Need::Tool(Tool::Helm),
        Need::Judges,
        Need::S3,
        Need::MariaDb,
        Need::Memcached,
        Need::Service("keystone", "2025.2"),
        Need::Service("glance", "2025.2"),
        Need::Service("placement", "2025.2"),
    ]]),
    scenario!(Long, 180 s, pods_run_are_found_by_name_and_leave_nothing, [NODE]),
    scenario!(Long, 180 s, nothing_is_left_of_a_scenario_that_is_killed, [NODE]),
    scenario!(Long, 120 s, hypervisors::hypervisors_join_a_cluster_and_its_networks, [NODE]),
    scenario!(Fixture, 600 s, is_killed, [NODE]),
];

const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");
const JOB: Kind = kind("batch/v1", "Job");
const POD: Kind = kind("v1", "Pod");
const SECRET: Kind = kind("v1", "Secret");

/// Where a scenario that is to be killed says which folder it has.
const FOLDER_FILE: &str = "LAB_FOLDER_FILE";

fn pods_run_are_found_by_name_and_leave_nothing() -> Result<()> {
    let traces = lab::on_a_bare_machine(async |machine| {
        let (cluster, node) = up(&machine).await?;
        let traces = Traces::of(machine.folder())?;
        cluster.apply(include_str!("web.yaml")).await?;
        eventually("the Deployment is available", minutes(3), async || {
            is(&cluster.get(DEPLOYMENT, "default/web").await?, "Available")
        })
        .await?;
        read(&cluster, &node, "hello").await?;

        let page = json!({"stringData": {"text": "goodbye"}});
        cluster.edit(SECRET, "default/page", page).await?;
        read(&cluster, &node, "goodbye").await?;

        cluster.delete(DEPLOYMENT, "default/web").await?;
        for word in ["hello", "goodbye"] {
            cluster
                .delete(JOB, &format!("default/reads-{word}"))
                .await?;
        }
        eventually("no pod is left", minutes(3), async || {
            let pods = cluster.list(POD, "").await?;
            ensure!(pods.is_empty(), "{} pods", pods.len());
            traces.no_container()
        })
        .await?;
        Ok(traces)
    })?;
    traces.nothing()
}

fn nothing_is_left_of_a_scenario_that_is_killed() -> Result<()> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("folder");
    let mut scenario = Command::new(env::current_exe()?)
        .args(["--exec", "node::is_killed"])
        .env(FOLDER_FILE, &file)
        .stdin(Stdio::null())
        .spawn()
        .context("cannot run the scenario")?;
    lab::on_a_bare_machine(async move |_| {
        let folder: PathBuf = eventually("a pod runs", minutes(10), async || {
            ensure!(scenario.try_wait()?.is_none(), "the scenario has ended");
            Ok(fs::read_to_string(&file)?.into())
        })
        .await?;
        let traces = Traces::of(&folder)?;
        ensure!(traces.nothing().is_err(), "there is nothing to be left");
        scenario.kill()?;
        scenario.wait()?;
        eventually("nothing is left", minutes(3), async || traces.nothing()).await?;
        Ok(fs::remove_dir_all(&folder)?)
    })
}

/// Runs until nothing_is_left_of_a_scenario_that_is_killed kills it.
fn is_killed() -> Result<()> {
    let Some(file) = env::var_os(FOLDER_FILE) else {
        return Ok(());
    };
    lab::on_a_bare_machine(async move |machine| {
        let (cluster, _node) = up(&machine).await?;
        cluster.apply(include_str!("web.yaml")).await?;
        eventually("the Deployment is available", minutes(3), async || {
            is(&cluster.get(DEPLOYMENT, "default/web").await?, "Available")
        })
        .await?;
        fs::write(file, machine.folder().as_os_str().as_encoded_bytes())?;
        tokio::time::sleep(minutes(10)).await;
        Ok(())
    })
}

async fn up(machine: &Arc<Machine>) -> Result<(Cluster, Node)> {
    let etcd = Etcd::start(machine)?;
    let cluster = Cluster::start(machine, &etcd, "control-plane").await?;
    let node = Node::start(machine, &cluster).await?;
    Ok((cluster, node))
}

/// Another pod reads a word on the page, which it finds by its Service's name.
async fn read(cluster: &Cluster, node: &Node, word: &str) -> Result<()> {
    let reader = include_str!("reader.yaml").replace("WORD", word);
    cluster.apply(&reader).await?;
    let job = format!("reads-{word}");
    eventually(&format!("{job} is done"), minutes(2), async || {
        is(
            &cluster.get(JOB, &format!("default/{job}")).await?,
            "Complete",
        )
    })
    .await?;
    let pods = cluster.list(POD, &format!("job-name={job}")).await?;
    let pod = pods
        .first()
        .and_then(|pod| pod.metadata.name.as_deref())
        .context("the Job has no pod")?;
    let said = node.logs(&format!("default/{pod}")).await?;
    ensure!(said.trim() == word, "the reader says {said:?}");
    Ok(())
}

/// What is to be looked for when a node is gone.
struct Traces {
    /// The folder of its scenario.
    folder: PathBuf,
    /// A process there.
    init: String,
    /// The namespace that all processes on it are in.
    namespace: PathBuf,
    /// While it is open, no other namespace is called the same.
    _held: File,
}

impl Traces {
    fn of(folder: &Path) -> Result<Self> {
        let init = fs::read_to_string(folder.join("node/init"))?;
        let init = init.trim().to_owned();
        let namespace = format!("/proc/{init}/ns/pid");
        Ok(Self {
            folder: folder.to_owned(),
            namespace: fs::read_link(&namespace)?,
            _held: File::open(namespace)?,
            init,
        })
    }

    /// No container runs, and none has files.
    fn no_container(&self) -> Result<()> {
        let shims: Vec<String> = self
            .processes()?
            .into_iter()
            .filter(|command| command.contains("containerd-shim"))
            .collect();
        ensure!(shims.is_empty(), "processes: {shims:?}");
        let mounts = fs::read_to_string(format!("/proc/{}/mountinfo", self.init))?;
        let mut left = mounts
            .lines()
            .filter(|mount| mount.contains(" - overlay ") || mount.contains("/volumes/"));
        ensure!(left.next().is_none(), "mounts: {mounts}");
        Ok(())
    }

    /// No process, mount or control group is left.
    fn nothing(&self) -> Result<()> {
        let processes = self.processes()?;
        ensure!(processes.is_empty(), "processes: {processes:?}");
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        ensure!(
            !mounts.contains(&*self.folder.to_string_lossy()),
            "mounts: {mounts}"
        );
        let name = self.folder.file_name().context("a folder without a name")?;
        let groups = Path::new("/sys/fs/cgroup");
        let hierarchies =
            fs::read_dir(groups)?.map(|hierarchy| hierarchy.map(|hierarchy| hierarchy.path()));
        for hierarchy in hierarchies.chain([Ok(groups.to_owned())]) {
            let group = hierarchy?.join(name);
            ensure!(!group.exists(), "control group {}", group.display());
        }
        let kept = self.folder.join("node");
        ensure!(!kept.exists(), "{} is there", kept.display());
        Ok(())
    }

    /// The commands of all processes that are on the node, or know of the scenario.
    fn processes(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for process in fs::read_dir("/proc")? {
            let process = process?.path();
            // Those that end meanwhile aren't left.
            let Ok(command) = fs::read(process.join("cmdline")) else {
                continue;
            };
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            let namespace = fs::read_link(process.join("ns/pid"));
            let is_there = namespace.is_ok_and(|namespace| namespace == self.namespace);
            if is_there || command.contains(&*self.folder.to_string_lossy()) {
                found.push(command);
            }
        }
        Ok(found)
    }
}
