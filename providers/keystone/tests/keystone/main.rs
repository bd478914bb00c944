//! A Keystone from its resource to a running API, in a small cluster in memory.

mod autoscaling;
mod changes;
mod evicted;
mod federation;
mod gateway;
mod lost;
mod metrics;
mod migrations;
mod mistakes;
mod reach;
mod rotation;
mod secrets;
mod stage;

use std::collections::BTreeSet;

use c5c3_api::keystone::KeystoneSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::{assert_recovers, difference, shown};
use serde_json::{Value, json};

use stage::{BROWNFIELD, KEYSTONE, MANAGED, given, ready, release, running, tasks};

/// All that Keystone is made of, in a release.
fn composed(document: &str, wanted: Option<&str>) -> Value {
    let mut cluster = given(document);
    if let Some(wanted) = wanted {
        release(&mut cluster, wanted);
    }
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
    shown(&answer)
}

#[test]
fn keystone_is_composed() {
    insta::assert_yaml_snapshot!("managed_2025_2", composed(MANAGED, None));
}

#[rstest::rstest]
#[case("managed_2026_1", MANAGED, Some("2026.1"))]
#[case("managed_2026_2", MANAGED, Some("2026.2"))]
#[case("brownfield", BROWNFIELD, None)]
fn keystone_of_another_release_or_with_external_servers_is_composed(
    #[case] name: &str,
    #[case] document: &str,
    #[case] wanted: Option<&str>,
) {
    let managed = composed(MANAGED, None);
    insta::assert_yaml_snapshot!(name, difference(&managed, &composed(document, wanted)));
}

#[test]
fn keystone_comes_step_by_step() {
    let mut cluster = given(MANAGED);
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let (status, reason, message) = cluster.condition(&KEYSTONE, "keystone", "DatabaseReady");
    assert_eq!((&*status, &*reason), ("False", "WaitingForDatabase"));
    assert_eq!(message, "waits for MariaDB openstack-db");
    assert!(tasks(&cluster).is_empty() && cluster.get::<Deployment>("keystone").is_none());

    cluster.simulate();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(tasks(&cluster), BTreeSet::from(["db-sync".to_owned()]));
    assert!(
        cluster.get::<Deployment>("keystone").is_none(),
        "an API without tables would answer 500"
    );

    cluster.simulate();
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(cluster.get::<Deployment>("keystone").is_some());
    assert!(tasks(&cluster).contains("bootstrap"));
    assert_eq!(ready(&cluster), "False");
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
}

#[test]
fn keystone_recovers_from_kills_of_its_operator() {
    assert_recovers(&KEYSTONE, "keystone", || {
        let mut cluster = given(MANAGED);
        cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
            keystone["spec"]["tls"] = json!({ "issuerRef": { "name": "ca" } });
        });
        cluster
    });
}

#[test]
fn composing_again_changes_nothing() {
    let mut cluster = running(MANAGED);
    let first = cluster.compose(&KEYSTONE, "keystone").unwrap();
    let second = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(shown(&first), shown(&second));
}

#[test]
fn no_secret_stands_outside_secrets() {
    let mut cluster = given(MANAGED);
    for _ in 0..10 {
        let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
        cluster.simulate();
        let others = answer
            .desired
            .objects
            .iter()
            .filter(|(key, _)| key.kind != Secret::KIND);
        for (key, object) in others {
            assert!(
                !object.to_string().contains("s3cret"),
                "{key} holds a secret"
            );
        }
        assert!(!answer.status.to_string().contains("s3cret"));
    }
}
