//! provider-kubernetes: an Object's manifest is applied to the cluster it names, and comes back in the Object's status.

use std::collections::BTreeSet;

use c5c3_kinds::provider_kubernetes::{NAMESPACED_OBJECT, OBJECT};
use serde_json::json;

use crate::Error;
use crate::manifest::Manifest;
use crate::resource::GARDEN;
use crate::settle::Reconciler;
use crate::store::{Key, MANAGEMENT, Store};

/// provider-kubernetes.
#[derive(Default)]
pub struct Provider {
    /// How many changes of the store were checked.
    checked: usize,
}

/// Whether this is an Object, of whichever version.
pub fn is_object(manifest: &Manifest) -> bool {
    let mut kinds = [OBJECT, NAMESPACED_OBJECT].into_iter();
    kinds.any(|known| manifest.kind() == known.kind && manifest.group() == known.group)
}

/// The cluster that an Object is for, by the name of its provider configuration.
pub fn cluster(object: &Manifest) -> &str {
    object.text("/spec/providerConfigRef/name")
}

impl Reconciler for Provider {
    fn reconcile(&mut self, store: &mut Store) -> Result<(), Error> {
        let checked = std::mem::replace(&mut self.checked, store.moment());
        let changed: BTreeSet<&Key> = store.since(checked).iter().collect();
        let places = changed.iter().map(|key| {
            [&key.api_version, &key.kind, &key.namespace, &key.name].map(String::as_str)
        });
        let places: BTreeSet<[&str; 4]> = places.collect();
        let mut objects: Vec<(String, Key, Manifest)> = store
            .iter()
            .filter(|(key, manifest)| key.cluster == MANAGEMENT && is_object(manifest))
            .filter(|(key, object)| changed.contains(key) || places.contains(&place(object)))
            .map(|(key, manifest)| (since(store, key), key.clone(), manifest.clone()))
            .collect();
        objects.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        for (_, key, object) in objects {
            let wanted = object.spec()["forProvider"]["manifest"].clone();
            let status = match Manifest::try_from(wanted) {
                Ok(wanted) => {
                    let applied = apply(&object, wanted, &key, store);
                    let manifest = applied.and_then(|key| Some(store.get(&key)?.value()));
                    json!({
                        "atProvider": manifest.map_or(json!({}), |manifest| json!({ "manifest": manifest })),
                        "conditions": [
                            { "type": "Synced", "status": "True", "reason": "ReconcileSuccess" },
                            { "type": "Ready", "status": "True", "reason": "Available" },
                        ],
                    })
                }
                Err(error) => json!({
                    "conditions": [
                        {
                            "type": "Synced",
                            "status": "False",
                            "reason": "ReconcileError",
                            "message": error.to_string(),
                        },
                    ],
                }),
            };
            store.set_status(&key, status);
        }
        Ok(())
    }
}

/// API version, kind, namespace and name of what an Object is for.
fn place(object: &Manifest) -> [&str; 4] {
    ["apiVersion", "kind", "metadata/namespace", "metadata/name"]
        .map(|field| object.text(&format!("/spec/forProvider/manifest/{field}")))
}

/// When the composite resource of an Object was created: who came first owns a name.
fn since(store: &Store, object: &Key) -> String {
    let composite = store.maker(object).and_then(|maker| store.get(maker));
    composite.map_or_else(String::new, |composite| {
        composite.text("/metadata/creationTimestamp").to_owned()
    })
}

/// Applies a manifest as far as the Object's policies allow; none where there is nothing and nothing may be created.
/// A Shoot that was given is first moved into the Object's cluster.
fn apply(object: &Manifest, wanted: Manifest, maker: &Key, store: &mut Store) -> Option<Key> {
    let key = Key::of(cluster(object), &wanted);
    let given = store.get(&Key::of(GARDEN, &wanted)).cloned();
    if let Some(given) = given.clone().filter(|_| store.get(&key).is_none()) {
        store.apply(cluster(object), given, None);
    }
    let policies = object.spec()["managementPolicies"].as_array();
    let may = |action: &str| policies.is_none_or(|all| all.iter().any(|policy| policy == action));
    let may_apply = match store.get(&key) {
        Some(_) => may("Update") || store.maker(&key) == Some(maker),
        None => may("Create"),
    };
    if may_apply {
        let wanted = match given {
            Some(given) => wanted.with_metadata_of(&given),
            None => wanted,
        };
        store.apply(cluster(object), wanted, Some(maker));
    }
    store.get(&key).is_some().then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_travels_to_its_cluster_and_its_status_comes_back() {
        let mut store = Store::default();
        let object = json!({
            "apiVersion": "kubernetes.crossplane.io/v1alpha2",
            "kind": "Object",
            "metadata": { "name": "o" },
            "spec": {
                "providerConfigRef": { "name": "far" },
                "forProvider": {
                    "manifest": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } },
                },
            },
        });
        let object = store.apply(MANAGEMENT, Manifest::try_from(object).unwrap(), None);
        let mut provider = Provider::default();
        provider.reconcile(&mut store).unwrap();
        let namespace = store.made_by(&object).next().unwrap().0.clone();
        assert_eq!(namespace.to_string(), "Namespace n in far");

        store.set_status(&namespace, json!({ "phase": "Active" }));
        provider.reconcile(&mut store).unwrap();
        let phase = "/status/atProvider/manifest/status/phase";
        assert_eq!(store.get(&object).unwrap().text(phase), "Active");
    }
}
