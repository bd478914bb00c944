//! OVN's databases in pods: members that die, lose their volume, come and leave, and databases that are restored.

mod leaving;
mod restored;

use std::sync::Arc;

use lab::{
    Cloud, Cluster, Container, Context, Image, Kind, Machine, Operator, Result, bail, ensure,
    eventually, is, kind, minutes,
};
use serde_json::{Value, json};

use lab::scenario;
use lab::suite::{NODE, Need, Scenario};
use lab::tools::Tool;

const OVN: &[Need] = &[
    Need::Tool(Tool::Helm),
    Need::Tool(Tool::CertManager),
    Need::Ovn,
];

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Cloud, 240 s, members_are_added_and_replaced, [NODE, OVN]),
    scenario!(Cloud, 420 s, restored::clients_take_a_restored_database, [NODE, OVN]),
    scenario!(Long, 900 s, leaving::members_leave_while_a_client_writes, [NODE, OVN]),
];

const CLUSTER: Kind = kind("ovn.c5c3.io/v1alpha1", "OVNCluster");
const CHASSIS: Kind = kind("ovn.c5c3.io/v1alpha1", "OVNChassis");
const HYPERVISOR: Kind = kind("v1", "Node");
/// The user that members run as.
const USER: u32 = 42424;
const NORTHBOUND: &str = "OVN_Northbound";

fn members_are_added_and_replaced() -> Result<()> {
    // Built before anything waits for it.
    let image = Image::ovn()?;
    lab::on_a_bare_machine(async move |machine| {
        let network =
            Network::start(&machine, &image, json!({ "northbound": { "replicas": 1 } })).await?;
        network.is_ready().await?;
        let first = network.member("ovn-nb-0").await?;
        first.run(&["ovn-nbctl", "ls-add", "kept"])?;
        let cluster = identity(&first)?;

        network.knows_its_nodes().await?;

        network.scale(3).await?;
        network.has_members(&[0, 1, 2]).await?;

        for ordinal in [1, 0] {
            let name = format!("ovn-nb-{ordinal}");
            let before = server(&network.member(&name).await?)?;
            let lost = "rm /var/lib/ovn/nb.db; kill -9 $(pgrep -x ovsdb-server)";
            network.member(&name).await?.run(&["sh", "-c", lost])?;
            network.has_members(&[0, 1, 2]).await?;
            let member = network.member(&name).await?;
            ensure!(server(&member)? != before, "{name} has not lost its volume");
            ensure!(
                identity(&member)? == cluster,
                "{name} has created a second cluster"
            );
            network.keeps(&name, "kept").await?;
        }

        let killed = "kill -9 $(pgrep -x ovsdb-server)";
        network
            .member("ovn-nb-2")
            .await?
            .run(&["sh", "-c", killed])?;
        network.has_members(&[0, 1, 2]).await?;
        network.lists_servers(&[0, 1, 2]).await?;
        network.cloud.roles_suffice()
    })
}

/// An OVNCluster `ovn` whose connections cert-manager's certificates encrypt.
struct Network {
    cloud: Cloud,
    _cert_manager: Operator,
}

impl Network {
    /// Starts it with three members of each database, and five volumes for each.
    async fn start(machine: &Arc<Machine>, image: &Image, spec: Value) -> Result<Self> {
        let mut cloud = Cloud::bare(machine, std::slice::from_ref(image)).await?;
        let cluster = cloud.cluster.clone();
        cluster.install_our_kinds().await?;
        let cert_manager = Operator::cert_manager(machine, &cluster).await?;
        cloud.install(machine, "ovn").await?;
        cluster.apply(include_str!("namespace.yaml")).await?;
        let authority = machine.authority().identity();
        cluster
            .put_certificate("openstack/authority", authority, None)
            .await?;
        for database in ["nb", "sb"] {
            for ordinal in 0..5 {
                volume(&cloud, &format!("data-ovn-{database}-{ordinal}")).await?;
            }
        }
        volume(&cloud, "ovn-backup").await?;
        let network = json!({
            "apiVersion": "ovn.c5c3.io/v1alpha1",
            "kind": "OVNCluster",
            "metadata": {"name": "ovn", "namespace": "openstack"},
            "spec": {"tls": {"issuerRef": {"name": "site"}}},
        });
        let mut network = network;
        if let (Some(all), Some(given)) = (network["spec"].as_object_mut(), spec.as_object()) {
            all.extend(given.clone());
        }
        cluster.apply(&network.to_string()).await?;
        Ok(Self {
            cloud,
            _cert_manager: cert_manager,
        })
    }

    fn cluster(&self) -> &Cluster {
        &self.cloud.cluster
    }

    async fn is_ready(&self) -> Result<()> {
        eventually("the OVNCluster is Ready", minutes(3), async || {
            is(
                &self.cluster().get(CLUSTER, "openstack/ovn").await?,
                "Ready",
            )
        })
        .await
    }

    /// Where the members of a database listen, as OVSDB writes it.
    async fn endpoint(&self, database: &str) -> Result<String> {
        let found = self.cluster().get(CLUSTER, "openstack/ovn").await?;
        let endpoint = found.data["status"]["endpoints"][database].as_str();
        let endpoint = endpoint.map(str::to_owned);
        endpoint.with_context(|| format!("the {database} database has no endpoint yet"))
    }

    /// A pod's container.
    async fn member(&self, pod: &str) -> Result<Container> {
        self.cloud.node.container(&format!("openstack/{pod}")).await
    }

    async fn scale(&self, replicas: u32) -> Result<()> {
        let change = json!({ "spec": { "northbound": { "replicas": replicas } } });
        let edited = self.cluster().edit(CLUSTER, "openstack/ovn", change);
        edited.await.map(drop)
    }

    /// Waits until the northbound database has these members and no others, all of them connected.
    async fn has_members(&self, ordinals: &[u32]) -> Result<()> {
        let expected: Vec<String> = ordinals
            .iter()
            .map(|ordinal| format!("ovn-nb-{ordinal}"))
            .collect();
        eventually(
            &format!("members are {expected:?}"),
            minutes(5),
            async || {
                for pod in &expected {
                    let member = self.member(pod).await?;
                    member.run(&["sh", "/etc/ovn/cluster/member.sh", "ready"])?;
                    let status = status(&member)?;
                    let servers = status.lines().skip_while(|line| *line != "Servers:");
                    let mut hosts: Vec<&str> = servers
                        .filter_map(|line| line.split_once("ssl:")?.1.split('.').next())
                        .collect();
                    hosts.sort_unstable();
                    ensure!(hosts == expected, "{pod}: {hosts:?}");
                }
                Ok(())
            },
        )
        .await
    }

    /// Waits until each member's own copy lists the servers of the cluster, as its script reads the list.
    async fn lists_servers(&self, ordinals: &[u32]) -> Result<()> {
        const LISTED: &str = r#"set -- none; . /etc/ovn/cluster/member.sh; listed "$socket""#;
        eventually("the servers are listed", minutes(2), async || {
            for ordinal in ordinals {
                let member = self.member(&format!("ovn-nb-{ordinal}")).await?;
                let listed = member.run(&["sh", "-c", LISTED])?;
                let status = status(&member)?;
                let servers = status.lines().skip_while(|line| *line != "Servers:");
                let mut servers: Vec<&str> = servers
                    .skip(1)
                    .filter_map(|line| line.split_whitespace().next())
                    .collect();
                servers.sort_unstable();
                ensure!(
                    listed == servers.join(" "),
                    "ovn-nb-{ordinal} lists {listed:?}, not {servers:?}"
                );
            }
            Ok(())
        })
        .await
    }

    /// Whether a member's own copy has a switch.
    async fn keeps(&self, pod: &str, switch: &str) -> Result<()> {
        let member = self.member(pod).await?;
        let listed = member.run(&[
            "ovn-nbctl",
            "--no-leader-only",
            "--bare",
            "--columns=name",
            "list",
            "Logical_Switch",
        ])?;
        ensure!(
            listed.lines().any(|line| line == switch),
            "{pod} has {listed:?}"
        );
        Ok(())
    }

    /// A node becomes an OVNChassis, which is connected once it is registered; deleted, it is removed from the southbound database.
    async fn knows_its_nodes(&self) -> Result<()> {
        let southbound = self.member("ovn-sb-0").await?;
        southbound.run(&[
            "ovn-sbctl",
            "--no-leader-only",
            "chassis-add",
            "hypervisor-1",
            "geneve",
            "192.0.2.1",
        ])?;
        self.cluster()
            .apply(include_str!("hypervisor.yaml"))
            .await?;
        let node = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "192.0.2.1" }] } });
        self.cluster()
            .set_status(HYPERVISOR, "hypervisor-1", node["status"].clone())
            .await?;
        eventually("the node is connected", minutes(2), async || {
            let chassis = self
                .cluster()
                .get(CHASSIS, "openstack/hypervisor-1")
                .await?;
            is(&chassis, "OVSConnected")?;
            let address = &chassis.data["status"]["address"];
            ensure!(address == "192.0.2.1", "the address is {address}");
            Ok(())
        })
        .await?;
        self.cluster().delete(HYPERVISOR, "hypervisor-1").await?;
        eventually("the node is removed", minutes(2), async || {
            self.cluster()
                .gone(CHASSIS, "openstack/hypervisor-1")
                .await?;
            let left = southbound.run(&[
                "ovn-sbctl",
                "--no-leader-only",
                "--bare",
                "--columns=name",
                "list",
                "Chassis",
            ])?;
            ensure!(left.is_empty(), "registered: {left}");
            Ok(())
        })
        .await
    }
}

/// A volume for the one claim of this name.
async fn volume(cloud: &Cloud, claim: &str) -> Result<()> {
    let volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": claim},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "openstack", "name": claim},
            "hostPath": {"path": cloud.node.folder(claim, USER)?},
        },
    });
    cloud.cluster.apply(&volume.to_string()).await.map(drop)
}

/// What a member says of its cluster.
fn status(member: &Container) -> Result<String> {
    member.run(&[
        "ovs-appctl",
        "--target=/run/ovn/server.ctl",
        "cluster/status",
        NORTHBOUND,
    ])
}

fn line(member: &Container, start: &str) -> Result<String> {
    let status = status(member)?;
    match status.lines().find(|line| line.starts_with(start)) {
        Some(line) => Ok(line.to_owned()),
        None => bail!("no line {start:?} in {status}"),
    }
}

fn identity(member: &Container) -> Result<String> {
    line(member, "Cluster ID:")
}

fn server(member: &Container) -> Result<String> {
    line(member, "Server ID:")
}
