//! Sizes change at random, and no owner refuses a change: the cluster in memory panics where one would.

use k8s_openapi::api::storage::v1::StorageClass;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use provider_composer::Key;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{OPERATOR, Stage};

/// Members of a database or a message bus.
fn members() -> impl Strategy<Value = Value> {
    (select(vec![1, 3, 5]), volume()).prop_map(|(replicas, (size, class))| {
        json!({ "replicas": replicas, "storageSize": size, "storageClass": class })
    })
}

fn volume() -> impl Strategy<Value = (&'static str, Option<&'static str>)> {
    let sizes = select(vec!["10Gi", "20Gi", "30720Mi", "1Ti"]);
    (sizes, option::of(select(vec!["fast", "local"])))
}

/// A ControlPlane's spec.
fn spec() -> impl Strategy<Value = Value> {
    let backup = option::of(volume());
    let secret = option::of(select(vec!["one", "two"]));
    (members(), members(), backup, secret).prop_map(|(mariadb, rabbitmq, backup, secret)| {
        let backup = backup.map(|(size, class)| {
            let storage = json!({ "size": size, "storageClass": class });
            json!({ "storage": storage })
        });
        let secrets: Vec<Value> = secret
            .map(|name| json!({ "name": name }))
            .into_iter()
            .collect();
        json!({
            "infrastructure": { "mariadb": mariadb, "rabbitmq": rabbitmq },
            "backup": backup,
            "global": { "images": { "pullSecrets": secrets } },
        })
    })
}

/// Replicas of MariaDB and of RabbitMQ.
fn replicas(stage: &Stage) -> [u64; 2] {
    [Node::MariaDb, Node::RabbitMq].map(|node| {
        let object = stage.object(node).unwrap();
        object["spec"]["replicas"].as_u64().unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn change_of_sizes_is_never_refused_and_loses_no_member(
        first in spec(),
        changes in vec((spec(), 0..8usize), 1..6),
    ) {
        let mut stage = Stage::new(first);
        for (name, expands) in [("fast", true), ("local", false)] {
            let body = json!({ "provisioner": "test", "allowVolumeExpansion": expands });
            stage.cluster.put(&Key::of::<StorageClass>("", name), &body);
        }
        stage.simulate();
        for (change, writes) in changes {
            let [mariadb, rabbitmq] = replicas(&stage);
            stage.want(|spec| *spec = change);
            let key = stage.key.clone();
            // It is killed on the way, and started again.
            let _ = stage.cluster.reconcile_until(&OPERATOR, &key, writes);
            stage.simulate();
            let (status, _, message) = stage.condition("Ready");
            prop_assert_eq!(status, "True", "{}", message);
            let after = replicas(&stage);
            prop_assert_eq!(after[0] == 1, mariadb == 1, "MariaDB has another topology");
            prop_assert!(after[1] >= rabbitmq, "RabbitMQ lost a member");
        }
    }
}
