//! Pods that nothing runs: Kubernetes' controllers create them, and a simulated kubelet reports that each runs, or that it has done
//! its work.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::machine::Machine;
use crate::objects::{Kind, condition, kind};
use crate::operator::Operator;
use crate::say::say;
use crate::watched::Watched;

const POD: Kind = kind("v1", "Pod");

/// The controllers that pods and their namespaces come by. None looks at Nodes, whose kubelets don't report.
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller,\
                           job-controller,serviceaccount-controller,resourcequota-controller,\
                           persistentvolumeclaim-protection-controller";

/// The controllers that Jobs need.
const JOB_CONTROLLERS: &str = "job-controller,serviceaccount-controller";

/// The pods of a cluster, simulated until this is dropped.
pub struct Pods {
    _kubelet: Watched,
}

impl Pods {
    /// Gives a cluster pods. Those of DaemonSets run once a scheduler has placed them, all others without a node.
    pub async fn simulate(machine: &Machine, cluster: &Cluster) -> Result<Self> {
        Self::of(machine, cluster, CONTROLLERS).await
    }

    /// Gives a cluster the pods of Jobs, and no others.
    pub(crate) async fn of_jobs(machine: &Machine, cluster: &Cluster) -> Result<Self> {
        Self::of(machine, cluster, JOB_CONTROLLERS).await
    }

    async fn of(machine: &Machine, cluster: &Cluster, controllers: &str) -> Result<Self> {
        let process = format!("controllers-{}", cluster.name());
        Operator::controllers(machine, cluster, &process, controllers)?;
        let mut kubelet = Watched::default();
        let client = cluster.client();
        let act = move |pod| live(client.clone(), pod);
        kubelet.each(cluster, POD, act).await?;
        Ok(Self { _kubelet: kubelet })
    }
}

/// Does what a kubelet would do with a pod now.
async fn live(client: Client, pod: DynamicObject) {
    let name = pod.name_any();
    let pods = Api::<Pod>::namespaced(client, &pod.namespace().unwrap_or_default());
    let done = if pod.metadata.deletion_timestamp.is_some() {
        let at_once = DeleteParams::default().grace_period(0);
        pods.delete(&name, &at_once).await.map(drop)
    } else if condition(&pod, "Ready").is_some() || is_unplaced(&pod) {
        Ok(())
    } else {
        let status = Patch::Merge(json!({ "status": status(&pod) }));
        let how = PatchParams::default();
        pods.patch_status(&name, &how, &status).await.map(drop)
    };
    match done {
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => {}
        Err(error) => say(format_args!("the pod {name} stays as it is: {error}")),
        Ok(()) => {}
    }
}

/// Whether a pod that is for one node isn't there yet.
fn is_unplaced(pod: &DynamicObject) -> bool {
    is_of(pod, "DaemonSet") && pod.data["spec"]["nodeName"].is_null()
}

/// Whether an object of this kind owns a pod.
fn is_of(pod: &DynamicObject, kind: &str) -> bool {
    pod.owner_references()
        .iter()
        .any(|owner| owner.kind == kind)
}

/// What a kubelet reports of a pod for which all goes well.
fn status(pod: &DynamicObject) -> Value {
    let is_done = is_of(pod, "Job");
    let condition = |type_: &str, is_so: bool| {
        json!({
            "type": type_, "status": if is_so { "True" } else { "False" },
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    json!({
        "phase": if is_done { "Succeeded" } else { "Running" },
        "podIP": "10.0.0.1",
        "podIPs": [{ "ip": "10.0.0.1" }],
        "conditions": [
            condition("Initialized", true),
            condition("ContainersReady", !is_done),
            condition("Ready", !is_done),
        ],
    })
}
