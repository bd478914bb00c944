//! Stores in Ceph: their Secrets, and the Jobs that look at their pools.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_openstack_fixtures::documents::RBD;

use super::{GLANCE, SEVERAL, given};

#[test]
fn ceph_is_said_to_be_connected_only_when_a_pod_has_seen_it() {
    let mut cluster = given(RBD);
    cluster.compose(&GLANCE, "glance").unwrap();
    assert_eq!(
        cluster.condition(&GLANCE, "glance", "CephConnected").1,
        "WaitingForJob"
    );
    let job = cluster
        .all::<Job>()
        .into_keys()
        .find(|name| name.starts_with("glance-ceph-"))
        .unwrap()
        .to_owned();
    cluster.finish_job(&job, "Failed");
    cluster.compose(&GLANCE, "glance").unwrap();
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "JobFailed"));
    let expected = format!(
        "Job {job} failed (the backoff limit was reached): often Ceph has no pool images, refuses user glance, its key has no capabilities"
    );
    assert!(message.starts_with(&expected), "{message}");

    cluster.secret(
        "glance-ceph-credentials",
        &[
            ("userID", "glance"),
            ("keyring", "right-s3cret"),
            ("ceph.conf", "[global]"),
        ],
    );
    cluster.settle(&GLANCE, "glance");
    assert_eq!(
        cluster.condition(&GLANCE, "glance", "CephConnected").0,
        "True"
    );
}

#[test]
fn ceph_is_connected_when_every_store_in_it_is() {
    let mut cluster = given(SEVERAL);
    cluster.delete::<Secret>("flash-ceph-credentials");
    cluster.settle(&GLANCE, "glance");
    let (status, _, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!(status, "False");
    assert!(message.contains("flash-ceph-credentials"), "{message}");
    assert!(cluster.get::<Deployment>("glance").is_none());
}

#[test]
fn a_job_looks_at_each_pool() {
    let mut cluster = given(SEVERAL);
    cluster.compose(&GLANCE, "glance").unwrap();
    let pools: BTreeSet<String> = cluster
        .all::<Job>()
        .into_values()
        .map(|job| {
            let variables = &job["spec"]["template"]["spec"]["containers"][0]["env"];
            variables[1]["value"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(pools, ["flash", "images"].map(str::to_owned).into());
}

#[rstest::rstest]
#[case(&[("userID", "glance"), ("ceph.conf", "[global]")], "Secret glance-ceph-credentials has no value under the key keyring")]
#[case(&[("keyring", "k-s3cret"), ("ceph.conf", "[global]")], "has no value under the key userID")]
#[case(
    &[("userID", "glance"), ("keyring", "[client.glance]\n\tkey =\n"), ("ceph.conf", "[global]")],
    "the keyring in Secret glance-ceph-credentials has no key: put in what `ceph auth get client.glance` prints"
)]
#[case(
    &[("userID", "client.glance"), ("keyring", "k-s3cret"), ("ceph.conf", "[global]")],
    "Ceph's user is client.glance: write it without client."
)]
fn a_secret_without_what_ceph_needs_is_named(
    #[case] values: &[(&str, &str)],
    #[case] expected: &str,
) {
    let mut cluster = given(RBD);
    cluster.secret("glance-ceph-credentials", values);
    cluster.settle(&GLANCE, "glance");
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "InvalidSecret")
    );
    assert!(message.contains(expected), "{message}");
    assert!(cluster.get::<Deployment>("glance").is_none());
}
