//! The status as JSON, for programs.

use c5c3_plan::{Manifest, Readiness, readiness};
use serde_json::{Value, json};

use crate::snapshot::{Selection, Snapshot, is_gone};

/// The message of a claim that is gone.
const GONE: &str = "the claim is deleted, and objects that were composed for it are left";

impl Snapshot {
    /// What is shown, as a list: claims first, then what the project's operators work on, each with all that was composed for it.
    pub(crate) fn json(&self, selection: &Selection) -> Value {
        let claims = self.claims(selection).map(|claim| {
            let mut shown = shown(claim, Vec::new());
            report(claim, &mut shown);
            let drains = self.drains(claim).into_iter();
            shown["drains"] = drains
                .map(|(pool, message)| json!({"pool": pool, "message": message}))
                .collect();
            let data = self.data(claim).into_iter();
            shown["data"] = data
                .map(|data| {
                    json!({
                        "cluster": data.cluster, "kind": data.kind, "name": data.name,
                        "message": data.message,
                    })
                })
                .collect();
            let left = self.left(claim).into_iter();
            shown["left"] = left
                .map(|left| {
                    json!({
                        "cluster": left.cluster, "kind": left.object.kind(),
                        "namespace": left.object.namespace(), "name": left.object.name(),
                        "message": left.message,
                    })
                })
                .collect();
            if is_gone(claim) {
                shown["message"] = json!(GONE);
            }
            shown
        });
        let resources = self.operated(selection);
        let resources = resources.iter().map(|(resource, _)| {
            let composed = resource.all().into_iter();
            let composed = composed.flat_map(|operated| &operated.manifests);
            let composed = composed.map(|object| shown(object, Vec::new()));
            let mut shown = shown(&resource.resource, composed.collect());
            if resource.resource.kind() == "ControlPlane" {
                report(&resource.resource, &mut shown);
            }
            shown
        });
        claims.chain(resources).collect()
    }
}

/// Adds what a claim or a ControlPlane reports besides its conditions.
fn report(manifest: &Manifest, shown: &mut Value) {
    for field in ["endpoints", "connection", "verified"] {
        shown[field] = manifest.status()[field].clone();
    }
}

fn shown(manifest: &Manifest, composed: Vec<Value>) -> Value {
    let (ready, message) = match readiness(manifest) {
        Readiness::Ready => (true, String::new()),
        Readiness::Waiting(why) => (false, why),
    };
    json!({
        "apiVersion": manifest.api_version(),
        "kind": manifest.kind(),
        "namespace": manifest.namespace(),
        "name": manifest.name(),
        "ready": ready,
        "message": message,
        "conditions": manifest.status()["conditions"],
        "composed": composed,
    })
}
