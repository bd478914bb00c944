//! The clouds.yaml of the tenant's first user: on which path it reaches the claim's namespace.

use function_c5c3_fixtures::examples::{claim, pools};
use function_c5c3_fixtures::{Call, Outcome, ready, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

const PUSH: &str = "push-tenant-clouds";
const PULL: &str = "pull-tenant-clouds";
const PATH: &str = "openstack/eu-de-1-control-plane/openstack-customer-b-staging/tenant/clouds";

/// A call at a site that hands out credentials.
fn handing_out(mut call: Call) -> Call {
    let store = json!({"name": "tenants", "kind": "ClusterSecretStore"});
    if let Some(input) = &mut call.input {
        input["tenantAccess"] = json!({"secretStore": store});
    }
    call.admitted()
}

fn claimed() -> Call {
    let call = Call::of(claim("customer-b-staging"), "openstack-production");
    handing_out(call.with(pools()))
}

fn namespaced() -> Call {
    let mut call = Call::of(claim("customer-b-staging"), "openstack-production");
    call.composite = claim("customer-b-staging");
    call.composite["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    let pools = ["control-plane", "hv-pool-a", "st-pool-a"];
    handing_out(
        call.with(
            pools.map(|name| ready(yaml(&format!("examples/pools/{name}.yaml")).remove(0), &[])),
        ),
    )
}

/// All is well, and the tenant's first user can log in.
fn connected(name: &str, manifest: &Value) -> Value {
    let mut status = well(name, manifest);
    if name == "control-plane" {
        status["connection"] = json!({"secretName": "customer-b-staging-clouds"});
    }
    status
}

fn run(mut call: Call, status: impl Fn(&str, &Value) -> Value) -> (Call, Outcome) {
    let mut outcome = call.run();
    for _ in 0..6 {
        call = call.applied(&outcome, &status);
        outcome = call.run();
    }
    (call, outcome)
}

fn connection(outcome: &Outcome) -> (&str, &Value) {
    let (status, ..) = &outcome.conditions["ConnectionReady"];
    (status, &outcome.status["connection"]["secretName"])
}

#[rstest]
#[case::claim(claimed())]
#[case::namespaced(namespaced())]
fn clouds_yaml_reaches_the_claims_namespace(#[case] call: Call) {
    let (_, outcome) = run(call, connected);
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["access"],
        "Domain"
    );
    let push = outcome.manifest(PUSH);
    assert_eq!(
        text(push, "/metadata/namespace"),
        "openstack-customer-b-staging"
    );
    let secret = text(push, "/spec/selector/secret/name");
    assert_eq!(secret, "customer-b-staging-clouds");
    assert_eq!(
        push["spec"]["data"],
        json!([{"match": {"remoteRef": {"remoteKey": PATH}}}])
    );

    let object = &outcome.desired[PULL]["spec"]["providerConfigRef"]["name"];
    assert_eq!(object, "management");
    let pull = outcome.manifest(PULL);
    assert_eq!(text(pull, "/metadata/namespace"), "tenant-customer-b");
    assert_eq!(text(pull, "/spec/secretStoreRef/name"), "tenants");
    assert_eq!(
        pull["spec"]["dataFrom"],
        json!([{"extract": {"key": PATH}}])
    );
    assert_eq!(
        pull["spec"]["target"],
        json!({
            "name": "customer-b-staging-clouds", "creationPolicy": "Owner", "deletionPolicy": "Retain",
            "template": {"engineVersion": "v2"},
        })
    );
    assert_eq!(
        connection(&outcome),
        ("True", &json!("customer-b-staging-clouds"))
    );
    assert_eq!(outcome.composite_ready, Some(true));
}

#[test]
fn nothing_is_read_before_it_was_written_for_this_claim() {
    let (call, outcome) = run(claimed(), well);
    assert!(
        !outcome.desired.contains_key(PUSH),
        "before there is a user"
    );
    assert_eq!(outcome.composite_ready, Some(false));
    let (status, reason, message) = &outcome.conditions["ConnectionReady"];
    assert_eq!([status, reason], ["False", "Waiting"]);
    assert!(message.contains("AccessReady"), "{message}");

    let call = call.applied(&outcome, connected);
    let unwritten = |name: &str, manifest: &Value| match name {
        PUSH => json!({}),
        _ => connected(name, manifest),
    };
    let (_, outcome) = run(call, unwritten);
    assert!(outcome.desired.contains_key(PUSH));
    assert!(!outcome.desired.contains_key(PULL), "before it is written");
    assert_eq!(connection(&outcome), ("False", &Value::Null));
}

/// The Secret that the claim's name gives may be K-ORC's.
#[test]
fn pushed_secret_stays_while_the_control_plane_does_not_name_it() {
    let named = "tenant-k-orc-clouds";
    let status = |name: &str, manifest: &Value| {
        let mut status = connected(name, manifest);
        if name == "control-plane" {
            status["connection"]["secretName"] = json!(named);
        }
        status
    };
    let (call, outcome) = run(claimed(), status);
    let pushed = |outcome: &Outcome| text(outcome.manifest(PUSH), "/spec/selector/secret/name");
    assert_eq!(pushed(&outcome), named);
    assert_eq!(pushed(&call.applied(&outcome, well).run()), named);
}

#[test]
fn secret_of_the_claims_namespace_that_is_not_the_claims_is_not_taken() {
    let (call, outcome) = run(claimed(), connected);
    let mut call = call.applied(&outcome, connected);
    let theirs = call.observed.get_mut(PULL).unwrap();
    theirs["status"]["atProvider"]["manifest"]["metadata"]["labels"] = json!({});
    let outcome = call.run();
    let policies = &outcome.desired[PULL]["spec"]["managementPolicies"];
    assert_eq!(*policies, json!(["Observe", "Create"]));
    assert_eq!(outcome.conditions["Accepted"].1, "NameTaken");
    assert_eq!(connection(&outcome), ("False", &Value::Null));
}

#[test]
fn site_that_hands_out_nothing_creates_no_user_and_says_so_to_whoever_asks() {
    let call = Call::of(claim("customer-b-staging"), "openstack-production").with(pools());
    let (mut call, outcome) = run(call.admitted(), well);
    assert_eq!(
        outcome.manifest("control-plane")["spec"].get("access"),
        None
    );
    assert_eq!(outcome.conditions.get("ConnectionReady"), None);
    call.composite["spec"]["access"] = json!("Admin");
    let outcome = call.run();
    let (status, reason, _) = &outcome.conditions["ConnectionReady"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert_eq!(outcome.composite_ready, Some(true));
}

#[test]
fn connection_ready_lapses_once_access_is_removed_where_the_site_hands_out_nothing() {
    let call = Call::of(claim("customer-b-staging"), "openstack-production").with(pools());
    let (mut call, _) = run(call.admitted(), well);
    call.composite["status"]["conditions"] =
        json!([{ "type": "ConnectionReady", "status": "False" }]);
    let outcome = call.run();
    let (status, reason, _) = &outcome.conditions["ConnectionReady"];
    assert_eq!([status, reason], ["Unknown", "NotOffered"]);
    assert_eq!(outcome.composite_ready, Some(true));
}

#[test]
fn site_that_allows_no_administrator_gives_a_manager_and_says_so() {
    let mut call = claimed();
    call.composite["spec"]["access"] = json!("Admin");
    let (_, outcome) = run(call, connected);
    assert_eq!(
        outcome.manifest("control-plane")["spec"]["access"],
        "Domain"
    );
    let (status, reason, message) = &outcome.conditions["ConnectionReady"];
    assert_eq!([status, reason], ["False", "Unsupported"]);
    assert!(message.contains("tenantAccess.allowAdmin"), "{message}");
    assert_eq!(
        outcome.status["connection"]["secretName"], "customer-b-staging-clouds",
        "the manager's clouds.yaml arrives"
    );
}

#[test]
fn administrator_is_asked_for_by_the_claim_and_stays_when_the_site_changes() {
    let mut call = claimed();
    call.composite["spec"]["access"] = json!("Admin");
    call.input.as_mut().unwrap()["tenantAccess"]["allowAdmin"] = json!(true);
    let (mut call, outcome) = run(call, connected);
    let access = |outcome: &Outcome| outcome.manifest("control-plane")["spec"]["access"].clone();
    assert_eq!(access(&outcome), "Admin");
    call.input.as_mut().unwrap()["tenantAccess"].take();
    assert_eq!(access(&call.run()), "Admin", "access can't be removed");
}

/// The tenant deletes servers while the nodes of its deleted claim are drained. Without `tenantAccess` it
/// is deleted, once no Usage protects it.
#[test]
fn clouds_yaml_stays_until_the_control_plane_is_deleted_but_not_without_tenant_access() {
    let usages = [
        "namespace-until-push-tenant-clouds",
        "pull-tenant-clouds-until-control-plane",
        "push-tenant-clouds-until-control-plane",
    ];
    let (mut call, outcome) = run(claimed(), connected);
    super::assert_order(&outcome);
    for usage in usages {
        let (of, by) = usage.split_once("-until-").unwrap();
        let spec = &outcome.desired[usage]["spec"];
        assert_eq!(text(spec, "/of/resourceRef/name"), format!("xr-{of}"));
        assert_eq!(text(spec, "/by/resourceRef/name"), format!("xr-{by}"));
    }
    call = call.applied(&outcome, connected);
    call.input.as_mut().unwrap()["tenantAccess"].take();
    let outcome = call.run();
    let outcome = call.applied(&outcome, connected).run();
    for name in usages.into_iter().chain([PUSH, PULL]) {
        assert!(!outcome.desired.contains_key(name), "{name}");
    }
}
