//! What holds for any claim and for any bytes.

use std::collections::BTreeSet;

use function_c5c3::Claims;
use function_protocol::{Document, run, v1};
use proptest::prelude::*;
use prost::Message;
use serde_json::{Map, Value, json};

use function_c5c3_fixtures::{Call, Outcome, composite, ready, text, well, yaml};

fn name() -> impl Strategy<Value = String> {
    "[a-z]([a-z0-9-]{0,20}[a-z0-9])?"
}

/// Names of pools of which those of composed resources, of Usages and of other pools consist.
fn confusing() -> impl Strategy<Value = String> {
    let parts = vec![
        "a",
        "user",
        "until",
        "control-plane",
        "namespace",
        "agents",
        "cinder",
        "share",
        "volumes",
    ];
    let part = prop::sample::select(parts);
    prop::collection::vec(part, 1..3).prop_map(|parts| parts.join("-"))
}

prop_compose! {
    fn claim()(
        name in name(),
        namespace in name(),
        size in prop::sample::select(vec!["small", "medium", "large", "xlarge"]),
        hypervisors in prop::collection::btree_set(name(), 1..4),
        storages in prop::collection::btree_set(name(), 1..4),
        switches in prop::array::uniform7(any::<bool>()),
        replication in 2..=5_u32,
        quota in prop_oneof![Just(0_u64), 1..1_000_000_u64],
        compression in prop::sample::select(vec!["none", "passive", "aggressive", "force"]),
        extras in prop::array::uniform2(any::<bool>()),
        cortex in prop::option::of(any::<bool>()),
        verify in any::<bool>(),
    ) -> Value {
        let [nova, neutron, cinder, glance, octavia, manila, divided] = switches;
        let [objects, backups] = extras;
        let last = hypervisors.last().filter(|_| divided).cloned();
        let mut claim = json!({
            "apiVersion": "c5c3.io/v1alpha1", "kind": "OpenStackCluster",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "region": "eu-de-1", "size": size,
                "hypervisorClusters": hypervisors, "storageClusters": storages,
                "services": {"nova": nova, "neutron": neutron, "cinder": cinder, "glance": glance,
                    "octavia": octavia, "manila": manila},
                "storage": {"ceph": {
                    "volumePool": {"replication": replication, "compression": compression, "quotaGB": quota},
                    "objectStore": {"enabled": objects},
                    "backupPool": {"enabled": cinder && backups},
                }},
            },
        });
        if let Some(enabled) = cortex {
            claim["spec"]["cortex"] = json!({"enabled": enabled});
        }
        if let Some(pool) = last {
            claim["spec"]["cells"] = json!([{"name": "cell2", "hypervisorClusters": [pool]}]);
        }
        if verify {
            claim["spec"]["verify"] = json!({});
        }
        claim
    }
}

/// The pools that a claim names, all ready.
pub(crate) fn world(claim: &Value) -> Vec<Value> {
    let pool = |kind: &str, name: &str| {
        let pool = json!({
            "apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "infrastructure"},
            "spec": {"region": "eu-de-1", "name": name, "workers": 9},
        });
        ready(composite(pool), &[])
    };
    let names = |field: &str| -> Vec<String> {
        let names = claim["spec"][field].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let hypervisors = names("hypervisorClusters")
        .into_iter()
        .map(|name| pool("HypervisorCluster", &name));
    let storages = names("storageClusters")
        .into_iter()
        .map(|name| pool("StorageCluster", &name));
    let control_plane = pool("ControlPlaneCluster", "eu-de-1-control-plane");
    hypervisors.chain(storages).chain([control_plane]).collect()
}

fn call(claim: &Value) -> Call {
    let call = Call::of(claim.clone(), "openstack-production").with(world(claim));
    call.admitted()
}

/// The same value with the fields of every object in the opposite order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .rev()
                .map(|(key, value)| (key.clone(), reversed(value)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}

fn is_dns_label(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.starts_with('-')
        && !name.ends_with('-')
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_valid_claim_gives_valid_objects_and_becomes_ready(claim in claim()) {
        let mut call = call(&claim);
        let mut outcome = call.run();
        prop_assert_eq!(&outcome.fatal, &None);
        for _ in 0..5 {
            call = call.applied(&outcome, well);
            outcome = call.run();
        }
        let mut places = BTreeSet::new();
        for (resource, object) in &outcome.desired {
            let Some(manifest) = object.pointer("/spec/forProvider/manifest") else {
                prop_assert_eq!(&object["kind"], "Usage");
                continue;
            };
            let metadata = &manifest["metadata"];
            for field in ["/apiVersion", "/kind"] {
                prop_assert!(!text(manifest, field).is_empty(), "{} has no {}", resource, field);
            }
            if manifest["kind"] == "Namespace" {
                prop_assert!(is_dns_label(&text(metadata, "/name")));
            }
            let place = (
                text(object, "/spec/providerConfigRef/name"), text(manifest, "/kind"),
                text(metadata, "/namespace"), text(metadata, "/name"),
            );
            prop_assert!(places.insert(place), "{} is another's twin", resource);
        }
        crate::openstack::assert_order(&outcome);
        prop_assert_eq!(&outcome.status["phase"], "Ready");
        prop_assert_eq!(outcome.composite_ready, Some(true));
        let mut settled = call.applied(&outcome, well);
        settled.composite["status"]["conditions"] = outcome.written_conditions();
        let again = settled.run();
        prop_assert_eq!(again.desired, outcome.desired, "a settled claim changes nothing");
        prop_assert_eq!(again.events, Vec::<String>::new(), "a settled claim says nothing");
    }

    #[test]
    fn composed_resource_never_stands_for_another_object_than_before(
        claim in claim(),
        before in prop::collection::btree_set(confusing(), 1..4),
        part in prop::sample::select(vec!["a", "user", "until", "agents"]),
    ) {
        let of = |pools: &BTreeSet<String>| {
            let mut claim = claim.clone();
            let spec = &mut claim["spec"];
            spec["hypervisorClusters"] = json!(pools);
            spec["storageClusters"] = json!(pools);
            spec["cells"] = json!([]);
            spec["storage"]["ceph"]["objectStore"]["enabled"] = json!(true);
            claim
        };
        let after: BTreeSet<String> = before.iter().map(|pool| format!("{part}-{pool}")).collect();
        let all = before.union(&after).cloned().collect();
        let call = Call::of(of(&before), "openstack-production").with(world(&of(&all)));
        let mut call = call.admitted();
        for _ in 0..5 {
            let outcome = call.run();
            call = call.applied(&outcome, well);
        }
        call.composite["spec"] = of(&after)["spec"].take();
        let object = |object: &Value| {
            ["kind", "metadata/name"].map(|field| text(object, &format!("/spec/forProvider/manifest/{field}")))
        };
        for (name, wanted) in call.run().desired {
            if let Some(existing) = call.observed.get(&name) {
                prop_assert_eq!(object(&wanted), object(existing), "{}", name);
            }
        }
    }

    #[test]
    fn the_order_of_maps_and_of_what_was_asked_for_changes_no_byte(claim in claim()) {
        let one = call(&claim);
        let outcome = one.run();
        let one = one.applied(&outcome, well);
        let mut other = call(&claim);
        other.composite = reversed(&one.composite);
        other.input = one.input.as_ref().map(reversed);
        other.world = one.world.iter().rev().map(reversed).collect();
        other.observed = one.observed.iter().map(|(key, value)| (key.clone(), reversed(value))).collect();
        let bytes = |call: &Call| run(&Claims, call.settled()).encode_to_vec();
        prop_assert_eq!(bytes(&one), bytes(&other));
    }

    #[test]
    fn what_exists_never_goes_because_pools_cannot_be_read(claim in claim(), lost in any::<prop::sample::Index>()) {
        let mut call = call(&claim);
        let mut outcome = call.run();
        for _ in 0..5 {
            call = call.applied(&outcome, well);
            outcome = call.run();
        }
        call = call.applied(&outcome, well);
        let lost = lost.index(call.world.len());
        call.world.remove(lost);
        let after = call.run();
        prop_assert_eq!(after.desired.keys().collect::<Vec<_>>(), outcome.desired.keys().collect::<Vec<_>>());
        prop_assert_eq!(&after.status["phase"], "Degraded");
    }

    #[test]
    fn no_bytes_make_the_function_panic(
        composite in prop::collection::vec(any::<u8>(), 0..300),
        observed in prop::collection::vec(any::<u8>(), 0..300),
        input in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let document = |bytes: &[u8]| Document::decode(bytes).ok();
        let resource = |bytes: &[u8]| v1::Resource { resource: document(bytes), ..v1::Resource::default() };
        let mut message = call(&yaml("examples/claims/internal-prod.yaml").remove(0)).settled();
        let state = message.observed.get_or_insert_default();
        state.resources = ["namespace", "control-plane", "volumes-st-pool-a", "share-hv-pool-b"]
            .into_iter()
            .map(|name| (name.to_owned(), resource(&observed)))
            .collect();
        let good = run(&Claims, message.clone());
        prop_assert!(!good.results.iter().any(|result| result.severity() == v1::Severity::Fatal) || document(&observed).is_some());
        message.input = document(&input);
        run(&Claims, message.clone());
        message.observed.get_or_insert_default().composite = Some(resource(&composite));
        run(&Claims, message);
    }

    #[test]
    fn no_value_in_any_field_makes_the_function_panic(
        which in any::<prop::sample::Index>(),
        junk in prop::sample::select(vec![
            json!(null), json!(""), json!(-1), json!(1e300), json!(true), json!([]), json!({}), json!([{}]),
            json!({"a": {"b": [null]}}), json!(9_007_199_254_740_991_i64), json!("\u{0}\u{10ffff}"),
        ]),
    ) {
        let mut call = call(&yaml("examples/claims/internal-prod.yaml").remove(0));
        let outcome = call.run();
        call = call.applied(&outcome, well);
        let mut paths = Vec::new();
        for (root, value) in [("composite", &call.composite), ("input", call.input.as_ref().unwrap())] {
            walk(value, String::new(), &mut |path| paths.push((root, path)));
        }
        let (root, path) = &paths[which.index(paths.len())];
        let target = if *root == "composite" { &mut call.composite } else { call.input.as_mut().unwrap() };
        *target.pointer_mut(path).unwrap() = junk;
        let outcome = Outcome::of(run(&Claims, call.settled()));
        if let Some(fatal) = outcome.fatal {
            prop_assert!(!fatal.is_empty() && !fatal.contains('\n'), "{}", fatal);
        }
    }
}

/// Every path in a value, below its root.
fn walk(value: &Value, path: String, visit: &mut impl FnMut(String)) {
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(map) => {
            map.iter()
                .for_each(|(key, value)| walk(value, format!("{path}/{}", escape(key)), visit));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(position, value)| walk(value, format!("{path}/{position}"), visit));
        }
        _ => {}
    }
    if !path.is_empty() {
        visit(path);
    }
}
