//! What a tenant does with servers on two hypervisors.

use std::collections::BTreeSet;

use jiff::Timestamp;
use lab::{
    Ceph, Cloud, Container, Context, Fabric, Hypervisor, Kind, Result, ensure, eventually, is,
    kind, minutes,
};

use super::agents::agent_pod;
use super::laptop::Laptop;
use super::uplinks::Uplinks;
use super::{SERVICE_USER, storage, tasks};

const POD: Kind = kind("v1", "Pod");

/// The Secret with the tenant's clouds.yaml.
pub const CLOUDS: &str = "production-clouds";

/// The Secret with the clouds.yaml of K-ORC, an administrator, for what no tenant sees.
pub const ADMINISTRATOR: &str = "k-orc-clouds";

/// What Placement has of the hosts when no server is left.
const UNUSED: &str =
    "hypervisor-1 DISK_GB=0 MEMORY_MB=0 VCPU=0\nhypervisor-2 DISK_GB=0 MEMORY_MB=0 VCPU=0";

/// How often a server is pinged while its host's agents are replaced.
const PINGS_PER_SECOND: u8 = 5;

/// A tenant of a control plane, and what is behind it.
pub struct Tenant<'a> {
    /// The control plane's pods.
    pub cloud: &'a Cloud,
    /// Its name.
    pub control_plane: &'a str,
    /// Its hosts.
    pub hypervisors: [&'a Hypervisor; 2],
    /// The networks between them.
    pub fabric: &'a Fabric,
    /// Who connects them to the physical one.
    pub uplinks: Uplinks,
    /// The availability zone of its servers.
    pub zone: &'a str,
    /// Where it works.
    pub place: Place<'a>,
    /// Where volumes and images are.
    pub ceph: &'a Ceph,
    /// Where volumes of another type are, if there is one.
    pub other: Option<&'a Ceph>,
    /// Where disks of servers are.
    pub disks: Disks,
    /// Where backups of volumes are.
    pub backups: &'a Ceph,
}

/// Where a tenant works.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// In pods beside the control plane, with the clouds.yaml of this Secret.
    Pods(&'a str),
    /// Outside, where only public addresses are reached.
    Outside(&'a Laptop<'a>),
}

/// Where disks of servers are.
#[derive(Clone, Copy)]
pub enum Disks {
    /// On their hosts.
    Hosts,
    /// In Ceph.
    Ceph,
}

impl Tenant<'_> {
    /// Boots two servers, uses them in every way, and deletes them. The agents must be Ready. Returns when the first server was ACTIVE.
    pub async fn works(&self) -> Result<Timestamp> {
        let (address, active) = self.boots().await?;
        self.agents_restart(&address).await?;
        self.uses_volumes().await?;
        self.uses_images().await?;
        self.moves().await?;
        self.console_logs_are_limited().await?;
        self.ends().await?;
        Ok(active)
    }

    /// Boots two servers that reach each other and the outside, and deletes them. The agents must be Ready. Returns when the first server
    /// was ACTIVE.
    pub async fn boots_and_deletes(&self) -> Result<Timestamp> {
        let (_, active) = self.boots().await?;
        self.ends().await?;
        Ok(active)
    }

    /// In the whole cloud there is nothing that tests created.
    pub async fn finds_nothing_of_tests(&self) -> Result<()> {
        tasks::give_modules(self.cloud).await?;
        let left = self.does_as(ADMINISTRATOR, "left").await?;
        ensure!(left.trim().is_empty(), "tests left:\n{left}");
        Ok(())
    }

    /// Boots two servers, and returns the floating IP of one, and when the first server was ACTIVE.
    async fn boots(&self) -> Result<(String, Timestamp)> {
        let fabric = self.fabric;
        self.uplinks
            .connect(self.control_plane, self.hypervisors)
            .await?;
        tasks::give_modules(self.cloud).await?;
        self.does("alone").await?;
        let booted = self.does("boot").await?;
        println!("two servers: {}", booted.trim());
        let booted: serde_json::Value = serde_json::from_str(&booted)?;
        let text = |field: &str| booted[field].as_str().unwrap_or_default();
        let active = booted["active"].as_i64().context("no server was ACTIVE")?;
        let address = text("address");
        ensure!(text("zone") == self.zone, "{booted}");
        if let Disks::Ceph = self.disks {
            let disk = format!("{}_disk", text("server"));
            self.is_copy_on_write("ephemeral", &disk, text("image"))?;
        }
        let ping = ["ping", "-c", "1", "-W", "1", address];
        ensure!(
            fabric.run(&ping).is_err(),
            "{address} answers without a rule that allows it"
        );
        self.does("outside").await?;
        eventually("the floating IP answers", minutes(3), async || {
            fabric.run(&ping)
        })
        .await?;
        let url = format!("http://{address}/");
        let name = eventually("the server answers", minutes(1), async || {
            fabric.run(&["curl", "--silent", "--fail", "--max-time", "10", &url])
        })
        .await?;
        ensure!(
            name.trim() == format!("{}.novalocal", text("name")),
            "{name}"
        );
        storage::is_closed_to_tenants(self.ceph, self.hypervisors, fabric, address)?;
        Ok((address.to_owned(), Timestamp::from_millisecond(active)?))
    }

    /// Separates the two servers, looks at the console of one, and deletes them without a trace.
    async fn ends(&self) -> Result<()> {
        self.does("block").await?;
        let protocol = self.does("display").await?;
        ensure!(protocol.trim() == "RFB 003.008", "{protocol}");
        self.deletes_servers().await?;
        let usages = self.does_as(ADMINISTRATOR, "usages").await?;
        ensure!(usages.trim() == UNUSED, "{usages}");
        self.nothing_is_left().await
    }

    /// Boots one more server.
    pub async fn boots_again(&self) -> Result<()> {
        self.does("again").await.map(drop)
    }

    /// Deletes the servers, with their disks.
    pub async fn deletes_servers(&self) -> Result<()> {
        self.does("delete").await?;
        match self.disks {
            Disks::Ceph => self.has_no_images("ephemeral"),
            Disks::Hosts => Ok(()),
        }
    }

    /// Deletes the images.
    pub async fn deletes_images(&self) -> Result<()> {
        self.does("no-images").await?;
        self.has_no_images("images")
    }

    /// Runs a task of tenant.py, and returns what it prints.
    async fn does(&self, task: &str) -> Result<String> {
        match self.place {
            Place::Pods(clouds) => self.does_as(clouds, task).await,
            Place::Outside(laptop) => laptop.run(task).await,
        }
    }

    /// Runs a task of tenant.py in a pod, with a clouds.yaml. It can be run again.
    pub async fn does_as(&self, clouds: &str, task: &str) -> Result<String> {
        self.starts("tenant", clouds, task).await?;
        self.ended(task).await
    }

    /// Starts a task of a script with a clouds.yaml.
    pub async fn starts(&self, script: &str, clouds: &str, task: &str) -> Result<()> {
        tasks::starts(self.cloud, script, clouds, task).await
    }

    /// Waits for the end of a task, and returns what it printed. It can be run again.
    pub async fn ended(&self, task: &str) -> Result<String> {
        tasks::ended(self.cloud, task).await
    }

    /// Agents are replaced on the host of a server, which answers pings meanwhile.
    async fn agents_restart(&self, address: &str) -> Result<()> {
        let (fabric, [hypervisor, _]) = (self.fabric, self.hypervisors);
        let log = self.cloud.node.folder("pings", SERVICE_USER)?.join("log");
        let log = log.to_str().context("the folder's path isn't UTF-8")?;
        let interval = 1.0 / f64::from(PINGS_PER_SECOND);
        let ping = format!("ping -i {interval} {address} > {log} 2>&1 < /dev/null & echo $!");
        let process = fabric.run(&["sh", "-c", &ping])?;
        for agent in [
            "ovn-controller",
            "nova-compute",
            "neutron-ovn-agent",
            "libvirt",
        ] {
            let old = self.pod(hypervisor, agent).await?;
            hypervisor.cluster().delete(POD, &old).await?;
            eventually(&format!("{agent} is back"), minutes(5), async || {
                let new = self.pod(hypervisor, agent).await?;
                ensure!(new != old, "{old} is still there");
                is(&hypervisor.cluster().get(POD, &new).await?, "Ready")
            })
            .await?;
        }
        fabric.run(&["kill", "-INT", process.trim()])?;
        let pings = fabric.run(&["sh", "-c", &format!("sleep 1; cat {log}")])?;
        let end: Vec<&str> = pings.lines().rev().take(2).collect();
        println!("pings while four agents were replaced: {end:?}");
        let (sent, lost) = lost(&pings)?;
        // A busy machine loses one now and then.
        let gaps = lost.chunk_by(|one, next| one + 1 == *next);
        let longest = gaps.map(<[u32]>::len).max().unwrap_or_default();
        ensure!(
            lost.len() * 100 <= sent && longest <= usize::from(PINGS_PER_SECOND),
            "of {sent} pings {lost:?} are lost:\n{pings}"
        );
        Ok(())
    }

    /// Volumes and backups are used and deleted. Servers read on one host what was written on the other.
    async fn uses_volumes(&self) -> Result<()> {
        let done = self.does("volumes").await?;
        println!("volumes: {}", done.trim());
        let done: serde_json::Value = serde_json::from_str(&done)?;
        let text = |field: &str| done[field].as_str().unwrap_or_default();
        let (volume, image) = (text("cloned"), text("image"));
        self.is_copy_on_write("volumes", &format!("volume-{volume}"), image)?;
        let booted: serde_json::Value =
            serde_json::from_str(&self.does("boot-from-volume").await?)?;
        let volume = booted["volume"].as_str().unwrap_or_default();
        self.is_copy_on_write("volumes", &format!("volume-{volume}"), image)?;
        if let Some(other) = self.other {
            let volume = format!("volume-{}", self.does("other-pool").await?.trim());
            let images = other.images(&self.pool("volumes"))?;
            ensure!(images == [volume], "the other pool has {images:?}");
        }
        let seconds = self.does("backups").await?;
        println!("a backup came back after {} s", seconds.trim());
        let backups = || self.backups.images(&self.pool("backups"));
        ensure!(!backups()?.is_empty(), "no backup is in its pool");
        self.does("no-volumes").await?;
        let left = backups()?;
        ensure!(left.is_empty(), "the pool of backups has {left:?}");
        // Cinder keeps deleted volumes that have clones under other names.
        self.has_no_images("volumes")
    }

    /// An image is uploaded slowly, and another is made of a server. Both are deleted, and nothing of them is left in Ceph.
    async fn uses_images(&self) -> Result<()> {
        let pool = self.pool("images");
        let before = self.ceph.images(&pool)?;
        let seconds = self.does("upload-slowly").await?;
        println!("an upload with a pause took {} s", seconds.trim());
        let copied = self.does("snapshot").await?;
        println!("an image of a server: {}", copied.trim());
        let after = self.ceph.images(&pool)?;
        ensure!(after == before, "{pool} has {after:?}, and had {before:?}");
        Ok(())
    }

    /// A server moves to the other host and back, and is off meanwhile. In pods there is an administrator, too, who migrates it; whoever is
    /// outside has it resized.
    async fn moves(&self) -> Result<()> {
        for hypervisor in self.hypervisors {
            let what = format!("other hosts can connect to {}", hypervisor.name());
            eventually(&what, minutes(2), async || {
                let pod = self.pod(hypervisor, "nova-migration").await?;
                is(&hypervisor.cluster().get(POD, &pod).await?, "Ready")
            })
            .await?;
        }
        let seconds = match self.place {
            Place::Pods(_) => self.does_as(ADMINISTRATOR, "move").await?,
            Place::Outside(laptop) => laptop.run("resize").await?,
        };
        println!(
            "a server moved to the other host and back in {} s",
            seconds.trim()
        );
        Ok(())
    }

    /// What was made of an image is a clone of it in Ceph.
    fn is_copy_on_write(&self, pool: &str, clone: &str, image: &str) -> Result<()> {
        let parent = self.ceph.parent(&self.pool(pool), clone)?;
        let expected = format!("{}/{image}@snap", self.pool("images"));
        ensure!(
            parent == expected,
            "{clone} is a copy of the image: its parent is {parent:?}"
        );
        Ok(())
    }

    fn has_no_images(&self, pool: &str) -> Result<()> {
        let left = self.ceph.images(&self.pool(pool))?;
        ensure!(left.is_empty(), "{pool} has {left:?}");
        Ok(())
    }

    /// A pool of Ceph.
    fn pool(&self, purpose: &str) -> String {
        format!("{}-{purpose}", self.control_plane)
    }

    /// A log that a server has filled begins anew.
    async fn console_logs_are_limited(&self) -> Result<()> {
        let libvirt = self.agent(self.hypervisors[0], "libvirt").await?;
        let fill = "cd /var/lib/nova/instances; mkdir filled; head --bytes=17M /dev/zero > filled/console.log";
        libvirt.run(&["sh", "-euc", fill])?;
        eventually("the log is empty", minutes(3), async || {
            let size = [
                "stat",
                "--format=%s",
                "/var/lib/nova/instances/filled/console.log",
            ];
            let size = libvirt.run(&size)?;
            ensure!(size == "0", "{size} bytes");
            Ok(())
        })
        .await
    }

    /// No server is left in libvirt, and no port of one in OVN.
    async fn nothing_is_left(&self) -> Result<()> {
        for hypervisor in self.hypervisors {
            let libvirt = self.agent(hypervisor, "libvirt").await?;
            let servers = libvirt.run(&["virsh", "list", "--all", "--name"])?;
            ensure!(servers.is_empty(), "{}: {servers}", hypervisor.name());
        }
        let northbound = format!("{}/ovn-nb-0", self.cloud.namespace());
        let northbound = self.cloud.node.container(&northbound).await?;
        // Ports of servers are of no type, those of routers, DHCP and metadata are.
        let ports = northbound.run(&[
            "ovn-nbctl",
            "--bare",
            "--columns=name",
            "find",
            "Logical_Switch_Port",
            "type=\"\"",
        ])?;
        ensure!(ports.is_empty(), "{ports}");
        Ok(())
    }

    /// The only container of an agent's pod.
    async fn agent(&self, hypervisor: &Hypervisor, agent: &str) -> Result<Container> {
        let pod = self.pod(hypervisor, agent).await?;
        hypervisor.container(&pod).await
    }

    /// The name of an agent's pod.
    async fn pod(&self, hypervisor: &Hypervisor, agent: &str) -> Result<String> {
        agent_pod(hypervisor, self.control_plane, agent).await
    }
}

/// How many pings were sent, and the numbers of those that weren't answered, by ping's output. Those of the last two seconds may be on
/// their way when ping is stopped.
fn lost(pings: &str) -> Result<(usize, Vec<u32>)> {
    let answers = pings.lines().filter(|line| line.contains(" bytes from "));
    let numbers = answers.filter_map(|line| {
        let (_, number) = line.split_once(" icmp_seq=")?;
        number.split(' ').next()?.parse().ok()
    });
    let answered: BTreeSet<u32> = numbers.collect();
    let sent = pings.lines().find_map(|line| {
        let (sent, _) = line.split_once(" packets transmitted")?;
        sent.parse::<u32>().ok()
    });
    let sent = sent.context("ping reports nothing")?;
    ensure!(sent > 10, "only {sent} pings were sent:\n{pings}");
    let last = answered.last().copied().unwrap_or_default();
    let settled = last.max(sent.saturating_sub(2 * u32::from(PINGS_PER_SECOND)));
    let lost = (1..=settled).filter(|number| !answered.contains(number));
    Ok((usize::try_from(sent)?, lost.collect()))
}
