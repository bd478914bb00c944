//! OVN as the ControlPlane says.

use k8s_openapi::api::core::v1::Service;
use provider_composer::Key;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::sizes::{is_accepted, kept, running};
use crate::stage::{NAMESPACE, Stage};

fn ovn(stage: &Stage) -> &Value {
    &stage.object(Node::Ovn).unwrap()["spec"]
}

#[test]
fn ovn_has_what_the_control_plane_says() {
    let resources = json!({ "requests": { "cpu": "1", "memory": "4Gi" } });
    let volume = json!({ "size": "20Gi", "storageClass": "fast" });
    let backup = json!({ "schedule": "30 1 * * *", "keep": 7, "storage": volume });
    let timers = json!({ "electionMilliseconds": 10000, "inactivityProbeMilliseconds": 180_000 });
    let stage = running(json!({ "infrastructure": {
        "mariadb": { "replicas": 1 },
        "ovn": {
            "northbound": { "storage": volume },
            "southbound": { "replicas": 5, "resources": resources },
            "timers": timers,
            "northd": { "replicas": 3 },
            "relay": { "replicas": 2, "resources": resources },
            "backup": backup,
        },
    } }));
    let spec = ovn(&stage);
    assert_eq!(
        spec["northbound"],
        json!({ "replicas": 1, "storage": volume })
    );
    assert_eq!(
        spec["southbound"],
        json!({ "replicas": 5, "storage": { "size": "10Gi" }, "resources": resources })
    );
    assert_eq!(spec["timers"], timers);
    assert_eq!(spec["northd"], json!({ "replicas": 3 }));
    assert_eq!(
        spec["relay"],
        json!({ "replicas": 2, "resources": resources })
    );
    assert_eq!(spec["backup"], backup);
}

#[test]
fn backups_of_ovn_that_do_not_succeed_are_reported() {
    let mut stage = Stage::running(json!({ "infrastructure": { "ovn": { "backup": {} } } }));
    let overdue = json!({
        "type": "BackedUp", "status": "False", "reason": "BackupOverdue", "message": "no backup of OVN has succeeded",
    });
    stage.report(Node::Ovn, overdue);
    let says: [String; 3] = stage.condition("OVNBackedUp").into();
    let message = "OVNCluster ovn: no backup of OVN has succeeded";
    assert_eq!(says, ["False", "BackupOverdue", message]);
    assert_eq!(stage.condition("Ready").0, "True");
}

/// The OVNCluster refuses other volumes.
#[test]
fn ovn_keeps_its_volumes() {
    let mut stage = running(json!({ "infrastructure": { "mariadb": { "replicas": 3 } } }));
    assert!(is_accepted(&stage));
    let volume = json!({ "size": "20Gi", "storageClass": "fast" });
    stage.want(|spec| {
        spec["infrastructure"]["ovn"] = json!({
            "northbound": { "storage": volume }, "southbound": { "replicas": 5 },
        });
    });
    stage.simulate();
    assert_eq!(
        ovn(&stage)["northbound"]["storage"],
        json!({ "size": "10Gi" })
    );
    assert_eq!(ovn(&stage)["southbound"]["replicas"], 5);
    let message = kept(&stage);
    assert!(
        message.starts_with(
            "OVN's northbound database keeps storage.size: 10Gi instead of 20Gi and storage.storageClass: the cluster's default instead \
             of fast: "
        ),
        "{message}"
    );
    stage.want(|spec| spec["infrastructure"]["ovn"] = json!({}));
    stage.simulate();
    assert!(is_accepted(&stage));
}

#[test]
fn relays_of_ovn_have_a_load_balancer_beside_its_members() {
    let mut stage = Stage::new(json!({
        "infrastructure": { "ovn": { "southbound": { "replicas": 1 }, "relay": { "replicas": 2 } } },
        "global": { "network": { "hypervisorNetworks": ["10.9.0.0/16"], "hypervisorAccess": {} } },
    }));
    stage.simulate();
    let service = |name: &str| {
        let key = Key::of::<Service>(NAMESPACE, &format!("{name}-hypervisors"));
        stage.cluster.get(&key).unwrap()["spec"].clone()
    };
    assert_eq!(
        service("ovn-sb")["selector"]["app.kubernetes.io/component"],
        "sb"
    );
    let relays = service("ovn-sb-relay");
    assert_eq!(
        relays["selector"],
        json!({
            "app.kubernetes.io/name": "ovn", "app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "sb-relay",
        })
    );
    assert_eq!(relays["ports"][0]["port"], 6642);
}

#[test]
fn default_zones_of_networks_are_passed_on_to_neutron() {
    let zones = json!(["eu-de-1a", "eu-de-1b"]);
    let neutron = json!({ "defaultAvailabilityZones": zones });
    let stage = Stage::running(json!({ "services": { "neutron": neutron } }));
    let neutron = stage.object(Node::Neutron).unwrap();
    assert_eq!(neutron["spec"]["defaultAvailabilityZones"], zones);
}
