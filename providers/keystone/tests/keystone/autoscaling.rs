//! How many replicas a Keystone has, in a small cluster in memory.

use c5c3_api::keystone::KeystoneSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, condition, with};

fn replicas(cluster: &Cluster) -> Option<&Value> {
    let deployment = cluster.get::<Deployment>("keystone");
    deployment.map(|deployment| &deployment["spec"]["replicas"])
}

#[test]
fn autoscaler_chooses_within_its_bounds() {
    let mut cluster = with(json!({ "autoscaling": { "maxReplicas": 6 } }));
    assert_eq!(replicas(&cluster), Some(&json!(2)));
    let scaler = &cluster.get::<HorizontalPodAutoscaler>("keystone").unwrap()["spec"];
    assert_eq!(
        (&scaler["minReplicas"], &scaler["maxReplicas"]),
        (&json!(2), &json!(6))
    );
    assert_eq!(
        scaler["metrics"][0]["resource"]["target"],
        json!({ "type": "Utilization", "averageUtilization": 70 })
    );

    for (chosen, stays) in [(5, 5), (9, 6), (1, 2)] {
        cluster.change::<Deployment>("keystone", |deployment| {
            deployment["spec"]["replicas"] = json!(chosen);
        });
        cluster.settle(&KEYSTONE, "keystone");
        assert_eq!(replicas(&cluster), Some(&json!(stays)), "it chose {chosen}");
    }

    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["autoscaling"] = Value::Null;
    });
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(replicas(&cluster), Some(&json!(2)));
    assert!(cluster.get::<HorizontalPodAutoscaler>("keystone").is_none());
}

#[test]
fn replicas_stay_while_it_is_unknown_how_many_an_autoscaler_chose() {
    let mut cluster = with(json!({ "autoscaling": { "maxReplicas": 6 } }));
    cluster.change::<Deployment>("keystone", |deployment| {
        deployment["spec"]["replicas"] = json!(5);
        deployment["spec"]["minReadySeconds"] = json!("not a number");
    });
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(replicas(&cluster), Some(&json!(5)));
}

#[test]
fn autoscaler_without_a_measure_or_a_range_is_refused() {
    for (more, says) in [
        (
            json!({ "autoscaling": { "maxReplicas": 1 } }),
            "autoscaling.maxReplicas is 1, and replicas",
        ),
        (
            json!({ "autoscaling": { "maxReplicas": 3 }, "resources": {} }),
            "set resources.requests.cpu",
        ),
    ] {
        let mut cluster = with(json!({}));
        cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
            for (field, value) in more.as_object().into_iter().flatten() {
                keystone["spec"][field] = value.clone();
            }
        });
        assert!(cluster.compose(&KEYSTONE, "keystone").is_err());
        let (_, message) = condition(&cluster, "Ready");
        assert!(message.contains(says), "{message}");
    }
}
