//! Members leave while a client writes, and a backup brings back what was deleted.

use lab::{Image, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::json;

use super::{Network, line};

const CRON_JOB: Kind = kind("batch/v1", "CronJob");
const JOB: Kind = kind("batch/v1", "Job");
/// Writes a switch after the other, and says when each was written: its number, and the milliseconds that it took.
const WRITER: &str = include_str!("writer.sh");

pub fn members_leave_while_a_client_writes() -> Result<()> {
    let image = Image::ovn()?;
    lab::on_a_bare_machine(async move |machine| {
        let spec = json!({ "backup": { "schedule": "@yearly" } });
        let network = Network::start(&machine, &image, spec).await?;
        network.is_ready().await?;
        network.has_members(&[0, 1, 2]).await?;
        let northbound = format!("NORTHBOUND={}", endpoint(&network).await?);
        let writer = network.member("ovn-sb-0").await?;
        writer.run(&[
            "sh",
            "-c",
            &format!("({northbound}; {WRITER}) > /tmp/writes 2>&1 & echo started"),
        ])?;

        network.scale(5).await?;
        network.has_members(&[0, 1, 2, 3, 4]).await?;
        for _ in 0..2 {
            let leader = network.leader(&[0, 1, 2, 3, 4]).await?;
            let killed = "kill -9 $(pgrep -x ovsdb-server)";
            let killed = network.member(&leader).await?.run(&["sh", "-c", killed]);
            killed.map(drop)?;
            network.has_members(&[0, 1, 2, 3, 4]).await?;
        }
        network.scale(3).await?;
        network.has_members(&[0, 1, 2]).await?;

        writer.run(&["touch", "/tmp/stop"])?;
        let writes = eventually("the client has ended", minutes(3), async || {
            let writes = writer.run(&["cat", "/tmp/writes"])?;
            ensure!(writes.ends_with("done"), "it still writes");
            Ok(writes)
        })
        .await?;
        let took = writes
            .lines()
            .filter_map(|line| line.split_once(' ')?.1.parse::<u64>().ok());
        let took: Vec<u64> = took.collect();
        println!(
            "{} writes, the slowest took {} ms",
            took.len(),
            took.iter().max().copied().unwrap_or_default()
        );
        let listed =
            "ovn-nbctl --no-leader-only --bare --columns=name list Logical_Switch | grep -c .";
        let count = network
            .member("ovn-nb-1")
            .await?
            .run(&["sh", "-c", listed])?;
        ensure!(
            count == took.len().to_string(),
            "{count} of {} writes are left",
            took.len()
        );

        network.backs_up().await?;
        network.cloud.roles_suffice()
    })
}

impl Network {
    /// The pod of the northbound database's leader.
    async fn leader(&self, ordinals: &[u32]) -> Result<String> {
        eventually("there is a leader", minutes(3), async || {
            for ordinal in ordinals {
                let pod = format!("ovn-nb-{ordinal}");
                if line(&self.member(&pod).await?, "Role:")? == "Role: leader" {
                    return Ok(pod);
                }
            }
            lab::bail!("nobody leads")
        })
        .await
    }

    /// A backup that is restored has what was deleted since.
    async fn backs_up(&self) -> Result<()> {
        let member = self.member("ovn-nb-0").await?;
        member.run(&["ovn-nbctl", "--no-leader-only", "ls-add", "restored"])?;
        let cron = self.cluster().get(CRON_JOB, "openstack/ovn-backup").await?;
        let job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": "backup", "namespace": "openstack" },
            "spec": cron.data["spec"]["jobTemplate"]["spec"],
        });
        self.cluster().apply(&job.to_string()).await?;
        eventually("the backup is written", minutes(2), async || {
            is(
                &self.cluster().get(JOB, "openstack/backup").await?,
                "Complete",
            )
        })
        .await?;
        member.run(&["ovn-nbctl", "--no-leader-only", "ls-del", "restored"])?;
        let folder = self.cloud.node.folder("ovn-backup", super::USER)?;
        let files = std::fs::read_dir(folder)?;
        let mut files = files.filter_map(|file| Some(file.ok()?.path()));
        let backup = files.find(|file| {
            file.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("nb-"))
        });
        let backup = lab::Context::context(backup, "no backup of the northbound database")?;
        // As `kubectl exec --stdin` hands it in, by the volume that a member has.
        let copy = self
            .cloud
            .node
            .folder("data-ovn-nb-0", super::USER)?
            .join("backup");
        std::fs::copy(backup, &copy)?;
        std::os::unix::fs::chown(&copy, Some(super::USER), Some(super::USER))?;
        let restore =
            "ovsdb-client restore unix:/run/ovn/db.sock OVN_Northbound < /var/lib/ovn/backup";
        self.member("ovn-nb-0").await?.run(&["sh", "-c", restore])?;
        self.keeps("ovn-nb-0", "restored").await
    }
}

async fn endpoint(network: &Network) -> Result<String> {
    let found = network
        .cluster()
        .get(super::CLUSTER, "openstack/ovn")
        .await?;
    let endpoint = &found.data["status"]["endpoints"]["northbound"];
    let endpoint = endpoint.as_str().map(str::to_owned);
    lab::Context::context(endpoint, "no endpoint yet")
}
