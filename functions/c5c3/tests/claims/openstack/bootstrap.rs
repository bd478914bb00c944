//! What the tenant finds on the first day: the site's part, and the claim's.

use function_c5c3_fixtures::{Call, Outcome};
use serde_json::{Value, json};

use super::call;

/// A call at a site that gives every control plane a flavor, and two claims addresses of an external network.
fn site(spec: Value, bootstrap: Value) -> Call {
    let mut call = call("customer-a-prod");
    for (field, value) in spec.as_object().into_iter().flatten() {
        call.composite["spec"][field] = value.clone();
    }
    if let Some(input) = &mut call.input {
        input["bootstrap"] = bootstrap;
    }
    call
}

fn input() -> Value {
    json!({
        "flavors": [flavor("m1.small", 1)],
        "externalNetworks": { "internet": {
            "physicalNetwork": "physnet1",
            "cidr": "203.0.113.0/24",
            "gateway": "203.0.113.1",
            "allocationPools": {
                "tenant-customer-a/customer-a-prod": [range(10, 19)],
                "tenant-customer-b/customer-b-prod": [range(20, 29)],
            },
        } },
    })
}

fn flavor(name: &str, vcpus: u32) -> Value {
    json!({ "name": name, "vcpus": vcpus, "ramMB": 2048, "diskGB": 20, "public": true })
}

fn range(start: u8, end: u8) -> Value {
    json!({ "start": format!("203.0.113.{start}"), "end": format!("203.0.113.{end}") })
}

fn bootstrap(outcome: &Outcome) -> Value {
    outcome.manifest("control-plane")["spec"]["bootstrap"].clone()
}

#[test]
fn control_plane_gets_the_sites_flavors_and_the_claims_own_addresses() {
    let spec = json!({ "network": { "externalNetwork": "internet" } });
    let outcome = site(spec, input()).run();
    assert_eq!(
        bootstrap(&outcome),
        json!({
            "flavors": [flavor("m1.small", 1)],
            "externalNetwork": {
                "physicalNetwork": "physnet1",
                "shared": false,
                "subnet": {
                    "cidr": "203.0.113.0/24", "gateway": "203.0.113.1", "allocationPools": [range(10, 19)],
                },
            },
        })
    );
}

#[test]
fn claims_of_a_site_never_share_an_address() {
    let mut input = input();
    input["externalNetworks"]["internet"]["allocationPools"]["tenant-customer-b/customer-b-prod"] =
        json!([range(19, 29)]);
    let spec = json!({ "network": { "externalNetwork": "internet" } });
    let outcome = site(spec, input).run();
    assert_eq!(
        outcome.fatal.as_deref(),
        Some(
            "bootstrap.externalNetworks.internet of the Composition's input gives addresses of 203.0.113.19 to 203.0.113.29 to both \
         tenant-customer-a/customer-a-prod and tenant-customer-b/customer-b-prod: give each claim addresses of its own"
        )
    );
}

#[test]
fn a_claim_without_addresses_gets_only_the_name() {
    let spec = json!({ "network": { "externalNetwork": "intranet" } });
    let outcome = site(spec, input()).run();
    assert_eq!(
        bootstrap(&outcome),
        json!({ "flavors": [flavor("m1.small", 1)] })
    );
    let network = &outcome.manifest("control-plane")["spec"]["global"]["network"];
    assert_eq!(network["externalNetwork"], "intranet");
}

#[test]
fn flavors_of_a_claim_need_the_sites_consent_and_never_replace_the_sites() {
    let own = json!({ "bootstrap": { "flavors": [flavor("m1.small", 64), flavor("own", 2)] } });
    let outcome = site(own.clone(), input()).run();
    assert_eq!(
        bootstrap(&outcome)["flavors"],
        json!([flavor("m1.small", 1)])
    );
    let (status, reason, message) = &outcome.conditions["FlavorsAllowed"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert_eq!(
        message,
        "this site has flavors of these names, or allows none of claims: remove m1.small, own from spec.bootstrap.flavors, or ask \
         the platform team for bootstrap.allowFlavors in the Composition's input"
    );
    let mut allowing = input();
    allowing["allowFlavors"] = json!(true);
    let outcome = site(own, allowing).run();
    assert_eq!(
        bootstrap(&outcome)["flavors"],
        json!([flavor("m1.small", 1), flavor("own", 2)])
    );
}

#[test]
fn a_first_network_is_the_claims_or_where_tenants_have_access_the_sites() {
    let first = |spec: &Value, site_has_access: bool| {
        let mut call = site(
            spec.clone(),
            json!({ "network": { "cidr": "192.168.0.0/24" } }),
        );
        if let Some(input) = call.input.as_mut().filter(|_| site_has_access) {
            let store = json!({ "name": "tenants", "kind": "ClusterSecretStore" });
            input["tenantAccess"] = json!({ "secretStore": store });
        }
        bootstrap(&call.run())["network"]["cidr"].clone()
    };
    let own = json!({ "bootstrap": { "network": { "cidr": "10.0.0.0/24" } } });
    assert_eq!(first(&json!({}), false), Value::Null);
    assert_eq!(first(&json!({}), true), "192.168.0.0/24");
    assert_eq!(first(&own, true), "10.0.0.0/24");
}
