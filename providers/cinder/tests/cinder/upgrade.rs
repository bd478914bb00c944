//! The end of an upgrade.

use c5c3_api::cinder::CinderSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{CINDER, running};

/// It starts while the others are older, and Cinder sends to others only what the oldest understood when a program started.
#[test]
fn scheduler_starts_again_once_all_of_cinder_runs_a_release() {
    let started_again = |cluster: &Cluster| {
        let scheduler = cluster.get::<Deployment>("cinder-scheduler").unwrap();
        scheduler["spec"]["template"]["metadata"]["annotations"]["c5c3.io/peers"].clone()
    };
    let mut cluster = running();
    assert_eq!(started_again(&cluster), Value::Null);
    cluster.change::<Custom<CinderSpec>>("cinder", |cinder| {
        cinder["spec"]["release"] = json!("2026.1");
    });
    for _ in 0..20 {
        let before = started_again(&cluster);
        cluster.compose(&CINDER, "cinder").unwrap();
        if before.is_null() {
            let mut jobs = cluster.all::<Job>().into_keys();
            assert!(!jobs.any(|name| name.starts_with("cinder-db-online")));
        }
        cluster.simulate();
    }
    assert_eq!(started_again(&cluster), "2026.1");
    let api = cluster.get::<Deployment>("cinder").unwrap();
    assert!(api["spec"]["template"]["metadata"]["annotations"]["c5c3.io/peers"].is_null());
    let cinder = cluster.get::<Custom<CinderSpec>>("cinder").unwrap();
    assert_eq!(cinder["status"]["release"], "2026.1");

    // What isn't known of it replaces no pods.
    cluster.set_unreadable::<Deployment>("cinder-scheduler");
    cluster.compose(&CINDER, "cinder").unwrap();
    assert_eq!(started_again(&cluster), "2026.1");
}
