//! An OVNCluster and its OVNChassis in a cluster in memory.

#![cfg(test)]

mod chassis;
mod gauges;
mod killed;
mod members;
mod relays;
mod stage;

use c5c3_kinds::{Manifest, cert_manager::Certificate};
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod, Secret};
use provider_composer::{Key, Resource, ResourceKind};
use serde_json::{Value, json};

use stage::{Stage, hypervisor, key, subject};

#[test]
fn backup_schedule_that_is_never_due_is_reported_and_leaves_the_backups_as_they_are() {
    let mut stage = Stage::new(json!({ "backup": { "schedule": "0 2 * * *" } }));
    stage.serve();
    stage.change(json!({ "backup": { "schedule": "0 2 31 2 *" } }));
    stage.reconcile();
    let conditions = stage.conditions();
    let says = "BackedUp Invalid backup.schedule \"0 2 31 2 *\" is never due: write";
    assert!(
        conditions
            .iter()
            .any(|condition| condition.starts_with(says)),
        "{conditions:?}"
    );
    let ready = "Ready Ready ".to_owned();
    assert!(conditions.contains(&ready), "OVN serves");
    let job = key::<CronJob>("ovn-backup");
    assert_eq!(stage.field(&job, "/spec/schedule"), "0 2 * * *");
}

#[test]
fn ovn_cluster_is_composed() {
    let mut stage = Stage::new(json!({
        "relay": { "replicas": 2 },
        "backup": {},
        "chassis": {
            "bridgeMappings": [{ "physicalNetwork": "external", "bridge": "br-ex" }],
            "gatewayNodeSelector": { "zone": "a" },
        },
    }));
    stage.node("node-1", hypervisor());
    stage.node("node-2", json!({}));
    stage.serve();
    stage.is_available("ovn-sb-relay");
    stage.reconcile();
    let given = [
        subject(),
        key::<Secret>("ovn-tls"),
        Key::of::<Node>("", "node-1"),
    ];
    let pods = |kind: ResourceKind| [Pod::KIND, Node::KIND].contains(&kind);
    let objects = stage.cluster.objects().iter();
    let objects = objects.filter(|(key, _)| !given.contains(key) && !pods(key.kind));
    let objects: serde_json::Map<_, _> = objects
        .map(|(key, object)| {
            let mut object = Value::clone(object);
            for field in ["metadata", "status"] {
                object.as_object_mut().unwrap().remove(field);
            }
            if let Some(Value::Object(data)) = object.get_mut("data") {
                data.retain(|name, _| !name.ends_with(".sh"));
            }
            (key.to_string(), object)
        })
        .collect();
    insta::assert_yaml_snapshot!(objects);
    insta::assert_yaml_snapshot!(stage.field(&subject(), "/status"));
}

#[test]
fn backup_whose_pod_is_evicted_has_no_second_pod_before_it_has_ended() {
    let mut stage = Stage::new(json!({ "backup": {} }));
    stage.serve();
    let job = key::<CronJob>("ovn-backup");
    let policy = stage.field(&job, "/spec/jobTemplate/spec/podReplacementPolicy");
    assert_eq!(policy, "Failed");
}

#[test]
fn backup_that_does_not_succeed_for_an_interval_is_reported() {
    let mut stage = Stage::new(json!({ "backup": { "schedule": "0 2 * * *" } }));
    stage.serve();
    let backed_up = |stage: &Stage| {
        let conditions = stage.conditions().into_iter();
        let mut found = conditions.filter(|condition| condition.starts_with("BackedUp"));
        found.next()
    };
    let waits = "BackedUp WaitingForBackup waits for the first Job of CronJob ovn-backup";
    assert_eq!(backed_up(&stage), Some(waits.to_owned()));

    stage.cluster.wait(SignedDuration::from_hours(27));
    stage.reconcile();
    let fails = "BackedUp BackupOverdue no backup of OVN has succeeded: see the Jobs of CronJob ovn-backup, and correct what their \
                 logs name";
    assert_eq!(backed_up(&stage), Some(fails.to_owned()));
    let ready = "Ready Ready ".to_owned();
    assert!(stage.conditions().contains(&ready), "OVN serves");

    let now = stage.cluster.now().to_string();
    let job = key::<CronJob>("ovn-backup");
    stage
        .cluster
        .set_status(&job, json!({ "lastSuccessfulTime": now }));
    stage.reconcile();
    assert_eq!(backed_up(&stage), Some("BackedUp Ready ".to_owned()));
    stage.change(json!({}));
    stage.reconcile();
    assert_eq!(backed_up(&stage), None, "there is no backup");
}

#[test]
fn volume_of_backups_does_not_shrink() {
    let backup = |size: &str| json!({ "backup": { "storage": { "size": size } } });
    let mut stage = Stage::new(backup("20Gi"));
    stage.serve();
    stage.change(backup("10Gi"));
    stage.reconcile();
    let claim = key::<PersistentVolumeClaim>("ovn-backup");
    assert_eq!(
        stage.field(&claim, "/spec/resources/requests/storage"),
        "20Gi"
    );
    let kept = "SizeAccepted Unsupported PersistentVolumeClaim ovn-backup keeps size: 20Gi instead of 10Gi: ";
    let conditions = stage.conditions();
    assert!(
        conditions
            .iter()
            .any(|condition| condition.starts_with(kept)),
        "{conditions:?}"
    );

    stage.change(backup("20Gi"));
    stage.reconcile();
    let conditions = stage.conditions();
    assert!(
        !conditions
            .iter()
            .any(|condition| condition.starts_with("SizeAccepted"))
    );
}

#[test]
fn cert_manager_issues_certificates_of_servers_clients_and_nodes() {
    let issuer = json!({ "name": "internal", "kind": "ClusterIssuer" });
    let mut stage = Stage::new(json!({ "tls": { "issuerRef": issuer } }));
    stage.reconcile();
    let objects = stage.cluster.objects().iter();
    let certificates = objects.filter(|(key, _)| key.kind.kind == "Certificate");
    let certificates: Vec<_> = certificates.map(|(_, object)| &object["spec"]).collect();
    insta::assert_yaml_snapshot!(certificates);
}

#[test]
fn issuer_that_may_sign_for_others_is_reported() {
    let reported = |tls: Value| {
        let mut stage = Stage::new(json!({ "tls": tls }));
        stage.reconcile();
        let mut conditions = stage.conditions().into_iter();
        conditions.find(|condition| condition.starts_with("IssuerExclusive"))
    };
    let shared = json!({ "name": "site", "kind": "ClusterIssuer" });
    let says = "IssuerExclusive IssuerShared every certificate of ClusterIssuer site, also of others, gives access to the databases: when no \
                client has to connect for some minutes, name in tls.issuerRef an Issuer that signs for this OVNCluster alone (of a \
                ControlPlane: as its condition IssuerExclusive says)";
    assert_eq!(
        reported(json!({ "issuerRef": shared })),
        Some(says.to_owned())
    );
    for others in [
        json!({ "issuerRef": { "name": "site", "kind": "Issuer" } }),
        json!({ "enabled": false, "issuerRef": shared }),
        json!({}),
    ] {
        assert_eq!(reported(others), None);
    }
}

#[test]
fn missing_certificate_is_named_and_nothing_runs_without_it() {
    let mut stage = Stage::new(json!({ "tls": { "certSecretRef": { "name": "other" } } }));
    stage.reconcile();
    let waits = "WaitingForSecret waits for Secret other with certificate, key and ca.crt of OVN: create it, or set \
                 tls.issuerRef (of a ControlPlane: global.tls.internalIssuerRef)";
    let expected = [
        "NorthboundReady",
        "SouthboundReady",
        "ControllersReady",
        "Ready",
        "Reconciling",
    ];
    let expected = expected.map(|type_| format!("{type_} {waits}"));
    assert_eq!(stage.conditions(), expected);
    assert_eq!(stage.cluster.get(&key::<StatefulSet>("ovn-nb")), None);
}

#[test]
fn issuer_that_refuses_is_quoted_while_the_certificate_is_missing() {
    let mut stage = Stage::new(json!({ "tls": { "issuerRef": { "name": "internal" } } }));
    stage.cluster.delete(&key::<Secret>("ovn-tls"));
    stage.reconcile();
    let message = "the issuer refused the name";
    let issuing =
        json!({ "type": "Issuing", "status": "False", "reason": "Failed", "message": message });
    let certificate = key::<Manifest<Certificate>>("ovn-tls");
    let refused = json!({ "conditions": [issuing] });
    stage.cluster.set_status(&certificate, refused);
    stage.reconcile();
    let waits = format!(
        "NorthboundReady WaitingForSecret waits for Secret ovn-tls with a certificate from cert-manager: {message}"
    );
    assert!(
        stage.conditions().contains(&waits),
        "{:?}",
        stage.conditions()
    );
}

#[test]
fn certificates_that_are_not_renewed_are_reported() {
    for name in ["ovn-tls", "ovn-client", "ovn-chassis-tls"] {
        let mut stage = Stage::new(json!({ "tls": { "issuerRef": { "name": "internal" } } }));
        stage.reconcile();
        let status =
            json!({ "renewalTime": "2026-01-22T00:00:00Z", "notAfter": "2026-02-08T00:00:00Z" });
        let certificate = key::<Manifest<Certificate>>(name);
        stage.cluster.set_status(&certificate, status);
        stage.reconcile();
        let says = format!(
            "CertificatesRenewed CertificateNotRenewed Certificate {name} was to be renewed at "
        );
        let conditions = stage.conditions();
        assert!(
            conditions
                .iter()
                .any(|condition| condition.starts_with(&says)),
            "{conditions:?}"
        );
    }
}

/// A node that is taken over must not be able to pose as the databases.
#[test]
fn nodes_never_get_the_key_of_the_servers() {
    let mut stage = Stage::new(json!({}));
    stage.cluster.delete(&key::<Secret>("ovn-chassis-tls"));
    stage.serve();
    assert_eq!(stage.cluster.get(&key::<Secret>("ovn-chassis")), None);
    let waits = "AgentsConfigured WaitingForSecret waits for Secret ovn-chassis-tls with certificate, key and ca.crt of the \
                 nodes: create it, or set tls.issuerRef (of a ControlPlane: global.tls.internalIssuerRef)";
    assert!(
        stage.conditions().contains(&waits.to_owned()),
        "{:?}",
        stage.conditions()
    );
}

#[test]
fn settings_of_agents_are_reported_as_unsupported() {
    let mut stage = Stage::new(json!({
        "ovs": { "nodeSelector": { "role": "switch" } },
        "controller": { "resources": { "requests": { "cpu": "1" } } },
    }));
    stage.reconcile();
    let reported = stage.conditions().into_iter();
    let reported = reported.filter(|condition| condition.starts_with("AgentSettingsApplied"));
    assert_eq!(
        reported.collect::<Vec<_>>(),
        [
            "AgentSettingsApplied Unsupported HypervisorPool and HypervisorShare say how nodes run agents, and ovs, \
             controller.resources has no effect: remove it"
        ]
    );
}

#[test]
fn lost_certificate_deletes_nothing() {
    let mut stage = Stage::new(json!({}));
    stage.serve();
    let before: Vec<Key> = stage.cluster.objects().keys().cloned().collect();
    stage.cluster.delete(&key::<Secret>("ovn-tls"));
    stage.reconcile();
    let before = before.into_iter();
    let before: Vec<Key> = before
        .filter(|one| *one != key::<Secret>("ovn-tls"))
        .collect();
    let after: Vec<Key> = stage.cluster.objects().keys().cloned().collect();
    assert_eq!(after, before);
}

#[test]
fn new_image_reaches_the_databases_then_northd_then_nodes() {
    let image = |tag: &str| json!({ "ovnImage": { "repository": "ovn", "tag": tag } });
    let mut stage = Stage::new(image("1"));
    stage.serve();
    stage.northd_is_available();
    stage.change(image("2"));
    let images = |stage: &Stage| {
        let container = "/spec/template/spec/containers/0/image";
        let node: k8s_openapi::ByteString =
            serde_json::from_value(stage.field(&key::<Secret>("ovn-chassis"), "/data/release"))
                .unwrap();
        [
            stage.field(&key::<StatefulSet>("ovn-nb"), container),
            stage.field(&key::<Deployment>("ovn-northd"), container),
            json!(String::from_utf8(node.0).unwrap()),
        ]
        .map(|image| image.as_str().unwrap().to_owned())
    };
    stage.reconcile();
    let mut seen = vec![images(&stage)];
    stage.ready("nb", &[0, 1, 2]);
    stage.reconcile();
    seen.push(images(&stage));
    stage.ready("sb", &[0, 1, 2]);
    stage.reconcile();
    seen.push(images(&stage));
    stage.northd_is_available();
    stage.reconcile();
    seen.push(images(&stage));
    assert_eq!(
        seen,
        [
            ["ovn:2", "ovn:1", "1"],
            ["ovn:2", "ovn:1", "1"],
            ["ovn:2", "ovn:2", "1"],
            ["ovn:2", "ovn:2", "2"],
        ]
    );
}
