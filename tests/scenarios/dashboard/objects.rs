//! What a site of the dashboard has.

use c5c3_api::Claim;
use futures::{TryStreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::PostParams;
use lab::{Cluster, Context, Kind, Result, kind};
use serde_json::{Value, json};

const CLAIM: Kind = kind("c5c3.io/v1alpha1", "OpenStackCluster");
const HYPERVISOR_CLUSTER: Kind = kind("crossplane.c5c3.io/v1alpha1", "HypervisorCluster");
const STORAGE_CLUSTER: Kind = kind("crossplane.c5c3.io/v1alpha1", "StorageCluster");
const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");
const POOL: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorPool");
const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");

/// Claims, and a pool of 10,000 nodes that five control planes share.
pub async fn fill(cluster: &Cluster) -> Result<()> {
    let ceph = json!({
        "volumePool": {"usedBytes": 150_u64 << 40, "quotaBytes": 200_u64 << 40},
        "imagePool": {"usedBytes": 3_u64 << 39}, "ephemeralPool": {"usedBytes": 9_u64 << 40, "quotaBytes": 10_u64 << 40},
    });
    for tenant in ["customer-a", "customer-b", "customer-c", "finance"] {
        claim(
            cluster,
            tenant,
            "prod",
            json!({"phase": "Ready", "cephResources": ceph}),
            "",
        )
        .await?;
    }
    let waits = "HypervisorsReady: HypervisorCluster infrastructure/hv-pool-b isn't Ready";
    claim(
        cluster,
        "customer-b",
        "staging",
        json!({"phase": "Pending"}),
        waits,
    )
    .await?;
    let failed = "Tempest: 3 of 412 tests failed: tempest.api.compute.servers, tempest.api.volume, <script>alert(1)</script>";
    claim(
        cluster,
        "customer-d",
        "test",
        json!({"phase": "Degraded"}),
        failed,
    )
    .await?;
    object(
        cluster,
        CONTROL_PLANE,
        "customer-a",
        "production",
        json!({"openStackRelease": "2025.2"}),
        json!({}),
        "StatefulSet openstack-memcached: 1 of 3 pods are ready",
    )
    .await?;

    let counts = json!({"free": 20, "leased": 9_800, "draining": 150, "unavailable": 30});
    let planes = [
        "customer-a-prod",
        "customer-b-prod",
        "customer-b-staging",
        "customer-c-prod",
        "finance-prod",
    ];
    let consumers = planes.map(|plane| json!({
        "name": plane, "namespace": plane.rsplit_once('-').map(|(tenant, _)| tenant), "minHosts": 3, "hosts": 1_960, "pending": 10,
    }));
    let status = json!({"phase": "Ready", "clusterName": "hv-pool-a", "nodeCount": 10_000, "nodes": counts, "consumers": consumers});
    object(
        cluster,
        HYPERVISOR_CLUSTER,
        "infrastructure",
        "hv-pool-a",
        json!({}),
        status,
        "",
    )
    .await?;
    object(
        cluster,
        HYPERVISOR_CLUSTER,
        "infrastructure",
        "hv-pool-b",
        json!({}),
        json!({"phase": "Provisioning"}),
        "Shoot garden-c5c3/hv-pool-b is being created (42 %)",
    )
    .await?;
    let capacity = json!({"total": "500Ti", "used": "420Ti", "available": "80Ti"});
    let status = json!({"phase": "Ready", "health": "HEALTH_WARN", "capacity": capacity, "consumers": consumers});
    object(
        cluster,
        STORAGE_CLUSTER,
        "infrastructure",
        "st-pool-a",
        json!({}),
        status,
        "",
    )
    .await?;

    let shares = planes.map(|plane| json!({"name": plane, "controlPlane": plane, "hosts": 1_960, "draining": 30, "due": 1_970}));
    let status = json!({"nodeCount": 10_000, "nodes": counts, "freeVcpus": 2_560, "freeMemoryGB": 20_480, "shares": shares});
    object(
        cluster,
        POOL,
        "",
        "hv-pool-a",
        json!({"mode": "Shared", "reserve": 10}),
        status,
        "",
    )
    .await?;
    for plane in planes {
        let spec = json!({"controlPlane": plane, "weight": 4, "minHosts": 3});
        object(
            cluster,
            SHARE,
            "",
            plane,
            spec,
            json!({}),
            "10 nodes are due and not free yet",
        )
        .await?;
    }
    let nodes: Api<Node> = Api::all(cluster.client());
    let created = (0..10_000_usize).map(|number| {
        let mut node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("hv-{number:05}"), "labels": {
                "node-role.kubernetes.io/hypervisor": "",
                "topology.kubernetes.io/zone": format!("eu-de-1{}", ["a", "b", "c"][number % 3]),
                "topology.c5c3.io/rack": format!("rack-{}", number / 40),
                "c5c3.node-restriction.kubernetes.io/control-plane": planes[number % 5],
            }},
        });
        if number % 67 == 0 {
            node["metadata"]["labels"]["c5c3.node-restriction.kubernetes.io/lease-phase"] =
                json!("Draining");
        }
        Ok(serde_json::from_value(node)?)
    });
    let nodes = &nodes;
    stream::iter(created)
        .try_for_each_concurrent(32, async |node: Node| {
            nodes.create(&PostParams::default(), &node).await?;
            Ok(())
        })
        .await
}

/// A definition of a claim's kind. Crossplane's has the claim's schema.
pub fn definition<K: Claim>() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", K::PLURAL, K::GROUP)},
        "spec": {
            "group": K::GROUP, "scope": "Namespaced",
            "names": {"kind": K::KIND, "plural": K::PLURAL},
            "versions": [{"name": K::VERSION, "served": true, "storage": true, "subresources": {"status": {}}, "schema": schema}],
        },
    })
}

/// A service account `viewer` that may view everything, or in one namespace.
pub async fn account(
    cluster: &Cluster,
    namespace: &str,
    binding: &str,
    within: &str,
) -> Result<()> {
    let metadata = match within {
        "" => json!({"name": "viewer"}),
        within => json!({"name": "viewer", "namespace": within}),
    };
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "viewer", "namespace": namespace}}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": binding, "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "c5c3-dashboard-viewer"},
            "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
        }),
    ] {
        cluster.apply(&object.to_string()).await?;
    }
    Ok(())
}

/// The header with the token of a service account.
pub async fn token(cluster: &Cluster, account: &str) -> Result<String> {
    let viewer = cluster.acting_as(account).await?;
    let kubeconfig: Value = serde_json::from_str(viewer.kubeconfig())?;
    let token = kubeconfig["users"][0]["user"]["token"].as_str();
    Ok(format!(
        "Authorization: Bearer {}\r\n",
        token.context("the account has no token")?
    ))
}

pub async fn claim(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    status: Value,
    waits: &str,
) -> Result<()> {
    let spec = json!({"openStackRelease": "2025.2", "size": "large"});
    object(cluster, CLAIM, namespace, name, spec, status, waits).await
}

/// An object that is ready, or waits for something.
async fn object(
    cluster: &Cluster,
    kind: Kind,
    namespace: &str,
    name: &str,
    spec: Value,
    mut status: Value,
    waits: &str,
) -> Result<()> {
    let mut metadata = json!({"name": name});
    let mut path = name.to_owned();
    if !namespace.is_empty() {
        let object =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        cluster.apply(&object.to_string()).await?;
        metadata["namespace"] = json!(namespace);
        path = format!("{namespace}/{name}");
    }
    let object = json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec});
    cluster.apply(&object.to_string()).await?;
    let (ready, reason) = if waits.is_empty() {
        ("True", "Ready")
    } else {
        ("False", "Waiting")
    };
    status["conditions"] = json!([{
        "type": "Ready", "status": ready, "reason": reason, "message": waits, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    cluster.set_status(kind, &path, status).await.map(drop)
}
