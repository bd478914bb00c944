//! Keys of credentials that no Secret has any more.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use provider_openstack_fixtures::Cluster;
use rstest::rstest;
use serde_json::json;

use crate::stage::{KEYSTONE, MANAGED, ready, running};

const MOUNTED: &str = "keystone-credential-keys";
const SINGLE: [&str; 2] = ["keystone-credential-key-1", "keystone-credential-key-2"];

fn compose(cluster: &mut Cluster) {
    // Once to see what is lost, once to take up what would have been made.
    assert!(cluster.compose(&KEYSTONE, "keystone").is_ok());
    assert!(cluster.compose(&KEYSTONE, "keystone").is_ok());
}

fn assert_awaited(cluster: &Cluster) {
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "CredentialKeysReady");
    assert_eq!((&*status, &*reason), ("False", "WaitingForKeys"));
    let names =
        "neither Secret keystone-credential-keys nor Secrets keystone-credential-key-<number>";
    assert!(message.contains(names), "{message}");
    assert_eq!(ready(cluster), "False");
    for name in SINGLE {
        assert!(cluster.get::<Secret>(name).is_none(), "{name} is made anew");
    }
}

#[test]
fn keys_of_credentials_that_are_lost_are_awaited_and_never_made_anew() {
    let mut cluster = running(MANAGED);
    let pods = cluster.get::<Deployment>("keystone").unwrap()["spec"].clone();
    let saved = cluster.get::<Secret>(SINGLE[0]).unwrap().clone();
    let first = cluster.value(SINGLE[0], "key").unwrap();
    for name in SINGLE.into_iter().chain([MOUNTED]) {
        cluster.delete::<Secret>(name);
    }
    compose(&mut cluster);
    assert_awaited(&cluster);
    assert!(cluster.get::<Secret>(MOUNTED).is_none());
    let deployment = cluster.get::<Deployment>("keystone").unwrap();
    assert_eq!(deployment["spec"], pods, "its pods have the keys");

    cluster.put::<Secret>(SINGLE[0], saved);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
    assert_eq!(cluster.value(MOUNTED, "1"), Some(first));
}

#[test]
fn keys_of_credentials_without_values_are_awaited_and_never_made_anew() {
    let mut cluster = running(MANAGED);
    cluster.change::<Secret>(MOUNTED, |secret| secret["data"] = json!({}));
    for name in SINGLE {
        cluster.delete::<Secret>(name);
    }
    compose(&mut cluster);
    assert_awaited(&cluster);
}

#[rstest]
fn single_key_that_is_not_that_of_the_pods_is_reported_until_it_is_deleted(
    #[values("b3RoZXI=", "")] other: &str,
) {
    let mut cluster = running(MANAGED);
    let first = cluster.value(SINGLE[0], "key");
    cluster.change::<Secret>(SINGLE[0], |secret| {
        secret["data"]["key"] = json!(other);
    });
    cluster.settle(&KEYSTONE, "keystone");
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "CredentialKeysSaved");
    assert_eq!((&*status, &*reason), ("False", "KeysDiffer"));
    let names =
        "Secrets keystone-credential-key-1 don't have the keys of Secret keystone-credential-keys";
    assert!(message.starts_with(names), "{message}");
    assert!(!message.contains("  "), "{message}");
    assert_eq!(ready(&cluster), "True");
    assert_eq!(cluster.value(MOUNTED, "1"), first, "the pods' keys count");

    cluster.delete::<Secret>(SINGLE[0]);
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(cluster.value(SINGLE[0], "key"), first);
    let conditions = answer.status["conditions"].to_string();
    assert!(!conditions.contains("KeysSaved"), "{conditions}");
}

#[test]
fn key_of_credentials_that_is_empty_counts_as_lost() {
    let mut cluster = running(MANAGED);
    let first = cluster.value(MOUNTED, "1").unwrap();
    cluster.change::<Secret>(MOUNTED, |secret| secret["data"]["1"] = json!(""));
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(cluster.value(MOUNTED, "1"), Some(first));

    cluster.delete::<Secret>(MOUNTED);
    cluster.change::<Secret>(SINGLE[0], |secret| secret["data"]["key"] = json!(""));
    compose(&mut cluster);
    let (status, reason, _) = cluster.condition(&KEYSTONE, "keystone", "CredentialKeysReady");
    assert_eq!((&*status, &*reason), ("False", "InvalidSecret"));
    assert!(cluster.get::<Secret>(MOUNTED).is_none());
}
