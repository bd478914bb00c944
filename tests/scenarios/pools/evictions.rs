//! What keeps Gardener's machine-controller-manager from deleting the machine of a leased node: it evicts the node's pods first, and one of
//! them isn't evicted before the lease has ended. Controllers and scheduler are Kubernetes' own; kubelets are simulated.

use k8s_openapi::api::core::v1::Pod;
use kube::api::EvictParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use lab::{
    Cluster, Context, Kind, Operator, Pods, Result, bail, ensure, eventually, is, kind, minutes,
    never, on_a_bare_machine, seconds,
};
use serde_json::json;

use super::leases::LEASE;
use super::{OPERATOR, SHARE, Site};

const NODE: Kind = kind("v1", "Node");
const BUDGET: Kind = kind("policy/v1", "PodDisruptionBudget");
const NAMESPACE: &str = "agents-a";
/// The node whose machine is deleted, and one that stays leased.
const NODES: [&str; 2] = ["node-000", "node-001"];
/// The controller that says how many pods of a budget may be evicted.
const DISRUPTION: &str = "disruption-controller";

pub fn pod_on_a_leased_node_is_not_evicted() -> Result<()> {
    on_a_bare_machine(async |machine| {
        let site = Site::open(machine).await?;
        let (machine, cluster) = (&site.machine, &site.cluster);
        let _pods = Pods::simulate(machine, cluster).await?;
        Operator::scheduler(machine, cluster, "kube-scheduler")?;
        Operator::controllers(machine, cluster, DISRUPTION, DISRUPTION)?;
        let nova = &site.novas["a"];
        for node in NODES {
            site.create(node).await?;
            nova.state().services.insert(node.to_owned(), None);
            nova.state().servers.insert(node.to_owned(), 1);
        }
        site.pool().await?;
        site.share("a").await?;
        site.start(&site.account)?;
        eventually("the nodes are protected", minutes(1), async || {
            machine.check(OPERATOR)?;
            is(&cluster.get(SHARE, "a").await?, "NodesProtected")?;
            for node in NODES {
                let name = format!("{NAMESPACE}/hold-{node}");
                let budget = cluster.get(BUDGET, &name).await?;
                let status = &budget.data["status"];
                ensure!(status["currentHealthy"] == 1, "{name}: {status}");
            }
            Ok(())
        })
        .await?;

        let evictions = Evictions::of(cluster).await?;
        let [deleted, other] = NODES;
        for node in NODES {
            evictions.is_refused(node).await?;
        }
        let cordon = json!({ "spec": { "unschedulable": true } });
        cluster.edit(NODE, deleted, cordon).await?;
        eventually("the node is drained", minutes(1), async || {
            machine.check(OPERATOR)?;
            let draining = site.leases.of("a", Some("Draining"));
            ensure!(draining == [deleted], "{draining:?}");
            Ok(())
        })
        .await?;
        never("a node with a server is held", seconds(2), async || {
            evictions.is_refused(deleted).await
        })
        .await?;

        nova.state().servers.remove(deleted);
        eventually("the pod is evicted", minutes(2), async || {
            machine.check(OPERATOR)?;
            if let Answer::Refused(why) = evictions.ask(deleted).await? {
                bail!("{why}");
            }
            let node = cluster.get(NODE, deleted).await?;
            let labels = node.metadata.labels.unwrap_or_default();
            assert!(
                !labels.contains_key(LEASE),
                "{deleted} is leased, and the pod that holds it was evicted: {labels:?}"
            );
            Ok(())
        })
        .await?;
        evictions.is_refused(other).await?;
        site.leases.are_exclusive()
    })
}

/// What the API server says to an eviction.
enum Answer {
    /// A budget doesn't allow it, for this reason.
    Refused(String),
    /// The pod is deleted, or doesn't exist any more. A drain goes on.
    Gone,
}

/// Evicts the pods that hold nodes.
struct Evictions {
    pods: Api<Pod>,
}

impl Evictions {
    async fn of(cluster: &Cluster) -> Result<Self> {
        let kubeconfig = Kubeconfig::from_yaml(cluster.kubeconfig())?;
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.proxy_url = None;
        // The client would repeat for minutes what is refused with 429.
        config.default_retry = false;
        let client = Client::try_from(config)?;
        Ok(Self {
            pods: Api::namespaced(client, NAMESPACE),
        })
    }

    /// Evicts the pod that holds a node, once.
    async fn ask(&self, node: &str) -> Result<Answer> {
        let pod = format!("hold-{node}-0");
        match self.pods.evict(&pod, &EvictParams::default()).await {
            Ok(_) => Ok(Answer::Gone),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Answer::Gone),
            Err(kube::Error::Api(status)) if status.code == 429 => {
                let causes = status
                    .details
                    .into_iter()
                    .flat_map(|details| details.causes);
                let causes: Vec<String> = causes.map(|cause| cause.message).collect();
                Ok(Answer::Refused(causes.join("; ")))
            }
            Err(error) => Err(error).with_context(|| format!("cannot evict {pod}")),
        }
    }

    /// Fine if the pod that holds a node isn't evicted, because its budget needs it.
    async fn is_refused(&self, node: &str) -> Result<()> {
        match self.ask(node).await? {
            Answer::Refused(why) if why.contains("needs 1 healthy pods and has 1 currently") => {
                Ok(())
            }
            Answer::Refused(why) => bail!("{node} is held for another reason: {why}"),
            Answer::Gone => bail!("the pod that holds {node} was evicted"),
        }
    }
}
