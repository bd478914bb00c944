//! Rotations, looked at on another day. The API server writes down when a credential was made and can't be given another time; so the
//! real composer looks at the real objects, with another date on its clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use lab::{Cluster, Context, Result, kind};
use provider_composer::{
    Composer, ExternalRequest, Key, Lookup, ObservedState, Operator, ResourceKind, Selection,
    Source, Subject,
};
use provider_control_plane::rotation::CredentialRotationComposer;
use serde_json::Value;

use super::ROTATION;
use super::catalogue::NAMESPACE;

/// The objects of one namespace, as they were read.
struct Snapshot(BTreeMap<Key, Arc<Value>>);

impl Source for Snapshot {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        self.0
            .get(key)
            .map_or(Lookup::Missing, |object| Lookup::Found(Arc::clone(object)))
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        let objects = self.0.iter();
        let of_kind = objects.filter(|(key, _)| key.kind == selection.kind);
        let labelled = of_kind.filter(|(_, object)| selection.labels_match(object));
        Lookup::Found(labelled.map(|(_, object)| Arc::clone(object)).collect())
    }

    fn external(&self, _: &ExternalRequest) -> Lookup<Arc<Value>> {
        Lookup::Missing
    }
}

/// Looks at the rotation once, so many days from now, and writes down what it says.
pub async fn look(cluster: &Cluster, days: i64) -> Result<()> {
    let rotation =
        Key::of::<Subject<<CredentialRotationComposer as Composer>::Spec>>(NAMESPACE, "glance");
    let mut objects = BTreeMap::new();
    for used in Composer::uses(&CredentialRotationComposer) {
        let ResourceKind {
            group,
            version,
            kind: name,
            ..
        } = used.kind;
        let api_version: &'static str = match group {
            "" => version,
            _ => used.kind.api_version().leak(),
        };
        for object in cluster.list(kind(api_version, name), "").await? {
            let object = serde_json::to_value(object)?;
            let key = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            if key("namespace") == NAMESPACE {
                objects.insert(
                    Key::new(used.kind, NAMESPACE, key("name")),
                    Arc::new(object),
                );
            }
        }
    }
    let snapshot = Snapshot(objects);
    let now = Timestamp::now() + SignedDuration::from_hours(24 * days);
    let observed = ObservedState::new(&snapshot, now);
    let resource = snapshot.0.get(&rotation).context("there is no rotation")?;
    let mut status = CredentialRotationComposer
        .composed(resource, &observed)?
        .status;
    // A status is merged: what it says no more is taken out of it.
    for (field, _) in resource["status"].as_object().into_iter().flatten() {
        if status.get(field).is_none() {
            status[field] = Value::Null;
        }
    }
    cluster
        .set_status(ROTATION, "openstack/glance", status)
        .await
        .map(drop)
}
