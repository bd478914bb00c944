//! Clients take a database that was restored: at once where it still runs, and after a restart where it was lost and created anew.

use std::fs;

use lab::{Context, Image, Kind, Result, ensure, eventually, kind, minutes};
use serde_json::json;

use super::{Network, USER};

const CLAIM: Kind = kind("v1", "PersistentVolumeClaim");
const CONFIG_MAP: Kind = kind("v1", "ConfigMap");
const CRON_JOB: Kind = kind("batch/v1", "CronJob");
const POD: Kind = kind("v1", "Pod");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");
const VOLUME: Kind = kind("v1", "PersistentVolume");

/// A client of the northbound database that keeps its index, as Neutron does.
const NEUTRON: (&str, &str) = ("neutron", include_str!("neutron.sh"));
/// What follows the southbound database on a node.
const NODE: (&str, &str) = ("node", include_str!("node.sh"));
/// The pods of northd and of relays.
const DAEMONS: &str =
    "app.kubernetes.io/name=ovn,app.kubernetes.io/component in (northd, sb-relay)";
/// Makes more changes than a new database has. Clients take a database with fewer changes than they know for an outdated copy.
const CHANGES: &str =
    "for number in $(seq 100); do ovn-nbctl --timeout=30 ls-add \"changed-$number\"; done";
/// What a client says whose time is up: it still waits for a database that isn't outdated.
const TIMED_OUT: &str = "Alarm clock";
/// Prints the switch that the node's port is on, once the node has it.
const PLACE: &str = "
ask='ovn-sbctl --timeout=10 --no-leader-only'
place=$($ask --bare --columns=datapath find Port_Binding logical_port=port up=true)
$ask get Datapath_Binding \"$place\" external_ids:name";

pub fn clients_take_a_restored_database() -> Result<()> {
    let image = Image::ovn()?;
    lab::on_a_bare_machine(async move |machine| {
        let spec = json!({ "backup": { "schedule": "@yearly" }, "relay": { "replicas": 1 } });
        let network = Network::start(&machine, &image, spec).await?;
        network.is_ready().await?;
        let clients = Clients {
            network: &network,
            image: image.name(),
        };
        clients.start(NODE).await?;
        clients.start(NEUTRON).await?;
        clients.connect_neutron().await?;
        clients.write("first").await?;
        let neutron = network.member("neutron").await?;
        neutron.run(&["sh", "-ec", CHANGES])?;
        network.back_up().await?;

        clients.write("second").await?;
        network.restore().await?;
        clients.see("first").await?;
        clients.write("third").await?;

        network.replace("nb").await?;
        network.has_members(&[0, 1, 2]).await?;
        network.restore().await?;
        let taken = clients.neutron(&["--timeout=10", "ls-list"]).await;
        let waited = taken.as_ref().err().map(ToString::to_string);
        ensure!(
            waited.is_some_and(|error| error.contains(TIMED_OUT)),
            "a client that wasn't restarted doesn't wait for the former database: {taken:?}"
        );
        network.restart_daemons().await?;
        clients.start(NEUTRON).await?;
        clients.connect_neutron().await?;
        clients.see("first").await?;
        clients.write("fourth").await?;

        network.replace("sb").await?;
        network.restart_daemons().await?;
        clients.start(NODE).await?;
        clients.see("fourth").await?;
        clients.write("fifth").await?;
        network.cloud.roles_suffice()
    })
}

/// Programs that stay connected to the databases, each in a pod of its own.
struct Clients<'a> {
    network: &'a Network,
    /// The image that they run.
    image: &'a str,
}

impl Clients<'_> {
    /// Starts one of them, by its name and script. One that runs is replaced.
    async fn start(&self, (name, script): (&str, &str)) -> Result<()> {
        let (network, cluster) = (self.network, self.network.cluster());
        let pod = format!("openstack/{name}");
        if cluster.find(POD, &pod).await?.is_some() {
            cluster.delete(POD, &pod).await?;
        }
        let what = format!("the former {name} has ended");
        eventually(&what, minutes(1), async || cluster.gone(POD, &pod).await).await?;
        let file = format!("{name}.sh");
        network.cloud.give(name, &file, script).await?;
        let manifest = include_str!("client.yaml")
            .replace("NAME", name)
            .replace("IMAGE", self.image)
            .replace("NB_REMOTE", &network.endpoint("northbound").await?)
            .replace("SB_REMOTE", &network.endpoint("southbound").await?);
        cluster.apply(&manifest).await.map(drop)
    }

    /// Waits until Neutron's client has a copy of the northbound database.
    async fn connect_neutron(&self) -> Result<()> {
        let list = ["--timeout=10", "ls-list"];
        eventually("Neutron is connected", minutes(2), async || {
            self.neutron(&list).await.map(drop)
        })
        .await
    }

    /// Asks Neutron's client.
    async fn neutron(&self, words: &[&str]) -> Result<String> {
        let client = self.network.member("neutron").await?;
        client.run(&[&["ovn-nbctl"][..], words].concat())
    }

    /// Moves the node's port to a new switch, and waits until it is there.
    async fn write(&self, switch: &str) -> Result<()> {
        let remove = [
            "--wait=sb",
            "--timeout=120",
            "--if-exists",
            "lsp-del",
            "port",
        ];
        self.neutron(&remove).await?;
        let add = [
            "--timeout=60",
            "ls-add",
            switch,
            "--",
            "lsp-add",
            switch,
            "port",
        ];
        self.neutron(&add).await?;
        self.see(switch).await
    }

    /// Waits until northd, the node and Neutron's client have the node's port on a switch.
    async fn see(&self, switch: &str) -> Result<()> {
        let what = format!("the port is on switch {switch}");
        eventually(&what, minutes(3), async || {
            let southbound = self.network.member("ovn-sb-0").await?;
            let place = southbound.run(&["sh", "-ec", PLACE])?;
            ensure!(place == switch, "the port is on {place}");
            let state = self
                .neutron(&["--timeout=10", "lsp-get-up", "port"])
                .await?;
            ensure!(state == "up", "for Neutron, the port is {state}");
            Ok(())
        })
        .await
    }
}

impl Network {
    /// Runs the schedule's Job now.
    async fn back_up(&self) -> Result<()> {
        let cron = self.cluster().get(CRON_JOB, "openstack/ovn-backup").await?;
        self.cloud.run_now(&cron, "backup").await?;
        self.cloud.says("backup").await.map(drop)
    }

    /// Restores the northbound database, as docs/ovn.md says.
    async fn restore(&self) -> Result<()> {
        let node = &self.cloud.node;
        let files = fs::read_dir(node.folder("ovn-backup", USER)?)?;
        let mut files = files.filter_map(|file| Some(file.ok()?.path()));
        let backup = files.find(|file| {
            file.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("nb-"))
        });
        let backup = backup.context("there is no backup of the northbound database")?;
        // As `kubectl exec --stdin` hands it in, by the volume that a member has.
        let copy = node.folder("data-ovn-nb-0", USER)?.join("backup");
        fs::copy(backup, &copy)?;
        std::os::unix::fs::chown(&copy, Some(USER), Some(USER))?;
        let restore = "ovsdb-client --timeout=60 restore unix:/run/ovn/db.sock OVN_Northbound < /var/lib/ovn/backup";
        let member = self.member("ovn-nb-0").await?;
        member.run(&["sh", "-c", restore]).map(drop)
    }

    /// Has a database created anew, as docs/ovn.md says of one whose members have lost their volumes.
    async fn replace(&self, database: &str) -> Result<()> {
        let (cluster, name) = (self.cluster(), format!("openstack/ovn-{database}"));
        let operator = self.cloud.operator("ovn")?;
        operator.stop()?;
        cluster.delete(STATEFUL_SET, &name).await?;
        let record = format!("{name}-cluster");
        cluster.delete(CONFIG_MAP, &record).await?;
        let claims = [0, 1, 2].map(|ordinal| format!("data-ovn-{database}-{ordinal}"));
        for claim in &claims {
            cluster.delete(CLAIM, &format!("openstack/{claim}")).await?;
        }
        for claim in &claims {
            let former = format!("openstack/{claim}");
            eventually("members have ended", minutes(3), async || {
                cluster.gone(CLAIM, &former).await
            })
            .await?;
            // A volume isn't offered to a second claim.
            cluster.delete(VOLUME, claim).await?;
            eventually("their volumes are gone", minutes(1), async || {
                cluster.gone(VOLUME, claim).await
            })
            .await?;
            fs::remove_dir_all(self.cloud.node.folder(claim, USER)?)?;
            super::volume(&self.cloud, claim).await?;
        }
        operator.start().await?;
        eventually("there is a new database", minutes(4), async || {
            let set = cluster.get(STATEFUL_SET, &name).await?;
            let status = &set.data["status"];
            ensure!(status["readyReplicas"] == 3, "{status}");
            Ok(())
        })
        .await
    }

    /// Restarts northd and relays, and waits until the southbound database has what the northbound one says, as docs/ovn.md does.
    async fn restart_daemons(&self) -> Result<()> {
        for pod in self.cluster().list(POD, DAEMONS).await? {
            let name = pod.metadata.name.context("a pod has no name")?;
            let pod = format!("openstack/{name}");
            self.cluster().delete(POD, &pod).await?;
        }
        let member = self.member("ovn-nb-0").await?;
        let sync = [
            "ovn-nbctl",
            "--no-leader-only",
            "--timeout=180",
            "--wait=sb",
            "sync",
        ];
        member.run(&sync).map(drop)
    }
}
