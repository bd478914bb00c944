//! How keys change: step by step, and whatever happens.

use std::collections::BTreeMap;

use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::parts::Schedule;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use proptest::prelude::*;
use provider_composer::Custom;
use provider_keystone::keyring::{Keyring, Rules, SETTLING, settled};
use provider_openstack::Cron;
use provider_openstack_fixtures::Cluster;
use serde_json::json;

use crate::stage::KEYSTONE;

const MOUNTED: &str = "keystone-fernet-keys";
/// One hour, and the two days in which services may ask about an expired token.
const LIFETIME: SignedDuration = SignedDuration::from_hours(49);

fn running() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.put_document::<Custom<KeystoneSpec>>(
        r#"
kind: Keystone
metadata: { name: keystone, namespace: openstack }
spec:
  release: "2025.2"
  fernet: { rotationSchedule: "0 0 * * 0", maxActiveKeys: 3 }
  bootstrap: { adminPasswordSecretRef: { name: keystone-admin-credentials } }
"#,
    );
    cluster.settle(&KEYSTONE, "keystone");
    cluster
}

fn compose(cluster: &mut Cluster) {
    // Once to see what is due, once to take up what was made.
    assert!(cluster.compose(&KEYSTONE, "keystone").is_ok());
    assert!(cluster.compose(&KEYSTONE, "keystone").is_ok());
}

/// The keys that pods see, by file.
fn seen(cluster: &Cluster) -> BTreeMap<String, String> {
    let data = cluster
        .get::<Secret>(MOUNTED)
        .and_then(|secret| secret["data"].as_object());
    let files = data.into_iter().flat_map(|data| data.keys());
    files
        .filter_map(|file| Some((file.clone(), cluster.value(MOUNTED, file)?)))
        .collect()
}

fn key(cluster: &Cluster, number: u32) -> String {
    let key = cluster.value(&format!("keystone-fernet-key-{number}"), "key");
    key.unwrap_or_default()
}

/// What pods should see.
fn files<const N: usize>(files: [(&str, &String); N]) -> BTreeMap<String, String> {
    files
        .map(|(file, key)| (file.to_owned(), key.clone()))
        .into()
}

#[test]
fn fernet_key_is_staged_promoted_and_retired_without_restart() {
    let mut cluster = running();
    let pods = cluster.get::<Deployment>("keystone").unwrap()["spec"].clone();
    let (one, two) = (key(&cluster, 1), key(&cluster, 2));
    assert_eq!(seen(&cluster), files([("0", &two), ("1", &one)]));

    cluster.wait(SignedDuration::from_hours(24 * 7 - 1));
    compose(&mut cluster);
    assert_eq!(
        seen(&cluster),
        files([("0", &two), ("1", &one)]),
        "not yet Sunday"
    );

    cluster.wait(SignedDuration::from_hours(1));
    compose(&mut cluster);
    assert_eq!(
        seen(&cluster),
        files([("0", &two), ("1", &one), ("2", &two)]),
        "promoted, and still staged"
    );

    cluster.wait(SETTLING);
    compose(&mut cluster);
    let three = key(&cluster, 3);
    assert_eq!(
        seen(&cluster),
        files([("0", &three), ("1", &one), ("2", &two)])
    );

    cluster.wait(SignedDuration::from_hours(24 * 7));
    compose(&mut cluster);
    assert_eq!(
        seen(&cluster),
        files([("0", &three), ("2", &two), ("3", &three)]),
        "the first key's tokens are long gone"
    );
    compose(&mut cluster);
    assert!(cluster.get::<Secret>("keystone-fernet-key-1").is_none());
    assert_eq!(cluster.get::<Deployment>("keystone").unwrap()["spec"], pods);
}

#[test]
fn operator_requeues_for_the_next_rotation() {
    let mut cluster = running();
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert_eq!(
        answer.desired.requeue_at,
        Some("2026-02-08T00:00:00Z".parse().unwrap())
    );
}

#[test]
fn lost_keys_are_never_made_anew_under_the_same_number() {
    let mut cluster = running();
    let (before, first) = (seen(&cluster), key(&cluster, 1));
    cluster.delete::<Secret>("keystone-fernet-key-1");
    compose(&mut cluster);
    assert_eq!(seen(&cluster), before, "what the pods have counts");
    assert_eq!(key(&cluster, 1), first, "made again from it");

    let mut cluster = running();
    let before = seen(&cluster);
    cluster.delete::<Secret>(MOUNTED);
    compose(&mut cluster);
    assert_eq!(seen(&cluster), before, "made again from the single keys");
}

#[test]
fn lost_keys_are_not_composed_again_without_one_that_has_no_value() {
    let mut cluster = running();
    let empty = |cluster: &mut Cluster| {
        cluster.change::<Secret>("keystone-fernet-key-1", |secret| secret["data"] = json!({}));
    };
    let before = seen(&cluster);
    empty(&mut cluster);
    compose(&mut cluster);
    assert_eq!(seen(&cluster), before, "what the pods have counts");

    let mut cluster = running();
    cluster.delete::<Secret>(MOUNTED);
    empty(&mut cluster);
    let _ = cluster.compose(&KEYSTONE, "keystone");
    assert!(cluster.get::<Secret>(MOUNTED).is_none());
    assert!(cluster.get::<Secret>("keystone-fernet-key-2").is_some());
    let conditions =
        &cluster.get::<Custom<KeystoneSpec>>("keystone").unwrap()["status"]["conditions"];
    let said = conditions.to_string();
    let why = "Secret keystone-fernet-key-1 has no value under the key key";
    assert!(said.contains(why), "{said}");
}

#[test]
fn keys_of_an_older_keystone_are_taken_over() {
    let mut cluster = running();
    cluster.tear_down(&KEYSTONE, "keystone");
    for name in [MOUNTED, "keystone-fernet-key-1", "keystone-fernet-key-2"] {
        cluster.delete::<Secret>(name);
    }
    cluster.secret(
        MOUNTED,
        &[
            ("0", "s3cret staged"),
            ("7", "s3cret old"),
            ("8", "s3cret primary"),
        ],
    );
    cluster.put::<Custom<KeystoneSpec>>(
        "keystone",
        json!({ "spec": {
            "release": "2025.2",
            "bootstrap": { "adminPasswordSecretRef": { "name": "keystone-admin-credentials" } },
        } }),
    );
    let keystone = cluster.get::<Custom<KeystoneSpec>>("keystone").unwrap();
    let owner = json!([{ "uid": keystone["metadata"]["uid"], "controller": true }]);
    cluster.change::<Secret>(MOUNTED, |secret| {
        secret["metadata"]["ownerReferences"] = owner;
    });
    cluster.settle(&KEYSTONE, "keystone");
    let values: Vec<String> = seen(&cluster)
        .into_iter()
        .map(|(file, value)| format!("{file}: {value}"))
        .collect();
    assert_eq!(
        values,
        ["0: s3cret staged", "7: s3cret old", "8: s3cret primary"]
    );
}

#[test]
fn rotation_too_often_is_put_off() {
    let mut cluster = running();
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["fernet"]["rotationSchedule"] = json!("@hourly");
    });
    let first = key(&cluster, 1);
    for _ in 0..24 {
        cluster.wait(SignedDuration::from_hours(1));
        compose(&mut cluster);
    }
    let kept = seen(&cluster).into_iter().any(|(_, value)| value == first);
    assert!(
        kept,
        "tokens of the first hour are asked about for 49 hours"
    );
    assert!(seen(&cluster).len() <= 4);
    let answer = cluster.compose(&KEYSTONE, "keystone").unwrap();
    assert!(
        answer.desired.requeue_at > Some(cluster.now()),
        "else it would be called again at once, for ever"
    );
}

/// What happens to a Keystone in one step of time.
#[derive(Clone, Debug)]
struct Step {
    minutes: i64,
    operator_runs: bool,
    restart: bool,
    most: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        1_i64..600,
        prop::bool::weighted(0.8),
        any::<bool>(),
        3_usize..6,
    );
    let step = step.prop_map(|(minutes, operator_runs, restart, most)| Step {
        minutes,
        operator_runs,
        restart,
        most,
    });
    prop::collection::vec(step, 1..200)
}

/// A token: the key it was encrypted with, and when.
struct Token {
    key: u32,
    issued: Timestamp,
}

/// The states of the keys that a pod may have at a time: all those that were there within the time it takes to settle.
fn visible(history: &[(Timestamp, Keyring)], now: Timestamp) -> impl Iterator<Item = &Keyring> {
    let ends = history
        .iter()
        .skip(1)
        .map(|(since, _)| *since)
        .map(Some)
        .chain([None]);
    let alive = history
        .iter()
        .zip(ends)
        .filter(move |(_, end)| end.is_none_or(|end| settled(end) > now));
    alive.map(|((_, ring), _)| ring)
}

proptest! {
    /// Whichever pod issues a token and whichever is asked about it, as long as it lives.
    #[test]
    fn every_token_is_understood_by_every_pod(
        steps in steps(),
        schedule in prop::sample::select(vec!["* * * * *", "*/10 * * * *", "@hourly", "0 */6 * * *", "@daily", "@weekly"]),
    ) {
        let cron = Cron::of(&schedule.parse::<Schedule>().unwrap()).unwrap();
        let mut now: Timestamp = "2026-02-01T00:00:00Z".parse().unwrap();
        let mut history = vec![(now, Keyring::first(now))];
        let mut tokens: Vec<Token> = Vec::new();
        for step in steps {
            now += SignedDuration::from_mins(step.minutes);
            if step.operator_runs {
                let mut ring = history.last().unwrap().1.clone();
                if step.restart {
                    ring = serde_json::from_str(&serde_json::to_string(&ring).unwrap()).unwrap();
                }
                let spent = |since: Timestamp| Some(settled(since) + LIFETIME);
                let next = ring.rotated(&Rules { schedule: &cron, most: step.most, spent: &spent }, now);
                if next != ring {
                    history.push((now, next));
                }
            }
            for ring in visible(&history, now) {
                tokens.push(Token { key: ring.primary(), issued: now });
            }
            tokens.retain(|token| token.issued + LIFETIME > now);
            for ring in visible(&history, now) {
                let keys: Vec<u32> = ring.files().into_values().collect();
                for token in &tokens {
                    prop_assert!(keys.contains(&token.key), "key {} is gone from {ring:?} at {now}", token.key);
                }
            }
        }
    }

    /// Keystone's own rule: the highest file encrypts.
    #[test]
    fn the_highest_file_is_the_primary_key(steps in 0_i64..50) {
        let cron = Cron::parse("@hourly").unwrap();
        let mut now: Timestamp = "2026-02-01T00:00:00Z".parse().unwrap();
        let mut ring = Keyring::first(now);
        for _ in 0..steps {
            now += SignedDuration::from_mins(30);
            ring = ring.rotated(&Rules { schedule: &cron, most: 3, spent: &Some }, now);
            let files = ring.files();
            prop_assert_eq!(files.last_key_value(), Some((&ring.primary(), &ring.primary())));
            prop_assert!(files.contains_key(&0));
        }
    }
}
