//! The part of a hypervisor pool that a claim asks for, within the site's limits.

use function_c5c3_fixtures::{Call, Outcome, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

use super::{call, running};

/// customer-b-staging, of size small, with these shares: a small claim gets weight 1 and one node before weights count.
fn asking(shares: Value) -> Call {
    let (mut call, _) = running("customer-b-staging");
    call.composite["spec"]["hypervisorShares"] = shares;
    call
}

/// Weight, minHosts and maxHosts of the share in hv-pool-a.
fn part(outcome: &Outcome) -> [Option<u64>; 3] {
    let spec = &outcome.manifest("share-hv-pool-a")["spec"];
    ["weight", "minHosts", "maxHosts"].map(|field| spec[field].as_u64())
}

fn limit(call: &mut Call, share: Value) {
    if let Some(input) = &mut call.input {
        input["sizes"]["small"]["share"] = share;
    }
}

#[rstest]
#[case::nothing(json!([]), [Some(1), Some(1), None])]
#[case::less(json!([{"name": "hv-pool-a", "weight": 0}]), [Some(0), Some(1), None])]
#[case::a_ceiling(json!([{"name": "hv-pool-a", "maxHosts": 4}]), [Some(1), Some(1), Some(4)])]
#[case::another_pool(json!([{"name": "hv-pool-b", "weight": 0, "maxHosts": 1}]), [Some(1), Some(1), None])]
fn a_claim_gets_what_it_asks_for_within_its_size(
    #[case] shares: Value,
    #[case] expected: [Option<u64>; 3],
) {
    let outcome = asking(shares).run();
    assert_eq!(part(&outcome), expected);
    assert_eq!(outcome.conditions["SharesAllowed"].1, "Accepted");
}

#[test]
fn a_claim_that_asks_for_more_than_its_size_gets_the_limit_and_is_told() {
    let shares = json!([{"name": "hv-pool-a", "weight": 1000, "minHosts": 9, "maxHosts": 20}]);
    let outcome = asking(shares).run();
    assert_eq!(part(&outcome), [Some(1), Some(1), Some(20)]);
    assert_eq!(
        outcome.conditions["SharesAllowed"],
        (
            "False".to_owned(),
            "LimitExceeded".to_owned(),
            "spec.hypervisorShares: the weight 1000 for hv-pool-a is above 1; the minHosts 9 for hv-pool-a is above 1, the \
             limit for claims of this size, which applies instead: lower it, choose a larger size, or ask the site to raise \
             the limit"
                .to_owned()
        )
    );
    assert_eq!(outcome.status["phase"], "Ready", "it blocks nothing");
}

#[test]
fn a_site_allows_more_or_less() {
    let shares = json!([{"name": "hv-pool-a", "weight": 5, "minHosts": 3, "maxHosts": 50}]);
    let mut call = asking(shares);
    limit(
        &mut call,
        json!({"weight": 2, "minHosts": 1, "maxHosts": 8, "limits": {"weight": 4, "minHosts": 3, "maxHosts": 16}}),
    );
    let outcome = call.run();
    let [weight, _, most] = part(&outcome);
    assert_eq!((weight, most), (Some(4), Some(16)));
    limit(
        &mut call,
        json!({"weight": 2, "minHosts": 2, "maxHosts": 8, "limits": {"weight": 1}}),
    );
    let outcome = call.run();
    let [weight, _, most] = part(&outcome);
    assert_eq!(
        (weight, most),
        (Some(2), Some(8)),
        "never less than the size gets"
    );
}

#[test]
fn a_ceiling_below_what_the_pool_has_promised_counts_at_once() {
    let mut call = asking(json!([{"name": "hv-pool-a", "maxHosts": 2}]));
    for pool in &mut call.world {
        for consumer in pool["status"]["consumers"].as_array_mut().unwrap() {
            consumer["minHosts"] = json!(3);
        }
    }
    assert_eq!(part(&call.run()), [Some(1), Some(2), Some(2)]);
}

#[test]
fn share_with_min_hosts_zero_keeps_zero_though_the_pool_promised_one_node() {
    let mut call = asking(json!([{"name": "hv-pool-a", "minHosts": 0}]));
    for pool in &mut call.world {
        for consumer in pool["status"]["consumers"].as_array_mut().unwrap() {
            consumer["minHosts"] = json!(1);
        }
    }
    assert_eq!(part(&call.run()), [Some(1), Some(0), None]);
}

#[test]
fn a_claim_that_its_pool_no_longer_allows_keeps_its_share_and_gets_no_other_nodes() {
    let (mut call, before) = running("customer-b-staging");
    let mut allow = |namespaces: &[&str]| {
        for pool in &mut call.world {
            if text(pool, "/spec/name") == "hv-pool-a" {
                pool["spec"]["sharing"]["allowedNamespaces"] = json!(namespaces);
            }
        }
        call.run()
    };
    let narrowed = allow(&["tenant-z"]);
    let mut held = before.manifest("share-hv-pool-a").clone();
    held["spec"]["held"] = json!(true);
    assert_eq!(*narrowed.manifest("share-hv-pool-a"), held);
    assert_eq!(narrowed.status["phase"], "Ready");
    for namespaces in [&["tenant-z", "tenant-customer-b"][..], &[]] {
        let share = allow(namespaces).manifest("share-hv-pool-a").clone();
        assert_eq!(share, *before.manifest("share-hv-pool-a"));
    }
}

#[rstest]
#[case::no_limit(json!({}), 0, [None, None, None])]
#[case::of_the_claim(json!({}), 50, [Some("50G"), None, None])]
#[case::of_the_site(json!({"volumesGB": 100, "imagesGB": 10, "ephemeralGB": 20}), 0,
    [Some("100G"), Some("10G"), Some("20G")])]
#[case::the_lower_one(json!({"volumesGB": 100}), 50, [Some("50G"), None, None])]
#[case::never_more_than_the_site_allows(json!({"volumesGB": 100}), 5000, [Some("100G"), None, None])]
fn pools_hold_what_the_site_allows(
    #[case] limits: Value,
    #[case] asked: u64,
    #[case] expected: [Option<&str>; 3],
) {
    let mut call = call("customer-a-prod").admitted();
    call.composite["spec"]["storage"]["ceph"]["volumePool"]["quotaGB"] = json!(asked);
    let size = call.composite["spec"]["size"].as_str().unwrap().to_owned();
    call.input.as_mut().unwrap()["sizes"][size]["storage"] = limits;
    let (_, outcome) = call.running();
    let quota = |pool: &str| {
        let manifest = outcome.manifest(&format!("{pool}-st-pool-a"));
        manifest["spec"]["quotas"]["maxSize"]
            .as_str()
            .map(str::to_owned)
    };
    let quotas = ["volumes", "images", "ephemeral"].map(quota);
    assert_eq!(quotas.each_ref().map(Option::as_deref), expected);
}

/// Without limits one claim can fill the Ceph cluster of all others.
#[rstest]
#[case("openstack-production")]
#[case("openstack-staging")]
#[case("openstack-development")]
fn every_shipped_size_limits_what_a_claim_stores(#[case] input: &str) {
    let sizes = yaml(&format!("compositions/input/{input}.yaml"))[0]["sizes"].clone();
    let limits = ["volumesGB", "imagesGB", "ephemeralGB"];
    for size in ["small", "medium", "large", "xlarge"] {
        let limited = limits.map(|limit| sizes[size]["storage"][limit].as_u64() > Some(0));
        assert_eq!(limited, [true; 3], "{size}");
    }
}

#[test]
fn what_a_claim_needs_is_asked_of_the_pool_and_never_exceeds_its_ceiling() {
    let request = |field: &str, value: Value| {
        let mut call = call("customer-a-prod");
        call.composite["spec"][field] = value;
        let outcome = call.admitted().run();
        let annotations = outcome.desired["namespace"]["metadata"]["annotations"].clone();
        let pools = annotations.as_object().unwrap().iter();
        let pools = pools.filter(|(key, _)| key.starts_with("c5c3.io/pool-"));
        let mut hosts: Vec<String> = pools.map(|(_, hosts)| hosts.to_string()).collect();
        hosts.sort();
        hosts
    };
    let all = request("hypervisorShares", json!([]));
    assert_eq!(all.iter().filter(|hosts| *hosts == "\"3\"").count(), 3);
    let fewer = json!([{"name": "hv-pool-b", "maxHosts": 2}]);
    let fewer = request("hypervisorShares", fewer);
    assert_eq!(fewer.iter().filter(|hosts| *hosts == "\"2\"").count(), 1);
    let by_weight = json!([{"name": "hv-pool-b", "minHosts": 0}]);
    let one = request("hypervisorShares", by_weight);
    let one = one.iter().filter(|hosts| *hosts == "\"1\"");
    assert_eq!(one.count(), 2, "the control plane's and a share's first");
    let without_servers = request("services", json!({"nova": false}));
    let none = without_servers.iter().filter(|hosts| *hosts == "\"0\"");
    assert_eq!(none.count(), 2);
}

/// The next call, in which the share in hv-pool-a is observed as `change` leaves it.
fn observed(call: Call, outcome: &Outcome, change: impl FnOnce(&mut Value)) -> Call {
    let mut call = call.applied(outcome, well);
    let share = call.observed.get_mut("share-hv-pool-a");
    if let Some(manifest) = share.and_then(|share| share.pointer_mut("/status/atProvider/manifest"))
    {
        change(manifest);
    }
    call
}

fn identity(outcome: &Outcome) -> &Value {
    &outcome.manifest("share-hv-pool-a")["spec"]["identity"]
}

#[test]
fn share_keeps_the_identity_of_the_one_that_leased_its_nodes() {
    let (call, before) = running("customer-b-staging");
    assert_eq!(identity(&before), &Value::Null);
    let call = observed(call, &before, |share| {
        share["metadata"]["uid"] = json!("first");
    });
    let recorded = call.run();
    assert_eq!(identity(&recorded), "first");

    let again = observed(call, &recorded, |share| {
        share["metadata"]["uid"] = json!("second");
        share["spec"].as_object_mut().unwrap().remove("identity");
    });
    assert_eq!(identity(&again.run()), "first", "it was created again");
}

#[test]
fn share_of_a_lost_object_has_the_identity_that_it_had() {
    let (call, before) = running("customer-b-staging");
    let call = observed(call, &before, |share| {
        share["metadata"]["uid"] = json!("second");
        share["spec"]["identity"] = json!("first");
    });
    assert_eq!(identity(&call.run()), "first");
}

#[test]
fn share_of_another_claim_lends_no_identity() {
    let (call, before) = running("customer-b-staging");
    let call = observed(call, &before, |share| {
        share["metadata"]["uid"] = json!("theirs");
        share["metadata"]["labels"]["c5c3.io/claim-uid"] = json!("other");
        share["metadata"]["annotations"]["c5c3.io/claim"] = json!("tenant-z/z");
    });
    assert_eq!(identity(&call.run()), &Value::Null);
}
