//! A Keystone behind a Gateway, by what the statuses of the route and of the Gateway say.

use c5c3_api::keystone::KeystoneSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::gateway::{Gateway, HttpRoute};
use provider_composer::{Custom, Resource};
use provider_openstack_fixtures::{Cluster, NAMESPACE};
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, ready, running};

const TAKE: &str = "waits for Gateway public to take HTTPRoute keystone";
const RESOLVE: &str = "waits for Gateway public to resolve the references of HTTPRoute keystone";

/// A Keystone whose route a Gateway of this namespace has accepted. There is another Gateway of the same name.
fn accepted(namespace: Option<&str>) -> Cluster {
    accepted_by(&json!({ "name": "public", "namespace": namespace }))
}

/// The same with a Gateway as `expose` names it.
fn accepted_by(gateway: &Value) -> Cluster {
    let mut cluster = running(MANAGED);
    for namespace in [NAMESPACE, "gateways"] {
        cluster.put_gateway(namespace, "public");
    }
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["expose"] =
            json!({ "hostname": "identity.example.com", "gateway": gateway });
    });
    cluster.settle(&KEYSTONE, "keystone");
    cluster.accept_route("keystone");
    assert_eq!(exposed(&mut cluster), "True");
    cluster
}

/// Changes the first parent in the status of the route.
fn change_parent(cluster: &mut Cluster, change: impl FnOnce(&mut Value)) {
    cluster.change::<Manifest<HttpRoute>>("keystone", |route| {
        change(&mut route["status"]["parents"][0]);
    });
}

/// Keystone is Ready, and waits for the Gateway to be exposed.
fn assert_waits(cluster: &mut Cluster, message: &str) {
    assert_eq!(exposed(cluster), "False");
    let (_, reason, said) = cluster.condition(&KEYSTONE, "keystone", "Exposed");
    assert_eq!((&*reason, &*said), ("WaitingForGateway", message));
    assert_eq!(ready(cluster), "True");
}

/// The status of the condition, once nothing changes any more.
fn exposed(cluster: &mut Cluster) -> String {
    cluster.settle(&KEYSTONE, "keystone");
    cluster.condition(&KEYSTONE, "keystone", "Exposed").0
}

#[rstest::rstest]
#[case(None, NAMESPACE)]
#[case(Some("gateways"), "gateways")]
fn gateway_that_is_deleted_is_named_and_keeps_no_keystone_unready(
    #[case] namespace: Option<&str>,
    #[case] found_in: &str,
) {
    let mut cluster = accepted(namespace);
    cluster.delete_gateway(found_in, "public");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(answer.status["publicEndpoint"], Value::Null);
    let waits = format!(
        "waits for Gateway {found_in}/public, which doesn't exist: create it, or name another one"
    );
    assert_eq!(
        cluster.condition(&KEYSTONE, "keystone", "Exposed"),
        ("False".to_owned(), "WaitingForGateway".to_owned(), waits)
    );
    assert_eq!(ready(&cluster), "True");
    assert!(cluster.get::<Manifest<HttpRoute>>("keystone").is_some());

    cluster.put_gateway(found_in, "public");
    let answer = cluster.settle(&KEYSTONE, "keystone");
    assert_eq!(
        answer.status["publicEndpoint"],
        "https://identity.example.com"
    );
    assert_eq!(exposed(&mut cluster), "True");
}

#[test]
fn gateway_that_cannot_be_read_is_taken_to_exist() {
    let mut cluster = accepted(Some("gateways"));
    cluster.set_readable(Gateway::KIND, false);
    cluster.delete_gateway("gateways", "public");
    assert_eq!(exposed(&mut cluster), "True");
    cluster.set_readable(Gateway::KIND, true);
    assert_eq!(exposed(&mut cluster), "False");
}

#[test]
fn route_waits_for_what_its_own_gateway_says_of_its_present_generation() {
    let changes: [fn(&mut Value); 3] = [
        |parent| parent["parentRef"]["name"] = json!("private"),
        |parent| parent["parentRef"]["namespace"] = json!("gateways"),
        |parent| parent["conditions"][0]["observedGeneration"] = json!(0),
    ];
    for change in changes {
        let mut cluster = accepted(None);
        change_parent(&mut cluster, change);
        assert_waits(&mut cluster, TAKE);
    }
    let mut cluster = accepted(None);
    change_parent(&mut cluster, |parent| {
        parent["parentRef"]["namespace"] = json!(NAMESPACE);
    });
    assert_eq!(exposed(&mut cluster), "True");
}

#[test]
fn route_whose_references_are_not_resolved_is_not_exposed() {
    let mut cluster = accepted(None);
    let resolved = |cluster: &mut Cluster, condition: Value| {
        change_parent(cluster, |parent| parent["conditions"][1] = condition);
    };
    let refused = json!({ "type": "ResolvedRefs", "status": "False", "reason": "RefNotPermitted" });
    resolved(&mut cluster, refused);
    assert_waits(&mut cluster, &format!("{RESOLVE}: RefNotPermitted"));
    let earlier = json!({ "type": "ResolvedRefs", "status": "True", "observedGeneration": 0 });
    resolved(&mut cluster, earlier);
    assert_waits(&mut cluster, RESOLVE);
}

#[test]
fn route_is_exposed_by_one_listener_unless_it_names_another() {
    let parent = |listener: &str, status: &str| {
        let conditions =
            ["Accepted", "ResolvedRefs"].map(|type_| json!({ "type": type_, "status": status }));
        let gateway = json!({ "name": "public", "sectionName": listener });
        json!({ "parentRef": gateway, "conditions": conditions })
    };
    let parents = [parent("http", "False"), parent("https", "True")];
    for (listener, status) in [
        (Value::Null, "True"),
        (json!("https"), "True"),
        (json!("http"), "False"),
    ] {
        let mut cluster = accepted_by(&json!({ "name": "public", "sectionName": listener }));
        cluster.change::<Manifest<HttpRoute>>("keystone", |route| {
            route["status"]["parents"] = json!(parents);
        });
        assert_eq!(exposed(&mut cluster), status, "{listener}");
    }
}

#[test]
fn gateway_that_is_not_programmed_is_named() {
    let named = "waits for Gateway openstack/public to be programmed";
    let pending = json!([{ "type": "Programmed", "status": "Unknown", "message": "no address" }]);
    let earlier = json!([{ "type": "Programmed", "status": "True", "observedGeneration": 0 }]);
    for (conditions, message) in [
        (pending, format!("{named}: no address")),
        (earlier, named.to_owned()),
        (json!([]), named.to_owned()),
    ] {
        let mut cluster = accepted(None);
        cluster.change_gateway(NAMESPACE, "public", |gateway| {
            gateway["status"]["conditions"] = conditions;
        });
        assert_waits(&mut cluster, &message);
    }
}

/// A Keystone behind a Gateway with listeners of which only these are programmed.
fn programmed(gateway: &Value, programmed: &[&str]) -> Cluster {
    let mut cluster = accepted_by(gateway);
    let listeners = [
        ("http", "HTTP", Value::Null),
        ("other", "HTTPS", json!("*.other.example.com")),
        ("https", "HTTPS", json!("*.example.com")),
    ];
    cluster.change_gateway(NAMESPACE, "public", |gateway| {
        let specs = listeners.iter().map(|(name, protocol, hostname)| {
            json!({ "name": name, "protocol": protocol, "hostname": hostname })
        });
        gateway["spec"]["listeners"] = specs.collect();
        let statuses = listeners.iter().map(|(name, _, _)| {
            let status = match programmed.contains(name) {
                true => "True",
                false => "False",
            };
            let condition = json!({ "type": "Programmed", "status": status, "reason": "Invalid" });
            json!({ "name": name, "conditions": [condition] })
        });
        gateway["status"]["listeners"] = statuses.collect();
    });
    cluster
}

#[test]
fn listener_of_the_host_name_that_is_not_programmed_is_named() {
    let (any, http) = (
        json!({ "name": "public" }),
        json!({ "name": "public", "sectionName": "http" }),
    );
    let named = |listener: &str| {
        format!(
            "waits for listener {listener} of Gateway openstack/public to be programmed: Invalid"
        )
    };
    let mut cluster = programmed(&any, &["http", "other"]);
    assert_waits(&mut cluster, &named("https"));
    let mut cluster = programmed(&http, &["other", "https"]);
    assert_waits(&mut cluster, &named("http"));
    assert_eq!(exposed(&mut programmed(&any, &["https"])), "True");
    assert_eq!(exposed(&mut programmed(&http, &["http"])), "True");
}
