//! A Keystone in a small cluster in memory.

use std::collections::BTreeSet;

use c5c3_api::keystone::KeystoneSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Failure};
use provider_keystone::Keystone;
use provider_openstack_fixtures::Cluster;
pub use provider_openstack_fixtures::documents::KEYSTONE as MANAGED;
use serde_json::{Value, json};

pub const KEYSTONE: Keystone = Keystone;

/// Keystone as the architecture shows it: one resource with a version, and servers that somebody else runs.
pub const BROWNFIELD: &str = r#"
kind: Keystone
metadata: { name: keystone, namespace: openstack }
spec:
  replicas: 3
  image: { repository: ghcr.io/openstack-control-planes/keystone, tag: "28.0.0" }
  database: { host: db.example.com, secretRef: { name: keystone-db-credentials }, database: keystone }
  cache:
    backend: dogpile.cache.pymemcache
    servers: ["memcached-0.memcached:11211", "memcached-1.memcached"]
  fernet: { rotationSchedule: "0 0 * * 0", maxActiveKeys: 3 }
  federation: { enabled: false }
  tls: { enabled: false }
  bootstrap:
    adminUser: admin
    adminPasswordSecretRef: { name: keystone-admin-credentials, key: password }
    region: RegionOne
"#;

pub fn given(document: &str) -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.put_document::<Custom<KeystoneSpec>>(document);
    cluster
}

/// A Keystone with more in its spec, as far as it comes.
pub fn with(more: Value) -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    let mut spec = json!({
        "release": "2025.2",
        "replicas": 2,
        "resources": { "requests": { "cpu": "100m" } },
        "database": { "clusterRef": { "name": "openstack-db" } },
        "bootstrap": { "adminPasswordSecretRef": { "name": "keystone-admin-credentials" } },
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    cluster.put::<Custom<KeystoneSpec>>("keystone", json!({ "spec": spec }));
    cluster.settle(&KEYSTONE, "keystone");
    cluster
}

/// The status and the message of a condition.
pub fn condition(cluster: &Cluster, type_: &str) -> (String, String) {
    let (status, _, message) = cluster.condition(&KEYSTONE, "keystone", type_);
    (status, message)
}

pub fn running(document: &str) -> Cluster {
    let mut cluster = given(document);
    cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(ready(&cluster), "True");
    cluster
}

/// A Keystone whose database is migrated for the first time, and the name of that Job.
pub fn migrating() -> Result<(Cluster, String), Failure> {
    let mut cluster = given(MANAGED);
    cluster.compose(&KEYSTONE, "keystone")?;
    cluster.simulate();
    cluster.compose(&KEYSTONE, "keystone")?;
    let sync = job(&cluster, "db-sync");
    Ok((cluster, sync))
}

pub fn ready(cluster: &Cluster) -> String {
    cluster.condition(&KEYSTONE, "keystone", "Ready").0
}

pub fn release(cluster: &mut Cluster, release: &str) {
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["release"] = json!(release)
    });
}

/// The tag of the API's image; empty where there is none.
pub fn tag(cluster: &Cluster) -> String {
    let deployment = cluster.get::<Deployment>("keystone");
    let image = deployment.and_then(|deployment| {
        deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str()
    });
    let tag = image.and_then(|image| image.rsplit(':').next());
    tag.unwrap_or_default().to_owned()
}

/// Tasks of the Jobs that there are.
pub fn tasks(cluster: &Cluster) -> BTreeSet<String> {
    let jobs = cluster.all::<Job>().into_values();
    jobs.filter_map(|job| {
        job["metadata"]["labels"]["c5c3.io/task"]
            .as_str()
            .map(str::to_owned)
    })
    .collect()
}

/// The name of the first Job of a task; empty where there is none.
pub fn job(cluster: &Cluster, task: &str) -> String {
    let jobs = cluster.all::<Job>().into_keys();
    let mut names = jobs.filter(|name| name.starts_with(&format!("keystone-{task}-")));
    names.next().unwrap_or_default().to_owned()
}

/// The text of the configuration file; empty where there is none.
pub fn configuration(cluster: &Cluster) -> String {
    let secrets = cluster.all::<Secret>().into_keys();
    let mut names = secrets.filter(|name| name.starts_with("keystone-config-"));
    let name = names.next_back();
    name.and_then(|name| cluster.value(name, "keystone.conf"))
        .unwrap_or_default()
}
