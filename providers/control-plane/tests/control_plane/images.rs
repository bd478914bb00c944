//! Images of servers: K-ORC downloads them to Glance, where they stay.

use provider_composer::{Key, ResourceKind};
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

const CHECKSUM: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn key() -> Key {
    let kind = ResourceKind::namespaced("openstack.k-orc.cloud", "v1alpha1", "Image", "images");
    Key::new(kind, NAMESPACE, "debian-12")
}

fn images() -> Value {
    json!({ "bootstrap": { "images": [{
        "name": "debian-12",
        "url": "https://images.example.com/debian-12.raw.xz",
        "checksum": format!("sha256:{CHECKSUM}"),
        "diskFormat": "raw",
        "compression": "xz",
        "minDiskGB": 3,
    }] } })
}

fn condition(type_: &str, reason: &str, message: &str) -> Value {
    json!({ "type": type_, "status": "False", "reason": reason, "message": message })
}

/// A control plane whose image K-ORC could not download.
fn refused() -> Stage {
    let mut stage = Stage::running(images());
    let status = json!({
        "id": "id-of-debian-12",
        "conditions": [
            condition("Available", "InvalidConfiguration", "gave up"),
            condition("Progressing", "InvalidConfiguration", "Unable to download content after 5 attempts"),
            condition("Downloading", "TransientError", "download hash verification failed. got: 00"),
        ],
    });
    stage.cluster.set_status(&key(), status);
    stage.settle();
    stage
}

/// What is said of an image of which K-ORC says these things.
fn said(conditions: Value) -> String {
    let mut stage = Stage::running(images());
    let status = json!({ "conditions": conditions });
    stage.cluster.set_status(&key(), status);
    stage.settle();
    stage.condition("ImagesReady").2
}

fn set(stage: &mut Stage, field: &str, value: Value) {
    stage.want(|spec| spec["bootstrap"]["images"][0][field] = value);
}

fn url(stage: &Stage) -> &Value {
    let object = stage.cluster.get(&key()).unwrap();
    &object["spec"]["resource"]["content"]["download"]["url"]
}

#[test]
fn images_are_created_once_glance_is_ready_and_detached_when_they_are_removed() {
    let mut stage = Stage::new(images());
    stage.held.insert(Node::Glance);
    stage.simulate();
    assert_eq!(stage.cluster.get(&key()), None);
    assert_eq!(stage.condition("ImagesReady").0, "False");
    stage.held.clear();
    stage.simulate();
    assert_eq!(
        stage.cluster.get(&key()).unwrap()["spec"],
        json!({
            "cloudCredentialsRef": { "cloudName": "volumes", "secretName": "k-orc-clouds" },
            "managementPolicy": "managed",
            "managedOptions": { "onDelete": "detach" },
            "resource": {
                "visibility": "public",
                "tags": [format!("sha256:{CHECKSUM}"), "format:raw:xz:3GB:0MB"],
                "properties": { "minDiskGB": 3 },
                "content": {
                    "diskFormat": "raw",
                    "download": {
                        "url": "https://images.example.com/debian-12.raw.xz",
                        "decompress": "xz",
                        "hash": { "algorithm": "sha256", "value": CHECKSUM },
                    },
                },
            },
        })
    );
    assert_eq!(stage.condition("ImagesReady").0, "True");
    stage.want(|spec| spec["bootstrap"] = json!({}));
    stage.simulate();
    assert_eq!(stage.cluster.get(&key()), None);
}

#[test]
fn an_image_that_k_orc_refuses_is_reported_and_ready_waits_for_nothing() {
    let stage = refused();
    let (status, reason, message) = stage.condition("ImagesReady");
    assert_eq!([status, reason], ["False", "RefusedByKORC"]);
    assert_eq!(
        message,
        "K-ORC gave up on Image debian-12: its checksum differs from that of the downloaded file; correct the cause, then delete Image \
         debian-12 to retry"
    );
    assert_eq!(stage.condition("Ready").0, "True");
}

#[test]
fn what_k_orc_says_of_an_image_is_not_repeated() {
    let secret = "error requesting https://10.0.0.1/a?signature=s3cret: got 00";
    let failed =
        format!("the download failed: see `kubectl describe image debian-12 -n {NAMESPACE}`");
    let failed = failed.as_str();
    let pending = "it isn't in Glance yet, and K-ORC downloads one image at a time";
    for (progressing, downloading, expected) in [
        ("TransientError", None, failed),
        ("InvalidConfiguration", None, failed),
        ("Progressing", Some("TransientError"), failed),
        ("Progressing", Some("Success"), pending),
        ("Progressing", None, pending),
    ] {
        let mut conditions = vec![condition("Progressing", progressing, secret)];
        conditions.extend(downloading.map(|reason| condition("Downloading", reason, secret)));
        let message = said(Value::from(conditions));
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
        assert!(!message.contains("10.0.0.1"), "{message}");
    }
}

#[test]
fn an_image_is_only_taken_over_as_what_it_was_created_of() {
    let tags = |field: &str, value: Value| {
        let mut spec = images();
        spec["bootstrap"]["images"][0][field] = value;
        let stage = Stage::running(spec);
        stage.cluster.get(&key()).unwrap()["spec"]["resource"]["tags"].clone()
    };
    let former = tags("name", json!("debian-12"));
    for (field, value) in content() {
        assert_ne!(tags(field, value), former, "{field}");
    }
    let url = json!("https://other.example.com/a.raw.xz");
    assert_eq!(tags("url", url), former);
}

/// Other contents of the image.
fn content() -> [(&'static str, Value); 6] {
    [
        ("checksum", json!(format!("sha256:{}", "0".repeat(64)))),
        ("checksum", json!(format!("sha512:{}", "0".repeat(128)))),
        ("diskFormat", json!("qcow2")),
        ("compression", json!("none")),
        ("minDiskGB", json!(0)),
        ("minRamMB", json!(512)),
    ]
}

#[test]
fn a_corrected_url_creates_an_image_again_that_was_not_downloaded() {
    let mut stage = refused();
    let corrected = json!("https://images.example.com/12/debian-12.raw.xz");
    set(&mut stage, "url", corrected.clone());
    stage.settle();
    assert_eq!(*url(&stage), corrected);
    assert_eq!(stage.condition("ImagesReady").0, "False");
    stage.simulate();
    assert_eq!(stage.condition("ImagesReady").0, "True");
}

#[test]
fn another_url_changes_nothing_of_an_image_that_is_in_glance() {
    let mut stage = Stage::running(images());
    let before = stage.cluster.get(&key()).cloned();
    set(
        &mut stage,
        "url",
        json!("https://other.example.com/a.raw.xz"),
    );
    stage.simulate();
    assert_eq!(stage.cluster.get(&key()).cloned(), before);
    assert_eq!(stage.condition("ImagesReady").0, "True");
}

#[test]
fn another_content_of_an_image_needs_another_name() {
    for (field, value) in content() {
        let mut stage = Stage::running(images());
        let before = stage.cluster.get(&key()).cloned();
        set(&mut stage, field, value);
        stage.simulate();
        let (status, reason, message) = stage.condition("ImagesReady");
        assert_eq!([status, reason], ["False", "NameTaken"], "{field}");
        assert!(message.contains("another name"), "{message}");
        assert_eq!(stage.cluster.get(&key()).cloned(), before, "{field}");
        assert_eq!(stage.condition("Ready").0, "True");
    }
}

#[test]
fn an_image_of_another_owner_is_not_taken_over() {
    let mut stage = Stage::running(json!({}));
    let content = json!({ "download": { "url": "https://other.example.com/a.raw" } });
    let theirs = json!({ "spec": { "resource": { "content": content } } });
    stage.cluster.put(&key(), &theirs);
    stage.want(|spec| spec["bootstrap"] = images()["bootstrap"].clone());
    stage.settle();
    let (_, reason, message) = stage.condition("Ready");
    assert_eq!(reason, "NameTaken");
    assert!(message.contains("Image debian-12"), "{message}");
    assert_eq!(stage.cluster.get(&key()).unwrap()["spec"], theirs["spec"]);
}

#[test]
fn images_without_glance_are_refused() {
    let mut spec = images();
    let off = json!({ "enabled": false });
    spec["services"] = json!({ "glance": off, "nova": off, "cinder": off });
    let mut stage = Stage::new(spec);
    stage.simulate();
    let (status, reason, _) = stage.condition("ImagesReady");
    assert_eq!([status, reason], ["False", "Unsupported"]);
}

#[test]
fn images_are_deleted_before_glance() {
    let mut stage = Stage::running(images());
    stage.cluster.hold(key().kind);
    let control_plane = stage.key.clone();
    stage.cluster.delete(&control_plane);
    for _ in 0..8 {
        stage.settle();
    }
    let image = stage.cluster.get(&key()).unwrap();
    assert!(image["metadata"].get("deletionTimestamp").is_some());
    assert!(stage.object(Node::Glance).is_some());
    assert!(stage.object(Node::Keystone).is_some());
    stage.cluster.release(&key());
    for _ in 0..64 {
        stage.settle();
    }
    assert!(stage.cluster.get(&control_plane).is_none());
}
