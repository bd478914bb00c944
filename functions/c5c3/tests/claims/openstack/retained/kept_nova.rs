//! Nova, which a claim disables while its shares have nodes.

use function_c5c3_fixtures::{Call, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::retained_condition;
use crate::openstack::running;

/// Servers are deleted and moved by Nova's API, and a drain ends when Nova says that a node has none.
#[rstest]
#[case::alone(json!({"nova": false}))]
#[case::with_what_it_needs(json!({"nova": false, "neutron": false, "glance": false}))]
fn nova_that_is_disabled_stays_on_until_no_share_has_nodes(#[case] services: Value) {
    let (mut call, _) = running("customer-a-prod");
    let shares = ["share-hv-pool-a", "share-hv-pool-b"];
    let status = |call: &mut Call, share: &str, status: Value| {
        let object = call.observed.get_mut(share).unwrap();
        let manifest = &mut object["status"]["atProvider"]["manifest"];
        for (field, value) in status.as_object().unwrap() {
            manifest["status"][field] = value.clone();
        }
    };
    let enabling = json!([{"type": "ComputeServicesEnabled", "status": "True"}, {"type": "Ready", "status": "False"}]);
    let lost = json!({"hostCount": 0, "hosts": [], "lost": ["node-7"], "conditions": enabling});
    status(&mut call, shares[0], lost);
    let hosts = json!({"hostCount": 1, "hosts": [{"name": "node-1"}], "conditions": enabling});
    status(&mut call, shares[1], hosts);
    let before = call.run();
    for (service, enabled) in services.as_object().unwrap() {
        call.composite["spec"]["services"][service] = enabled.clone();
    }
    let outcome = call.run();
    assert_eq!(
        outcome.manifest("control-plane"),
        before.manifest("control-plane")
    );
    let (status_, reason, message) = retained_condition(&outcome);
    assert_eq!([status_, reason], ["True", "DataRetained"]);
    let says = "Nova stays on until no HypervisorShare has nodes; share-hv-pool-a,share-hv-pool-b: no longer in the spec";
    assert!(message.starts_with(says), "{message}");

    call = call.applied(&outcome, well);
    call.composite["metadata"]["annotations"] =
        json!({"c5c3.io/delete-retained": shares.join(",")});
    let released = call.run();
    assert_eq!(
        released.manifest("control-plane"),
        before.manifest("control-plane")
    );
    for share in shares {
        assert!(!released.desired.contains_key(share));
        call.observed.remove(share);
    }
    let outcome = call.run();
    let services = &outcome.manifest("control-plane")["spec"]["services"];
    assert_eq!(services["nova"]["enabled"], false);
}
