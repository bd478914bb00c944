//! The isolation strategies of the examples, down to the hosts.

use std::collections::BTreeMap;
use std::fs;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use c5c3_plan::{Format, stream};
use k8s_openapi::api::core::v1::Node;
use provider_composer::{Key, ObservedState, Resource, ResourceKind, Subject};
use provider_composer_testing::Cluster;
use provider_hypervisor_pool::PoolState;
use rstest::rstest;
use serde_json::{Value, json};

use crate::given::{ready, root};

fn documents(text: &str) -> Vec<Value> {
    let documents = text.split("---\n").map(serde_saphyr::from_str::<Value>);
    documents.map(Result::unwrap).collect()
}

/// Each share of a pool: its nodes once the pool is divided, and what Nova and Placement are told of them.
fn divided(pool: &str, workers: u64, objects: &[Value]) -> Value {
    let mut cluster = Cluster::default();
    for number in 1..=workers {
        let node = Key::of::<Node>("", &format!("{pool}-{number:03}"));
        let role = json!({ "node-role.kubernetes.io/hypervisor": "" });
        cluster.put(&node, &json!({ "metadata": { "labels": role } }));
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        cluster.set_status(&node, json!({ "conditions": ready }));
    }
    let composed = |kind: ResourceKind| {
        let inside = objects
            .iter()
            .filter(move |object| object["spec"]["providerConfigRef"]["name"] == pool);
        let manifests = inside.map(|object| &object["spec"]["forProvider"]["manifest"]);
        manifests.filter(move |manifest| manifest["kind"] == kind.kind)
    };
    let pools = Subject::<HypervisorPoolSpec>::KIND;
    let shares = Subject::<HypervisorShareSpec>::KIND;
    for kind in [pools, shares] {
        for manifest in composed(kind) {
            let name = manifest["metadata"]["name"].as_str().unwrap();
            cluster.put(&Key::new(kind, "", name), manifest);
        }
    }
    let state = PoolState::observe(&ObservedState::new(&cluster, cluster.now())).unwrap();
    let shares = composed(shares).map(|manifest| {
        let spec = &manifest["spec"];
        let plane = spec["controlPlane"].as_str().unwrap().to_owned();
        let nodes = state
            .division
            .granted
            .values()
            .filter(|granted| **granted == plane);
        let told = json!({
            "nodes": nodes.count(), "zone": spec["availabilityZone"], "traits": spec["traits"],
            "aggregate": spec["aggregate"],
        });
        (plane, told)
    });
    json!(shares.collect::<BTreeMap<_, _>>())
}

#[rstest]
#[case::shared("shared")]
#[case::dedicated("dedicated")]
#[case::hybrid("hybrid")]
#[case::tiered("tiered")]
fn isolation_strategy_ends_on_its_hosts(#[case] strategy: &str) {
    let path = format!("examples/isolation/{strategy}.yaml");
    let plan = ready(&[&path]);
    let objects = documents(&stream(&plan, Format::Yaml).unwrap());
    let given = documents(&fs::read_to_string(root(&path)).unwrap());
    let pools = given
        .iter()
        .filter(|document| document["kind"] == "HypervisorCluster");
    let pools = pools.map(|pool| {
        let name = pool["spec"]["name"].as_str().unwrap();
        let workers = pool["spec"]["workers"].as_u64().unwrap();
        (name, divided(name, workers, &objects))
    });
    insta::assert_yaml_snapshot!(strategy, pools.collect::<BTreeMap<_, _>>());
}
