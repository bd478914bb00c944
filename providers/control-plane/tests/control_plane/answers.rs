//! What a control plane becomes, all of it.

use std::collections::BTreeMap;

use crate::stage::{NAMESPACE, Stage, first, given, node_of, secret, volume_type};
use provider_composer::Composer;
use provider_control_plane::ControlPlaneComposer;
use provider_control_plane::graph::Node;
use provider_openstack_fixtures::difference;
use serde_json::{Value, json};

/// What the nodes but the catalogue consist of, and their passwords, as they are wanted.
fn wanted(stage: &Stage) -> Value {
    let is_password = |name: &str| {
        [
            "-db-credentials",
            "-rabbitmq-credentials",
            "-admin-credentials",
            "-db-root",
        ]
        .iter()
        .any(|end| name.ends_with(end))
    };
    let objects = stage
        .cluster
        .objects()
        .iter()
        .filter(|(key, _)| match node_of(key) {
            Some(node) => node != Node::Catalogue,
            None => is_password(&key.name),
        });
    let shown: BTreeMap<String, Value> = objects
        .map(|(key, object)| {
            let mut shown = json!({});
            for (field, value) in object.as_object().unwrap() {
                if !["apiVersion", "kind", "metadata", "status"].contains(&field.as_str()) {
                    shown[field] = value.clone();
                }
            }
            if let Some(values) = shown["data"].as_object() {
                shown["data"] = values.keys().cloned().collect();
            }
            for field in ["labels", "annotations"] {
                let mut marks = object["metadata"][field].clone();
                if let Some(marks) = marks.as_object_mut() {
                    marks.retain(|mark, _| !mark.starts_with("c5c3.io/owner"));
                    shown[field] = json!(marks);
                }
            }
            (
                format!("{} {}", object["apiVersion"].as_str().unwrap(), key),
                shown,
            )
        })
        .collect();
    json!(shown)
}

#[test]
fn endpoints_are_those_that_services_report_to_answer() {
    let mut stage = Stage::running(json!({}));
    let mut report = |status: Value| {
        let key = first(Node::Keystone);
        stage.cluster.set_status(&key, status);
        stage.settle();
        stage.status()["endpoints"]["keystone"].clone()
    };
    let internal = "https://keystone.openstack.svc.cluster.local:5000";
    let public = "https://identity.example.com";
    assert_eq!(report(json!({ "endpoint": internal })), Value::Null);
    assert_eq!(
        report(json!({ "endpoint": internal, "publicEndpoint": public })),
        public
    );
}

#[rstest::rstest]
#[case(
    json!({ "services": { "octavia": { "enabled": true }, "manila": { "enabled": true } } }),
    "spec.services.octavia: no operator deploys Octavia; spec.services.manila: no operator deploys Manila"
)]
#[case(
    json!({ "storage": { "ceph": { "filesystem": { "name": "prod" }, "objectStore": { "name": "prod" } } } }),
    "spec.storage.ceph.filesystem: users of the cloud reach the filesystem by Manila only, which no operator deploys; \
     spec.storage.ceph.objectStore: the object store has no users of Keystone and no entry in the catalogue"
)]
fn what_is_not_deployed_is_reported_and_blocks_nothing(#[case] spec: Value, #[case] named: &str) {
    let stage = Stage::running(spec);
    let message =
        format!("this version doesn't support {named}; remove each; everything else is deployed");
    assert_eq!(
        <[String; 3]>::from(stage.condition("ServicesSupported")),
        ["False", "Unsupported", message.as_str()]
    );
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn parts_of_nova_and_neutron_are_scaled_as_the_control_plane_says() {
    let scaled = json!({
        "replicas": 2,
        "autoscaling": { "maxReplicas": 6 },
        "resources": { "requests": { "cpu": "100m" } },
    });
    let two = json!({ "replicas": 2 });
    let stage = Stage::running(json!({ "services": {
        "nova": { "metadata": scaled, "noVncProxy": two },
        "neutron": { "periodicWorkers": two, "ovnMaintenanceWorker": two },
    } }));
    let nova = &stage.object(Node::Nova).unwrap()["spec"];
    assert_eq!(nova["metadata"]["autoscaling"]["maxReplicas"], 6);
    assert_eq!(nova["noVncProxy"], two);
    let neutron = &stage.object(Node::Neutron).unwrap()["spec"];
    assert_eq!(neutron["periodicWorkers"], two);
    assert_eq!(neutron["ovnMaintenanceWorker"], two);
}

/// What a small control plane consists of.
fn small() -> Value {
    wanted(&Stage::running(json!({
        "infrastructure": {
            "mariadb": { "replicas": 1, "storageSize": "10Gi" },
            "rabbitmq": { "replicas": 1, "storageSize": "5Gi" },
            "valkey": { "replicas": 1, "sentinel": { "enabled": false } },
            "memcached": { "replicas": 1, "memory": "256Mi" },
        },
        "global": { "tls": { "enabled": false } },
    })))
}

#[test]
fn a_small_one() {
    insta::assert_yaml_snapshot!(small());
}

#[test]
fn a_large_one() {
    let stage = Stage::running(json!({
        "openStackRelease": "2026.1",
        "compute": { "hypervisorClusters": ["hv-pool-a", "hv-pool-b"] },
        "storage": {
            "storageClusters": ["st-pool-a", "st-pool-b"],
            "ceph": {
                "pools": { "volumes": "prod-volumes", "images": "prod-images", "ephemeral": "prod-ephemeral" },
                "clients": [
                    { "service": "glance", "storageCluster": "st-pool-a", "user": "prod-glance",
                      "secretRef": { "name": "ceph-glance-st-pool-a" } },
                    { "service": "cinder", "storageCluster": "st-pool-b", "user": "prod-cinder",
                      "secretRef": { "name": "ceph-cinder-st-pool-b" } },
                ],
            },
        },
        "infrastructure": {
            "mariadb": { "replicas": 5, "storageClass": "fast", "maxScale": { "replicas": 2 },
                "resources": { "requests": { "cpu": 2, "memory": "8Gi" } } },
            "rabbitmq": { "storageClass": "fast", "resources": { "limits": { "memory": "4Gi" } } },
        },
        "services": {
            "keystone": { "replicas": 5, "fernet": { "rotationInterval": "24h", "maxActiveKeys": 5 },
                "federation": { "enabled": true, "trustedDashboards": ["https://dashboard.example.com/auth/websso/"] },
                "policyOverrides": { "rules": { "identity:list_users": "role:reader" } } },
            "glance": { "replicas": 4, "cache": { "size": "50Gi" }, "image": { "tag": "32.0.0-p1" }, "extraConfig": { "DEFAULT": { "workers": "4" } }, "extraConfigSecrets": [{ "section": "vmware", "option": "password", "secretKeyRef": { "name": "vmware", "key": "password" } }] },
            "nova": { "api": { "replicas": 7 }, "image": { "repository": "registry.example.com/fork/nova", "fork": "sap" } },
            "cinder": {
                "volume": { "replicas": 2 },
                "backup": { "s3": { "endpoint": "https://s3.example.com", "bucket": "volumes", "secretRef": { "name": "bucket" } } },
                "imageVolumeCache": { "maxSizeGb": 500, "projectId": "0a1b", "userId": "8f9c" },
            },
        },
        "cortex": { "enabled": true, "pipelines": ["nova"], "database": { "host": "postgres.example.com" } },
        "tempest": { "enabled": true, "schedule": "0 3 * * *" },
        "global": {
            "region": "eu-de-1",
            "tls": { "issuerRef": { "name": "internal", "kind": "ClusterIssuer" } },
            "network": { "mtu": 9000 },
            "monitoring": { "enabled": true },
            "images": { "registry": "registry.example.com/mirror", "pullSecrets": [{ "name": "mirror" }] },
            "topology": {
                "nodeSelector": { "role": "control" },
                "tolerations": [{ "key": "control", "operator": "Exists", "effect": "NoSchedule" }],
                "spreadOver": ["rack"],
                "priorityClassName": "control",
            },
            "policyOverrides": { "rules": { "identity:list_users": "role:admin", "admin": "role:admin" } },
        },
    }));
    insta::assert_yaml_snapshot!(difference(&small(), &wanted(&stage)));
}

/// A control plane whose infrastructure is somebody else's.
fn brownfield() -> Value {
    json!({
        "infrastructure": {
            "mariadb": { "external": { "host": "db.example.com" } },
            "rabbitmq": { "external": { "hosts": ["rabbitmq-0.rabbitmq:5672", "rabbitmq-1.rabbitmq:5672"] } },
            "valkey": { "external": { "servers": ["valkey.example.com:6379"] } },
            "memcached": { "external": { "servers": ["memcached-0.memcached:11211"] } },
        },
    })
}

#[test]
fn a_brownfield_one() {
    let mut stage = Stage::new(brownfield());
    for service in [
        "keystone",
        "glance",
        "placement",
        "nova",
        "nova-api",
        "nova-cell0",
        "neutron",
        "cinder",
    ] {
        stage.cluster.put(
            &secret(&format!("{service}-db-credentials")),
            &given("from-the-dba"),
        );
    }
    for service in ["nova", "nova-cell1", "neutron", "cinder"] {
        stage.cluster.put(
            &secret(&format!("{service}-rabbitmq-credentials")),
            &given("from-the-bus"),
        );
    }
    stage.simulate();
    assert_eq!(stage.condition("Ready").0, "True", "{:#}", stage.status());
    insta::assert_yaml_snapshot!(difference(&small(), &wanted(&stage)));
}

#[test]
fn a_brownfield_one_asks_for_its_passwords() {
    let mut stage = Stage::new(brownfield());
    stage.simulate();
    let (status, reason, message) = stage.condition("KeystoneReady");
    assert_eq!((&*status, &*reason), ("False", "WaitingForSecret"));
    assert!(message.contains("keystone-db-credentials"), "{message}");
    assert!(stage.object(Node::Keystone).is_none());
    assert!(stage.object(Node::MariaDb).is_none());
}

#[test]
fn one_with_less() {
    let stage = Stage::running(json!({
        "services": {
            "glance": { "enabled": false },
            "cinder": { "enabled": false },
            "neutron": { "enabled": false },
        },
    }));
    for node in [Node::Glance, Node::Cinder, Node::Neutron, Node::Ovn] {
        assert!(stage.object(node).is_none(), "{node:?}");
    }
    let nova = stage.object(Node::Nova).unwrap();
    insta::assert_yaml_snapshot!(
        json!({ "dependsOn": nova["spec"]["dependsOn"], "serviceAuth": nova["spec"]["serviceAuth"] })
    );
    insta::assert_yaml_snapshot!(stage.status());
}

#[test]
fn the_same_twice() {
    let spec = json!({ "cortex": { "enabled": true }, "tempest": { "enabled": true } });
    let (one, mut other) = (Stage::running(spec.clone()), Stage::new(spec));
    other.simulate();
    crate::stage::assert_same(&one.observed(), &other.observed());
    let text = |stage: &Stage| serde_json::to_string(&stage.observed()).unwrap();
    assert!(text(&one) == text(&other), "the same, but not byte by byte");
    let before = other.cluster.writes();
    other.settle();
    assert_eq!(
        other.cluster.writes(),
        before,
        "nothing changed, so nothing is written"
    );
}

#[test]
fn without_our_catalogue_services_wait_for_their_own_credentials() {
    let mut stage = Stage::new(json!({ "korc": { "enabled": false } }));
    stage.simulate();
    let (_, reason, message) = stage.condition("GlanceReady");
    assert!(
        message.contains("glance-keystone-credentials"),
        "{reason}: {message}"
    );
    assert!(stage.object(Node::Glance).is_none());
    assert!(stage.nodes().contains(&Node::Keystone));
    assert!(!stage.nodes().contains(&Node::Catalogue));
    let status = stage.status().to_string();
    assert!(!status.contains("KORCReady"), "{status}");
    assert!(
        stage
            .cluster
            .objects()
            .keys()
            .all(|key| key.namespace.as_deref() == Some(NAMESPACE))
    );
}

#[test]
fn the_kinds_that_are_used() {
    let uses = ControlPlaneComposer.uses();
    let each = uses
        .iter()
        .map(|used| format!("{:?} {}.{}", used.access, used.kind.plural, used.kind.group));
    let each: Vec<String> = each.collect();
    insta::assert_yaml_snapshot!(each);
}

#[test]
fn storage_pools_are_volume_types_once_cinder_is_ready() {
    let storage = json!({ "storage": { "storageClusters": ["st-pool-a", "st-pool-b"] } });
    let mut stage = Stage::new(storage);
    let types = ["st-pool-a", "st-pool-b"].map(volume_type);
    let mut early = false;
    for _ in 0..64 {
        stage.settle();
        let ready = stage.condition("CinderReady").0 == "True";
        early |= !ready && types.iter().any(|key| stage.cluster.get(key).is_some());
        stage.grant();
    }
    assert!(!early, "a type without Cinder");
    let spec = &stage.cluster.get(&types[1]).unwrap()["spec"];
    assert_eq!(spec["managedOptions"], json!({ "onDelete": "detach" }));
    assert_eq!(
        spec["resource"],
        json!({
            "description": "Volumes in storage pool st-pool-b",
            "extraSpecs": [{ "name": "volume_backend_name", "value": "st-pool-b" }],
            "isPublic": true,
        })
    );
    assert_eq!(stage.condition("VolumeTypesReady").0, "True");
    // A pool that goes takes its type's object along; another's stays.
    stage.want(|spec| spec["storage"]["storageClusters"] = json!(["st-pool-a"]));
    stage.simulate();
    let present = types.map(|key| stage.cluster.get(&key).is_some());
    assert_eq!(present, [true, false]);
}

#[test]
fn deleted_rows_are_passed_to_the_services() {
    let rows = |rows: Value| {
        let stage = Stage::running(json!({ "services": {
            "cinder": { "deletedRows": rows },
            "glance": { "deletedRows": rows },
            "nova": { "deletedRows": rows },
        } }));
        [Node::Cinder, Node::Glance, Node::Nova]
            .map(|node| stage.object(node).unwrap()["spec"]["deletedRows"].clone())
    };
    assert_eq!(rows(json!({})), [Value::Null, Value::Null, Value::Null]);
    let schedule = "30 3 * * *";
    let wanted = json!({ "schedule": schedule, "purgeAfterDays": 60 });
    let [cinder, glance, nova] = rows(wanted);
    let expected = json!({ "enabled": true, "schedule": schedule, "purgeAfterDays": 60 });
    assert_eq!([&cinder, &glance], [&expected; 2]);
    assert_eq!(
        nova,
        json!({ "schedule": schedule, "archiveAfterDays": 30, "purgeAfterDays": 60 })
    );
}
