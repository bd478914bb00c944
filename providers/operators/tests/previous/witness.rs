//! What may not happen to the objects of a control plane when its operators change.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;
use provider_composer::{Key, Resource};
use provider_composer_testing::Cluster;
use provider_composer_testing::dump::Dump;
use serde_json::Value;

/// Kinds whose objects hold data.
const WITH_DATA: [&str; 9] = [
    "CephBlockPool",
    "CephFilesystem",
    "CephObjectStore",
    "Database",
    "MariaDB",
    "PersistentVolumeClaim",
    "RabbitmqCluster",
    "StatefulSet",
    "Valkey",
];

/// Objects of the previous version that this one deletes on purpose, as kind and name. docs/upgrade.md has to name each.
const DELETED: [(&str, &str); 1] = [("Backup", "openstack-db-ff47f0f2")];

/// Secrets that this version generates and the previous one didn't. A password that moves to another Secret would be another password.
const GENERATED: [&str; 1] = ["nova-cell1-migration"];

/// Objects as they were, and which of them may be deleted.
pub struct Witness {
    objects: BTreeMap<Key, Value>,
    generated: BTreeMap<Key, Value>,
    may_delete: fn(&Key) -> bool,
}

impl Witness {
    /// Of a previous control plane, of which this version deletes only what is listed.
    pub fn of(dump: &Dump) -> Self {
        let generated = dump.objects.iter().filter(|dumped| dumped.is_generated());
        Self {
            objects: revised(
                dump.objects
                    .iter()
                    .map(|dumped| (dumped.key(), dumped.object.clone())),
            ),
            generated: generated
                .map(|dumped| (dumped.key(), dumped.object["data"].clone()))
                .collect(),
            may_delete: |key| DELETED.contains(&(key.kind.kind, key.name.as_str())),
        }
    }

    /// Of this version's control plane, of which a previous one deletes what it doesn't know, but no data.
    pub fn of_data(cluster: &Cluster) -> Self {
        let objects = cluster.objects().iter();
        Self {
            objects: revised(objects.map(|(key, object)| (key.clone(), Value::clone(object)))),
            generated: BTreeMap::new(),
            may_delete: |key| !holds_data(key),
        }
    }

    /// Checks that nothing is deleted, created again, or generated again.
    pub fn check(&self, cluster: &Cluster) {
        for (key, before) in &self.objects {
            match cluster.get(key) {
                None => assert!((self.may_delete)(key), "{key} is deleted"),
                Some(now) => assert!(
                    uid(now) == uid(before) || (self.may_delete)(key),
                    "{key} is deleted and created again"
                ),
            }
        }
        for (secret, data) in &self.generated {
            let now = cluster.get(secret).map(|secret| &secret["data"]);
            assert_eq!(now, Some(data), "{secret} has other values");
        }
        for secret in cluster.generated().keys() {
            let is_listed = GENERATED.contains(&secret.name.as_str());
            assert!(is_listed, "{secret} is generated");
        }
    }
}

/// Objects other than those that a change of their content replaces by one of another name.
fn revised(objects: impl Iterator<Item = (Key, Value)>) -> BTreeMap<Key, Value> {
    let stay = |(key, object): &(Key, Value)| object["immutable"] != true && key.kind != Job::KIND;
    objects.filter(stay).collect()
}

fn holds_data(key: &Key) -> bool {
    WITH_DATA.contains(&key.kind.kind)
}

fn uid(object: &Value) -> &Value {
    &object["metadata"]["uid"]
}

#[test]
fn no_object_with_data_is_deleted_on_purpose() {
    let with_data = DELETED.iter().find(|(kind, _)| WITH_DATA.contains(kind));
    assert_eq!(with_data, None);
}
