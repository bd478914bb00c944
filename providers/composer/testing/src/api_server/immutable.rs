//! Cases of fields that can't be changed.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::RoleBinding;
use provider_composer::Key;
use serde_json::{Value, json};

use super::requests::{NAMESPACE, force};
use super::{ApiServer, Request};

pub fn secret(server: &mut dyn ApiServer) {
    let one = Key::of::<Secret>(NAMESPACE, "immutable");
    let given = json!({ "immutable": true, "data": { "a": "YQ==" } });
    server.accepts(&one, Request::Create(given));
    for change in [
        json!({ "data": { "a": "Yg==" } }),
        json!({ "data": { "b": "Yg==" } }),
        json!({ "immutable": false }),
        json!({ "type": "example.com/other" }),
    ] {
        assert_eq!(server.refuses(&one, Request::Merge(change)), "Invalid");
    }
    let labels = Request::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    let now = server.accepts(&one, labels);
    assert_eq!(now["data"], json!({ "a": "YQ==" }));

    let one = Key::of::<Secret>(NAMESPACE, "typed");
    server.accepts(&one, Request::Create(json!({ "data": { "a": "YQ==" } })));
    let other = Request::Merge(json!({ "type": "example.com/other" }));
    assert_eq!(server.refuses(&one, other), "Invalid");
    let same = json!({ "type": "Opaque", "data": { "a": "Yg==" } });
    let now = server.accepts(&one, force("first", same));
    assert_eq!(now["type"], "Opaque");
    assert_eq!(now["data"], json!({ "a": "Yg==" }));
}

/// What pods are made from.
fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "a" } },
        "spec": { "containers": [{ "name": "main", "image": image }] },
    })
}

pub fn job(server: &mut dyn ApiServer) {
    let one = Key::of::<Job>(NAMESPACE, "job");
    let mut given = template("example.com/a");
    given["spec"]["restartPolicy"] = json!("Never");
    server.accepts(
        &one,
        Request::Create(json!({ "spec": { "template": given } })),
    );
    let image = json!({ "spec": { "template": template("example.com/b") } });
    assert_eq!(server.refuses(&one, Request::Merge(image)), "Invalid");
    let limits = json!({ "spec": { "ttlSecondsAfterFinished": 60, "backoffLimit": 2 } });
    let now = server.accepts(&one, Request::Merge(limits));
    assert_eq!(now["spec"]["ttlSecondsAfterFinished"], 60);
    assert_eq!(now["metadata"]["generation"], 2);
}

/// A set of pods, and that its selector can't be changed.
fn selected(server: &mut dyn ApiServer, key: &Key, more: &Value) {
    let mut spec = json!({
        "replicas": 1, "selector": { "matchLabels": { "app": "a" } }, "template": template("example.com/a"),
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    server.accepts(key, Request::Create(json!({ "spec": spec })));
    let labels = json!({ "app": "b" });
    let other = json!({ "spec": {
        "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels } },
    } });
    assert_eq!(server.refuses(key, Request::Merge(other)), "Invalid");
    let grown = json!({ "spec": { "replicas": 2, "template": template("example.com/b") } });
    let now = server.accepts(key, Request::Merge(grown));
    assert_eq!(now["spec"]["replicas"], 2);
    assert_eq!(now["metadata"]["generation"], 2);
}

pub fn deployment(server: &mut dyn ApiServer) {
    let one = Key::of::<Deployment>(NAMESPACE, "deployment");
    selected(server, &one, &json!({}));
}

pub fn stateful_set(server: &mut dyn ApiServer) {
    let one = Key::of::<StatefulSet>(NAMESPACE, "stateful-set");
    let claims = |size: &str| {
        let requests = json!({ "requests": { "storage": size } });
        let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": requests });
        json!([{ "metadata": { "name": "data" }, "spec": spec }])
    };
    let more = json!({ "serviceName": "a", "volumeClaimTemplates": claims("1Gi") });
    selected(server, &one, &more);
    for (field, value) in [
        ("serviceName", json!("b")),
        ("podManagementPolicy", json!("Parallel")),
        ("volumeClaimTemplates", claims("2Gi")),
    ] {
        let change = Request::Merge(json!({ "spec": { field: value } }));
        assert_eq!(server.refuses(&one, change), "Invalid", "{field}");
    }
}

pub fn role_binding(server: &mut dyn ApiServer) {
    let one = Key::of::<RoleBinding>(NAMESPACE, "role-binding");
    let role = |name: &str| {
        let group = "rbac.authorization.k8s.io";
        json!({ "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": name } })
    };
    server.accepts(&one, Request::Create(role("view")));
    assert_eq!(
        server.refuses(&one, Request::Merge(role("edit"))),
        "Invalid"
    );
}
