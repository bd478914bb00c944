//! A hypervisor pool that two control planes share, with the real operator: nodes join and change hands while operator and API
//! server are killed. Nodes, agents and both Novas are simulated.

mod evictions;
pub mod leases;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use c5c3_api::custom_resource;
use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;
use lab::{
    Build, Cluster, Etcd, Gate, Kind, Machine, Nova, Program, Result, ensure, eventually, kind,
    minutes, never, our_program, scenario, seconds,
};
use serde_json::json;

use leases::Leases;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 120 s, node_of_a_shared_pool_never_has_two_control_planes, [CLUSTER]),
    scenario!(Gate strict, 90 s, evictions::pod_on_a_leased_node_is_not_evicted, [CLUSTER, &[Need::Tool(Tool::KubeScheduler)]]),
];

const POD: Kind = kind("v1", "Pod");
const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");
const OPERATOR: &str = "hypervisor-pool-operator";
const USER: &str = "system:serviceaccount:default:hypervisor-pool-operator";

fn node_of_a_shared_pool_never_has_two_control_planes() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let site = Site::open(machine).await?;
        tokio::select! {
            ended = site.agents() => ended,
            ended = site.run() => ended,
        }
    })
}

/// A cluster with a pool and two shares.
struct Site {
    machine: Arc<Machine>,
    cluster: Cluster,
    /// The cluster as the operator's account sees it.
    account: Cluster,
    leases: Leases,
    /// By control plane.
    novas: BTreeMap<&'static str, Nova>,
}

impl Site {
    async fn open(machine: Arc<Machine>) -> Result<Self> {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "hypervisors").await?;
        for definition in [
            custom_resource::<HypervisorPoolSpec>(),
            custom_resource::<HypervisorShareSpec>(),
        ] {
            cluster.apply(&definition.to_string()).await?;
        }
        let mut novas = BTreeMap::new();
        for control_plane in ["a", "b"] {
            novas.insert(control_plane, Nova::start(&machine).await?);
        }
        Ok(Self {
            account: cluster.account(OPERATOR).await?,
            leases: Leases::watch(cluster.client()),
            machine,
            cluster,
            novas,
        })
    }

    async fn run(&self) -> Result<()> {
        let nodes: Vec<String> = (0..500).map(|number| format!("node-{number:03}")).collect();
        let created = stream::iter(&nodes).map(|name| self.create(name));
        created.buffer_unordered(8).try_collect::<()>().await?;
        self.pool().await?;
        for control_plane in self.novas.keys() {
            self.share(control_plane).await?;
        }

        // Killed in the middle of the first division.
        self.killed_after(100).await?;
        self.start(&self.account)?;
        self.have([250, 250]).await?;

        let since = self.cluster.audit()?.len();
        let joined: BTreeSet<String> = (500..505).map(|number| format!("node-{number}")).collect();
        let mut times = Vec::new();
        for name in &joined {
            times.push(self.join(name).await?);
        }
        println!("nodes are leased after {times:?}");
        self.have([253, 252]).await?;
        ensure!(self.written(since)? == joined, "{:?}", self.written(since)?);

        let since = self.cluster.audit()?.len();
        let moved = self.shrink().await?;
        self.machine.restart("kube-apiserver-hypervisors")?;
        eventually("the API server is back", minutes(2), async || {
            self.cluster.get(SHARE, "a").await.map(drop)
        })
        .await?;
        never("nodes with servers stay", seconds(3), async || {
            let draining = self.leases.of("a", Some("Draining"));
            ensure!(BTreeSet::from_iter(draining) == moved, "they don't");
            Ok(())
        })
        .await?;

        // Killed in the middle of the end of the leases.
        self.machine.kill(OPERATOR)?;
        self.novas["a"].state().servers.clear();
        self.killed_after(6).await?;
        self.start(&self.account)?;
        self.have([249, 256]).await?;
        let with_b = BTreeSet::from_iter(self.leases.of("b", None));
        ensure!(moved.is_subset(&with_b), "{moved:?} aren't in {with_b:?}");
        eventually(
            "both Novas have their hosts alone",
            minutes(1),
            async || {
                let hosts = |control_plane: &str| -> BTreeSet<String> {
                    let state = self.novas[control_plane].state();
                    state.services.keys().cloned().collect()
                };
                let both = (hosts("a").len(), hosts("b").len());
                ensure!(both == (249, 256) && hosts("b") == with_b, "{both:?}");
                Ok(())
            },
        )
        .await?;
        ensure!(self.written(since)? == moved, "{:?}", self.written(since)?);
        self.leases.are_exclusive()
    }

    /// Creates a Node as its kubelet does.
    async fn create(&self, name: &str) -> Result<()> {
        let number: usize = name.trim_start_matches("node-").parse()?;
        let node: Node = serde_json::from_value(json!({
            "metadata": { "name": name, "labels": {
                "node-role.kubernetes.io/hypervisor": "",
                "topology.kubernetes.io/zone": format!("zone-{}", number % 3),
            } },
            "status": {
                "capacity": { "cpu": "64", "memory": "256Gi", "pods": "110" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        }))?;
        let nodes = Api::<Node>::all(self.cluster.client());
        nodes.create(&PostParams::default(), &node).await?;
        Ok(())
    }

    async fn pool(&self) -> Result<()> {
        let pool = json!({
            "apiVersion": SHARE.api_version, "kind": "HypervisorPool", "metadata": { "name": "pool" },
            "spec": { "mode": "Shared" },
        });
        self.cluster.apply(&pool.to_string()).await.map(drop)
    }

    async fn share(&self, control_plane: &str) -> Result<()> {
        let nova = &self.novas[control_plane];
        nova.share(&self.cluster, control_plane, Some("2025.2"), json!({}))
            .await
    }

    fn start(&self, cluster: &Cluster) -> Result<()> {
        let program = Program::new(our_program(Build::Debug)?)
            .arg("operator")
            .arg("hypervisor-pool")
            .arg("--alone")
            .flag("address", format!("127.0.0.1:{}", self.machine.port()))
            .flag("kubeconfig", cluster.kubeconfig_file());
        self.machine.start(OPERATOR, &program)
    }

    /// Runs the operator until it has written so often, and kills it before it learns of the last write.
    async fn killed_after(&self, writes: usize) -> Result<()> {
        let gate = Gate::shut_after(&self.machine, &self.account, writes).await?;
        self.start(gate.cluster())?;
        eventually(&format!("{writes} writes"), minutes(1), async || {
            self.machine.check(OPERATOR)?;
            ensure!(gate.writes() == writes, "{} so far", gate.writes());
            Ok(())
        })
        .await?;
        self.machine.kill(OPERATOR)
    }

    /// Waits until both control planes have so many nodes whose lease doesn't end.
    async fn have(&self, nodes: [usize; 2]) -> Result<()> {
        eventually(&format!("{nodes:?} nodes"), minutes(2), async || {
            self.machine.check(OPERATOR)?;
            let leased = ["a", "b"].map(|control_plane| self.leases.of(control_plane, None).len());
            ensure!(leased == nodes, "{leased:?}");
            Ok(())
        })
        .await
    }

    /// Adds a node. Returns how long it takes until it is leased.
    async fn join(&self, name: &str) -> Result<Duration> {
        self.create(name).await?;
        let began = Instant::now();
        eventually(&format!("{name} is leased"), minutes(1), async || {
            let seen = self.leases.seen();
            let lease = seen.nodes.get(name);
            ensure!(
                lease.is_some_and(|lease| lease.control_plane.is_some()),
                "it isn't"
            );
            Ok(())
        })
        .await?;
        Ok(began.elapsed())
    }

    /// Lowers the share of `a`, whose nodes all have servers. Returns the nodes that are drained.
    async fn shrink(&self) -> Result<BTreeSet<String>> {
        let servers = self.leases.of("a", None).into_iter().map(|node| (node, 1));
        self.novas["a"].state().servers = servers.collect();
        let spec = json!({ "spec": { "maxHosts": 249 } });
        self.cluster.edit(SHARE, "a", spec).await?;
        eventually("nodes are drained", minutes(1), async || {
            let draining = BTreeSet::from_iter(self.leases.of("a", Some("Draining")));
            let state = self.novas["a"].state();
            let disabled = state.services.iter().filter(|(_, reason)| reason.is_some());
            let disabled: BTreeSet<String> = disabled.map(|(host, _)| host.clone()).collect();
            ensure!(
                draining.len() == 4 && disabled == draining,
                "{draining:?}, {disabled:?}"
            );
            Ok(draining)
        })
        .await
    }

    /// The nodes that the operator wrote after so many requests.
    fn written(&self, since: usize) -> Result<BTreeSet<String>> {
        let requests = self.cluster.audit()?.into_iter().skip(since);
        let written = requests.filter(|request| {
            request.user == USER
                && request.writes()
                && request.resource == "nodes"
                && request.code < 300
        });
        Ok(written.map(|request| request.name).collect())
    }

    /// Does what the agents of all nodes do.
    async fn agents(&self) -> Result<()> {
        let mut pods: BTreeMap<String, (String, &str)> = BTreeMap::new();
        loop {
            let nodes = self.leases.seen().nodes.clone();
            let mut wanted = BTreeMap::new();
            for (node, lease) in nodes {
                let Some(control_plane) = lease.control_plane else {
                    continue;
                };
                match lease.phase.as_deref() {
                    None => self.register(&control_plane, &node)?,
                    Some("Draining") => drop(wanted.insert(node, (control_plane, "drain"))),
                    Some("Wiping") => drop(wanted.insert(node, (control_plane, "wipe"))),
                    Some(_) => {}
                }
            }
            // What fails while the API server is away is tried again.
            for (node, pod) in pods.clone() {
                if wanted.get(&node) != Some(&pod) && self.end_pod(&node, &pod).await.is_ok() {
                    pods.remove(&node);
                }
            }
            for (node, pod) in wanted {
                if !pods.contains_key(&node) && self.run_pod(&node, &pod).await.is_ok() {
                    pods.insert(node, pod);
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// A node's nova-compute registers.
    fn register(&self, control_plane: &str, node: &str) -> Result<()> {
        for (other, nova) in &self.novas {
            let mut state = nova.state();
            if *other == control_plane {
                state.services.entry(node.to_owned()).or_default();
            } else {
                ensure!(
                    !state.services.contains_key(node),
                    "{other} still has {node}"
                );
            }
        }
        Ok(())
    }

    /// A pod reports by being Ready.
    async fn run_pod(&self, node: &str, (control_plane, component): &(String, &str)) -> Result<()> {
        let (name, namespace) = (
            format!("{component}-{node}"),
            format!("agents-{control_plane}"),
        );
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": namespace },
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": namespace, "labels": { "app.kubernetes.io/component": component },
            },
            "spec": {
                "nodeName": node, "automountServiceAccountToken": false,
                "containers": [{ "name": component, "image": component }],
            },
        });
        for object in [account, pod] {
            self.cluster.apply(&object.to_string()).await?;
        }
        let status = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
        let name = format!("{namespace}/{name}");
        self.cluster.set_status(POD, &name, status).await.map(drop)
    }

    async fn end_pod(&self, node: &str, (control_plane, component): &(String, &str)) -> Result<()> {
        let namespace = format!("agents-{control_plane}");
        let pods = Api::<Pod>::namespaced(self.cluster.client(), &namespace);
        let at_once = DeleteParams::default().grace_period(0);
        pods.delete(&format!("{component}-{node}"), &at_once)
            .await?;
        Ok(())
    }
}
