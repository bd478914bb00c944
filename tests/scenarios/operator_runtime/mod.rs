//! The operators' runtime on a real API server: what it writes, what it leaves alone, and what it survives.

mod carried;
mod kept;
mod memory;
mod namespaces;
mod order;
mod outside;
mod refused;
mod replicas;
mod stored;
mod trial;

use std::sync::Arc;

use lab::{
    Cluster, Context, DynamicObject, Etcd, Kind, Machine, Result, ensure, eventually,
    find_condition, is, kind, minutes,
};
use serde_json::{Value, json};

use carried::prepare;

use lab::scenario;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Gate, 90 s, kept::what_is_wanted_is_made_and_kept_so, [CLUSTER]),
    scenario!(Gate, 120 s, namespaces::operator_of_watched_namespaces_works_there_only, [CLUSTER, &[Need::Tool(Tool::Helm)]]),
    scenario!(Gate, 180 s, memory::foreign_secrets_take_no_memory, [CLUSTER]),
    scenario!(Gate, 90 s, order::parts_go_in_their_order, [CLUSTER]),
    scenario!(Gate, 90 s, order::pods_are_deleted_before_what_they_use, [CLUSTER]),
    scenario!(Gate, 90 s, outside::systems_outside_are_asked_and_called, [CLUSTER]),
    scenario!(Gate, 90 s, refused::what_is_not_there_or_not_allowed_is_said_and_deletes_nothing, [CLUSTER]),
    scenario!(Gate, 90 s, replicas::of_two_replicas_one_writes, [CLUSTER]),
    scenario!(Gate, 90 s, stored::api_server_answers_as_the_store_in_memory_does, [CLUSTER]),
];

const TRIAL: Kind = kind("c5c3.io/v1alpha1", "SecretAggregate");
const CONFIG_MAP: Kind = kind("v1", "ConfigMap");
const SECRET: Kind = kind("v1", "Secret");
const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");
const EVENT: Kind = kind("events.k8s.io/v1", "Event");

const MANIFEST: &str = "\
apiVersion: c5c3.io/v1alpha1
kind: SecretAggregate
metadata: {name: one, namespace: default}
spec:
  sources: [{secretRef: {name: first}}, {secretRef: {name: second}}]
  target: {name: made}
";

async fn cluster(machine: &Arc<Machine>, account: &str) -> Result<(Cluster, Cluster)> {
    let etcd = Etcd::start(machine)?;
    let cluster = Cluster::start(machine, &etcd, "control-plane").await?;
    let account = prepare(&cluster, account).await?;
    Ok((cluster, account))
}

async fn ready(cluster: &Cluster, name: &str) -> Result<()> {
    eventually(&format!("{name} is Ready"), minutes(1), async || {
        is(
            &cluster.get(TRIAL, &format!("default/{name}")).await?,
            "Ready",
        )
    })
    .await
}

async fn annotate(cluster: &Cluster, name: &str, annotations: Value) -> Result<()> {
    let change = json!({ "metadata": { "annotations": annotations } });
    cluster
        .edit(TRIAL, &format!("default/{name}"), change)
        .await
        .map(drop)
}

/// What a resource says under one type of condition.
fn said(object: &DynamicObject, type_: &str) -> Result<Value> {
    let said = find_condition(object, type_);
    said.cloned()
        .with_context(|| format!("nothing is said of {type_}"))
}

/// Somebody edits what the operator made.
async fn deface(cluster: &Cluster) -> Result<()> {
    let edit = json!({"data": {"key": "defaced"}});
    cluster
        .edit(CONFIG_MAP, "default/first", edit)
        .await
        .map(drop)
}

async fn undone(cluster: &Cluster) -> Result<()> {
    let map = cluster.get(CONFIG_MAP, "default/first").await?;
    ensure!(
        map.data["data"]["key"] == "value",
        "data: {}",
        map.data["data"]
    );
    Ok(())
}
