//! A Tempest from its resource to results, in a small cluster in memory.

#![cfg(test)]

mod logs;
mod results;
mod schedule;

use c5c3_api::tempest::TempestSpec;
use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use provider_composer::{Custom, Operator, Resource};
use provider_openstack_fixtures::{Cluster, assert_recovers, shown};
use provider_tempest::Tempest;
use serde_json::{Value, json};

const TEMPEST: Tempest = Tempest;

const DOCUMENT: &str = r#"
kind: Tempest
metadata: { name: tempest, namespace: openstack, uid: "1234" }
spec:
  release: "2025.2"
  schedule: "0 2 * * *"
  keystone:
    authUrl: https://keystone.openstack.svc.cluster.local:5000/v3
    appCredentialRef: { name: tempest-app-credential-secret }
  tests:
    services: [compute, image]
    includeRegex: "tempest\\.(api|scenario)"
    excludeRegex: "\n$(touch /tmp/a)'\"; [auth]\nuse_dynamic_credentials = false #$$"
  resources: { limits: { memory: 4Gi } }
  dependsOn:
    - { kind: Keystone, name: keystone, condition: Ready }
"#;

fn given() -> Cluster {
    given_as(DOCUMENT)
}

fn given_as(document: &str) -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    credential(&mut cluster, "1f2e");
    cluster.put_document::<Custom<TempestSpec>>(document);
    cluster.keystone(true);
    cluster
}

fn credential(cluster: &mut Cluster, id: &str) {
    cluster.secret(
        "tempest-app-credential-secret",
        &[
            ("application_credential_id", id),
            ("application_credential_secret", "app-s3cret"),
        ],
    );
}

fn change(cluster: &mut Cluster, spec: &Value) {
    cluster.change::<Custom<TempestSpec>>("tempest", |tempest| {
        for (field, value) in spec.as_object().into_iter().flatten() {
            tempest["spec"][field] = value.clone();
        }
    });
}

fn passed(cluster: &Cluster) -> (String, String, String) {
    cluster.condition(&TEMPEST, "tempest", "TestsPassed")
}

fn scheduled(cluster: &Cluster) -> &Value {
    cluster.all::<CronJob>()["tempest-scheduled"]
}

fn status(cluster: &Cluster) -> &Value {
    &cluster.all::<Custom<TempestSpec>>()["tempest"]["status"]
}

/// The names of the Jobs that run the tests once.
fn jobs(cluster: &Cluster) -> Vec<String> {
    cluster
        .all::<Job>()
        .into_keys()
        .map(str::to_owned)
        .collect()
}

/// A pod of the CronJob, with this state of its container.
fn pod(cluster: &mut Cluster, name: &str, phase: &str, state: &Value) {
    let labels =
        &scheduled(cluster)["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"];
    let pod = json!({
        "metadata": { "labels": labels },
        "status": { "phase": phase, "containerStatuses": [{
            "name": "tempest", "image": "a", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        }] },
    });
    cluster.put::<Pod>(name, pod);
}

/// A run that ends now with this termination message.
fn ends(cluster: &mut Cluster, name: &str, message: &str) {
    cluster.wait(SignedDuration::from_mins(1));
    let finished = cluster.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let state = json!({ "terminated": { "exitCode": 0, "reason": "Completed", "finishedAt": finished, "message": message } });
    pod(cluster, name, "Succeeded", &state);
    cluster.settle(&TEMPEST, "tempest");
}

#[test]
fn all_that_tempest_is_made_of() {
    let mut cluster = given();
    let answer = cluster.settle(&TEMPEST, "tempest");
    let ready = cluster.condition(&TEMPEST, "tempest", "Ready");
    assert_eq!(ready.0, "True", "{ready:?}");
    insta::assert_yaml_snapshot!(shown(&answer));
}

#[test]
fn tempest_recovers_from_kills_of_its_operator() {
    assert_recovers(&TEMPEST, "tempest", given);
}

#[test]
fn no_secret_is_in_a_config_map_and_no_pod_has_a_token() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    for (name, map) in cluster.all::<ConfigMap>() {
        assert!(!map.to_string().contains("s3cret"), "{name}");
    }
    let pods = cluster.all::<Job>().into_values();
    let pods = pods.map(|job| &job["spec"]["template"]["spec"]);
    let scheduled = &scheduled(&cluster)["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    for pod in pods.chain([scheduled]) {
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert!(!pod.to_string().contains("touch"), "nor what a user writes");
    }
}

#[test]
fn extra_configuration_with_a_secret_is_in_a_secret() {
    let mut cluster = given();
    change(
        &mut cluster,
        &json!({ "extraConfig": { "identity": { "admin_password": "user-s3cret" } } }),
    );
    cluster.settle(&TEMPEST, "tempest");
    let of = |name: &&str| name.starts_with("tempest-config-");
    assert_eq!(cluster.all::<ConfigMap>().into_keys().filter(of).count(), 0);
    assert_eq!(cluster.all::<Secret>().into_keys().filter(of).count(), 1);
}

#[test]
fn application_credential_is_in_use_until_no_pod_has_it() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "1f2e");
    pod(
        &mut cluster,
        "tempest-scheduled-1-a",
        "Running",
        &json!({ "running": {} }),
    );
    credential(&mut cluster, "3d4c");
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "1f2e");
    cluster.delete::<Pod>("tempest-scheduled-1-a");
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "3d4c");
}

#[test]
fn application_credential_is_in_use_while_pods_cannot_be_read() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    credential(&mut cluster, "3d4c");
    cluster.set_readable(Pod::KIND, false);
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "1f2e");
    cluster.set_readable(Pod::KIND, true);
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(status(&cluster)["applicationCredential"], "3d4c");
}

#[rstest::rstest]
#[case(json!({ "schedule": "0 0 30 2 *" }), "Invalid", "schedule \"0 0 30 2 *\" is never due: write minute")]
#[case(
    json!({ "release": null, "image": { "tag": "main" } }),
    "ReleaseUnknown",
    "the image's tag main doesn't say which OpenStack release it is: give release, for instance 2025.2"
)]
#[case(
    json!({ "extraConfig": { "auth": { "use_dynamic_credentials": "false" } } }),
    "OwnedByOperator",
    "extraConfig sets [auth] use_dynamic_credentials, and the operator owns it: use nothing: each run has an administrator"
)]
#[case(
    json!({ "extraConfig": { "service_available": { "nova": "false" } } }),
    "OwnedByOperator",
    "use tests.services, and leave it out of extraConfig"
)]
#[case(
    json!({ "extraConfig": { "compute": { "image_ref": "a\u{7}" } } }),
    "InvalidConfiguration",
    "extraConfig gives [compute] image_ref a value with a control character: leave it out"
)]
fn a_mistake_is_told_with_what_to_do(
    #[case] mistake: Value,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let mut cluster = given();
    change(&mut cluster, &mistake);
    let failure = cluster.compose(&TEMPEST, "tempest").err().unwrap();
    assert_eq!(failure.reason().to_string(), reason);
    assert!(failure.to_string().contains(message), "{failure}");
}

/// The name of the domain that runs create, and its description.
fn domain(uid: &str, controller: Option<&str>) -> (String, String) {
    domain_of(uid, "c5c3.io/v1alpha1, kind: ControlPlane", controller)
}

/// With a controller of this API version and kind.
fn domain_of(uid: &str, kind: &str, controller: Option<&str>) -> (String, String) {
    let owners = controller.map_or_else(String::new, |uid| {
        format!(
            ", ownerReferences: [{{ apiVersion: {kind}, name: a, uid: \"{uid}\", controller: true }}]"
        )
    });
    let metadata = format!("uid: \"{uid}\"{owners}");
    let mut cluster = given_as(&DOCUMENT.replace("uid: \"1234\"", &metadata));
    cluster.settle(&TEMPEST, "tempest");
    let maps = cluster.all::<ConfigMap>();
    let files = &maps.values().next().unwrap()["data"];
    let mut lines = files["tempest.conf"].as_str().unwrap().lines();
    let prefix = lines.find_map(|line| line.strip_prefix("resource_name_prefix = "));
    let tests: Value = serde_json::from_str(files["tests.json"].as_str().unwrap()).unwrap();
    let owner = tests["owner"].as_str().unwrap();
    (prefix.unwrap().to_owned(), owner.to_owned())
}

#[test]
fn tempest_that_its_control_plane_creates_again_finds_what_is_left() {
    let first = domain("1", Some("90"));
    assert_eq!(first.1, "Tests of the owner with the UID 90");
    assert_eq!(domain("2", Some("90")), first);
    let others = [
        domain("1", Some("91")),
        domain("1", None),
        domain("2", None),
    ];
    for other in &others {
        assert!(other.0 != first.0 && other.1 != first.1, "{other:?}");
    }
    assert_ne!(others[1], others[2]);
}

/// Such an owner may have several Tempests at once, whose runs would delete each other's domains.
#[rstest::rstest]
#[case::of_another_kind("example.org/v1, kind: Clouds")]
#[case::of_another_group("example.org/v1, kind: ControlPlane")]
#[case::of_kubernetes("v1, kind: ConfigMap")]
fn tempest_of_an_owner_that_is_not_a_control_plane_has_a_domain_of_its_own(#[case] kind: &str) {
    for uid in ["1", "2"] {
        assert_eq!(domain_of(uid, kind, Some("90")), domain(uid, None));
    }
}

/// A newer Tempest tests an older release.
#[test]
fn any_version_of_tempest_tests_any_release() {
    let mut cluster = given();
    change(
        &mut cluster,
        &json!({ "release": "2025.2", "image": { "tag": "47.0.0" } }),
    );
    let answer = cluster.settle(&TEMPEST, "tempest");
    let labels = answer
        .desired
        .objects
        .values()
        .map(|object| &object["metadata"]["labels"]);
    assert!(labels.clone().count() > 1);
    for labels in labels {
        assert_eq!(labels["app.kubernetes.io/version"], "2025.2");
    }
}

#[test]
fn operator_reads_pods_and_changes_none() {
    let pods = TEMPEST
        .uses()
        .into_iter()
        .filter(|used| used.kind == Pod::KIND);
    let access: Vec<_> = pods.map(|used| used.access).collect();
    assert_eq!(access, [provider_composer::Access::Reads]);
}
