//! Which of a desired infrastructure's sizes change while it runs.

use serde_json::{Value, json};

use super::*;

fn read(infrastructure: Value) -> Infrastructure {
    serde_json::from_value(infrastructure).unwrap()
}

fn kept(desired: Value, running: Value) -> (Infrastructure, String) {
    let running: RunningInfrastructure = serde_json::from_value(running).unwrap();
    let kept = read(desired).kept(&running);
    (kept.value, kept.fields.join("; "))
}

#[test]
fn infrastructure_keeps_members_of_both_and_changes_the_rest() {
    let members = |replicas: u32| json!({ "replicas": replicas, "storageSize": "20Gi" });
    let running = json!({ "mariadb": members(5), "rabbitmq": members(3) });
    let desired =
        json!({ "mariadb": members(1), "rabbitmq": members(1), "memcached": { "replicas": 1 } });
    let (value, fields) = kept(desired, running);
    let replicas = [
        value.mariadb.replicas,
        value.rabbitmq.replicas,
        value.memcached.replicas,
    ];
    assert_eq!(replicas, [5, 3, 1]);
    let said = "MariaDB keeps replicas: 5 instead of 1; RabbitMQ keeps replicas: 3 instead of 1";
    assert_eq!(fields, said);
}

#[test]
fn infrastructure_keeps_a_max_scale() {
    let with = |max_scale: Value| json!({ "mariadb": { "maxScale": max_scale } });
    let members = json!({ "replicas": 3, "storageSize": "100Gi" });
    let running = json!({ "mariadb": members, "maxScale": { "replicas": 3 } });
    for desired in [Value::Null, json!({ "enabled": false, "replicas": 1 })] {
        let (value, fields) = kept(with(desired), running.clone());
        assert_eq!(value.mariadb.max_scale().unwrap().replicas, 3);
        let said = "MariaDB keeps maxScale: enabled instead of disabled";
        assert_eq!(fields, said);
    }
    let desired = with(json!({ "replicas": 3 }));
    let (value, fields) = kept(desired, json!({ "mariadb": members }));
    assert_eq!(value.mariadb.max_scale().unwrap().replicas, 3);
    assert_eq!(fields, "", "it is added");
}

#[test]
fn infrastructure_that_is_external_is_not_compared() {
    let external = json!({
        "mariadb": { "external": { "host": "db.example.com" } },
        "rabbitmq": { "external": { "hosts": ["bus.example.com:5672"] } },
    });
    let members = json!({ "replicas": 9, "storageSize": "1Ti", "storageClass": "fast" });
    let running = json!({ "mariadb": members, "rabbitmq": members });
    let (value, fields) = kept(external.clone(), running);
    assert_eq!(fields, "");
    assert_eq!(value, read(external));
}

#[test]
fn infrastructure_that_does_not_run_is_as_desired() {
    let desired = json!({ "mariadb": { "replicas": 1, "storageClass": "fast" } });
    let rabbitmq = json!({ "replicas": 3, "storageSize": "20Gi" });
    for running in [json!({}), json!({ "rabbitmq": rabbitmq })] {
        let (value, fields) = kept(desired.clone(), running);
        assert_eq!(fields, "");
        assert_eq!(value, read(desired.clone()));
    }
}
