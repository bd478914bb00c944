//! Pools with names that the names of others, of Usages and of composed resources can be confused with.

use function_c5c3_fixtures::examples::{claim, pool, pools};
use function_c5c3_fixtures::{Call, Outcome, composite, ready, text, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::assert_order;
use super::retained;

/// A pool of examples/pools under another name, ready.
fn named(example: &str, name: &str) -> Value {
    let mut pool = pool(example);
    pool["metadata"]["name"] = json!(name);
    pool["spec"]["name"] = json!(name);
    ready(composite(pool), &[])
}

/// A claim of examples/claims, all of which is well. A field of its spec names one pool of examples/pools, and others like `example`.
fn running(
    (of, field, first): (&str, &str, &str),
    example: &str,
    others: &[&str],
) -> (Call, Outcome) {
    let mut claim = claim(of);
    let mut names = vec![first];
    names.extend(others);
    claim["spec"][field] = json!(names);
    Call::of(claim, "openstack-production")
        .with(pools())
        .with(others.iter().map(|name| named(example, name)))
        .running()
}

const HYPERVISORS: (&str, &str, &str) = ("customer-a-prod", "hypervisorClusters", "hv-pool-a");
const STORAGES: (&str, &str, &str) = ("internal-prod", "storageClusters", "st-pool-a");

#[rstest]
#[case::hypervisor(HYPERVISORS, "hv-pool-b", "share")]
#[case::storage(STORAGES, "st-pool-b", "volumes")]
fn part_of_a_pool_that_is_named_like_a_usage_keeps_all_usages_until_it_is_gone(
    #[case] claim: (&str, &str, &str),
    #[case] example: &str,
    #[case] part: &str,
) {
    let name = "a-until-b";
    let part = format!("{part}-{name}");
    let (mut call, before) = running(claim, example, &[name]);
    let (_, field, first) = claim;
    call.composite["spec"][field] = json!([first]);
    let outcome = call.run();
    assert!(retained(&outcome).contains(&part.as_str()));
    let of_pool = format!("{name}-until-{part}");
    assert!(before.desired.contains_key(&of_pool));
    let usages = before.desired.iter();
    for (name, usage) in usages.filter(|(_, object)| object["kind"] == "Usage") {
        assert_eq!(outcome.desired.get(name), Some(usage), "{name}");
    }
    assert_order(&outcome);

    let mut call = call.applied(&outcome, well);
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": part});
    let released = call.run();
    assert!(!released.desired.contains_key(&part));
    let call = call.deleting(&released, &part, json!([]));
    let end = format!("-until-{part}");
    let of_part = |outcome: &Outcome| -> Vec<String> {
        let names = outcome.desired.keys().cloned();
        names.filter(|name| name.ends_with(&end)).collect()
    };
    assert_eq!(of_part(&call.run()), of_part(&before));
    assert_eq!(of_part(&call.deleted(&part).run()), Vec::<String>::new());
}

/// The namespace and the ControlPlane have these names among composed resources, and Usages for the parts of all pools.
#[rstest]
#[case::hypervisor(HYPERVISORS, "hv-pool-b", "share")]
#[case::storage(STORAGES, "st-pool-b", "volumes")]
fn pool_that_is_named_like_a_composed_resource_has_usages_beside_those_of_that_resource(
    #[case] claim: (&str, &str, &str),
    #[case] example: &str,
    #[case] part: &str,
) {
    for name in ["control-plane", "namespace"] {
        let part = format!("{part}-{name}");
        let (mut call, outcome) = running(claim, example, &[name]);
        assert_eq!(outcome.fatal, None);
        let of = |usage: &str| text(&outcome.desired[usage], "/spec/of/resourceRef/name");
        assert_eq!(of(&format!("{name}-until-{part}")), format!("xr-{name}"));
        let of_pool = format!("pool-{name}-until-{part}");
        assert_eq!(of(&of_pool), format!("{name}-abcde"));
        assert_order(&outcome);

        let pool = format!("{name}-abcde");
        let mut unread = call.clone();
        let world = &mut unread.world;
        world.retain(|object| text(object, "/metadata/name") != pool);
        let kept = unread.run().desired;
        assert_eq!(kept[&of_pool], outcome.desired[&of_pool]);

        let (_, field, first) = claim;
        call.composite["spec"][field] = json!([first]);
        let kept = call.run().desired;
        assert_eq!(kept[&of_pool], outcome.desired[&of_pool]);
    }
}

#[test]
fn key_of_a_pool_is_not_kept_for_a_pool_whose_name_ends_it() {
    let (mut call, _) = running(STORAGES, "st-pool-b", &["b", "x-b"]);
    call.composite["spec"]["storageClusters"] = json!(["st-pool-a"]);
    let dropped = call.run();
    let key = "pull-cinder-x-b";
    for name in ["pull-cinder-b", key, "volumes-b", "volumes-x-b"] {
        assert!(retained(&dropped).contains(&name), "{name}");
    }
    let mut call = call.applied(&dropped, well);
    call.composite["metadata"]["annotations"] = json!({"c5c3.io/delete-retained": "volumes-x-b"});
    let released = call.run();
    assert!(retained(&released).contains(&key));
    let call = call.deleting(&released, "volumes-x-b", json!([]));
    let call = call.deleted("volumes-x-b");
    let unprotected = call.run();
    let gone = call.applied(&unprotected, well).run();
    assert!(!gone.desired.contains_key(key));
    let kept = retained(&gone);
    assert!(
        kept.contains(&"pull-cinder-b") && kept.contains(&"volumes-b"),
        "{kept:?}"
    );
}
