//! The labels injector beside the real scheduler, with the rights and the webhook of its chart.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;
use lab::{Cluster, Etcd, Kind, Operator, Result, ensure, eventually, kind, minutes, scenario};
use serde_json::json;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[scenario!(
    Gate,
    90 s,
    pods_have_their_nodes_labels,
    [CLUSTER, &[Need::Tool(Tool::Helm), Need::Tool(Tool::KubeScheduler)]]
)];

const NODE: Kind = kind("v1", "Node");
const POD: Kind = kind("v1", "Pod");
const SECRET: Kind = kind("v1", "Secret");
const WEBHOOK: Kind = kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
);
const ZONE: &str = "topology.kubernetes.io/zone";
const BLOCK: &str = "kubernetes.metal.cloud.sap/bb";

fn pods_have_their_nodes_labels() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let etcd = Etcd::start(&machine)?;
        let cluster = Cluster::start(&machine, &etcd, "hypervisors").await?;
        let (release, namespace) = ("labels-injector", "labels");
        cluster.install_chart(release, namespace, &[]).await?;
        let certificate = cluster
            .get(SECRET, "labels/labels-injector-certificate")
            .await?;
        cluster
            .install_chart(release, namespace, &["replicas=3"])
            .await?;
        let upgraded = cluster
            .get(SECRET, "labels/labels-injector-certificate")
            .await?;
        ensure!(
            certificate.data["data"] == upgraded.data["data"],
            "an upgrade replaces the certificate"
        );

        // The API server has no route to a Service here.
        let webhook = machine.port();
        let authority = machine.authority();
        let folder = machine.folder().join("labels-injector");
        authority.write(&authority.server(&[])?, &folder)?;
        let mut hooks = cluster.get(WEBHOOK, release).await?.data["webhooks"].clone();
        ensure!(
            hooks[0]["clientConfig"]["caBundle"] == upgraded.data["data"]["ca.crt"],
            "{hooks}"
        );
        hooks[0]["clientConfig"] = json!({
            "url": format!("https://127.0.0.1:{webhook}/pods/binding"),
            "caBundle": ByteString(authority.certificate().into()),
        });
        cluster
            .edit(WEBHOOK, release, json!({"webhooks": hooks}))
            .await?;

        let injector = cluster.acting_as("labels/labels-injector").await?;
        ensure!(
            injector.list(SECRET, "").await.is_err(),
            "the injector may read Secrets"
        );
        // Once the injector is ready, it knows the nodes that were there before it.
        node(&cluster, "zone-a").await?;
        let injector = Operator::labels_injector(&machine, &injector, &folder, webhook).await?;
        Operator::scheduler(&machine, &cluster, "kube-scheduler")?;

        // The controller labels a pod for which the webhook had too little time, but not one pod after the other.
        let by_webhook = "labels_injector_patches_total{source=\"Webhook\",succeeded=\"true\"}";
        let mut pods = Vec::new();
        eventually("the webhook labels a pod", minutes(1), async || {
            pods.push(format!("bound-{}", pods.len()));
            let name = &pods[pods.len() - 1];
            pod(&cluster, name).await?;
            labelled(&cluster, name, "zone-a").await?;
            let metrics = injector.metrics().await?;
            ensure!(metrics.contains(by_webhook), "{metrics}");
            Ok(())
        })
        .await?;

        injector.kill()?;
        pod(&cluster, "second").await?;
        eventually(
            "a pod is bound without the injector",
            minutes(1),
            async || {
                let pod = cluster.get(POD, "default/second").await?;
                ensure!(
                    pod.data["spec"]["nodeName"] == "hv-1",
                    "{}",
                    pod.data["spec"]
                );
                Ok(())
            },
        )
        .await?;
        let labels = labels(&cluster, "second").await?;
        // Kubernetes 1.35 itself copies zone and region once, while a pod is bound.
        ensure!(!labels.contains_key(BLOCK), "{labels:?}");
        injector.start().await?;
        labelled(&cluster, "second", "zone-a").await?;

        let moved = json!({"metadata": {"labels": {ZONE: "zone-b", BLOCK: null}}});
        cluster.edit(NODE, "hv-1", moved).await?;
        pods.push("second".to_owned());
        for pod in &pods {
            labelled(&cluster, pod, "zone-b").await?;
        }
        Ok(())
    })
}

/// A node with labels, as its kubelet reports it.
async fn node(cluster: &Cluster, zone: &str) -> Result<()> {
    let labels = json!({ZONE: zone, BLOCK: "bb-1", "other": "not-copied"});
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "hv-1", "labels": labels}});
    cluster.apply(&node.to_string()).await?;
    let resources = json!({"cpu": "4", "memory": "8Gi", "pods": "20"});
    let status = json!({
        "conditions": [{"type": "Ready", "status": "True"}], "capacity": resources, "allocatable": resources,
    });
    cluster.set_status(NODE, "hv-1", status).await.map(drop)
}

async fn pod(cluster: &Cluster, name: &str) -> Result<()> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"},
    });
    cluster.apply(&account.to_string()).await?;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "automountServiceAccountToken": false,
            // A new node has a taint until its controllers have seen it, and none runs here.
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "web", "image": "web"}],
        },
    });
    cluster.apply(&pod.to_string()).await.map(drop)
}

/// Waits until a pod has its node's zone and block, and what it had before.
async fn labelled(cluster: &Cluster, pod: &str, zone: &str) -> Result<()> {
    eventually(&format!("{pod} is in {zone}"), minutes(1), async || {
        let labels = labels(cluster, pod).await?;
        let label = |key: &str| labels.get(key).map(String::as_str);
        ensure!(
            (label(ZONE), label(BLOCK), label("app")) == (Some(zone), Some("bb-1"), Some("web")),
            "{labels:?}"
        );
        ensure!(!labels.contains_key("other"), "{labels:?}");
        Ok(())
    })
    .await
}

async fn labels(cluster: &Cluster, pod: &str) -> Result<BTreeMap<String, String>> {
    let pod = cluster.get(POD, &format!("default/{pod}")).await?;
    Ok(pod.metadata.labels.unwrap_or_default())
}
