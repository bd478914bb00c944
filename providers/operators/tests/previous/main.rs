//! Operators that take over a control plane of the previous version, and give it back.
//!
//! `control-plane.jsonl` is a running control plane with everything in it, as the operators of the commit in its first line left it. It
//! stands for the control planes that users have. Write it again when a version is released, or when a change needs a step that
//! docs/upgrade.md asks of users:
//!
//! ```sh
//! DUMP_OF=$(git rev-parse --short HEAD) cargo test -p provider-operators --test previous
//! ```

#![cfg(test)]

mod older;
mod scene;
mod witness;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use provider_composer::Key;
use provider_composer_testing::Cluster;
use provider_composer_testing::dump::Dump;
use provider_composer_testing::stored::composed;
use provider_operators::control_plane_operators;
use serde_json::Value;

use scene::{Scene, problems, subjects};
use witness::Witness;

/// The previous control plane, written by today's operators first if that is asked for.
static PREVIOUS: LazyLock<Arc<Dump>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/previous");
    let file = folder.join("control-plane.jsonl");
    if let Ok(commit) = std::env::var("DUMP_OF") {
        let documents = fs::read_to_string(folder.join("control-plane.yaml"));
        let scene = Scene::running(&documents.unwrap());
        assert_ready(&scene.cluster);
        let lines = Dump::of(&scene.cluster, &commit).lines();
        fs::write(&file, lines.unwrap()).unwrap();
    }
    let lines = fs::read_to_string(&file).unwrap();
    Arc::new(Dump::read(&lines).unwrap())
});

fn assert_ready(cluster: &Cluster) {
    assert_eq!(problems(cluster), Vec::<String>::new());
}

/// In how many rounds the most demanding operator may read what it needs. The controller gives up after two more
/// (`providers/runtime/src/reconcile`).
const MOST_ROUNDS: usize = 6;

/// What is wanted of each object.
fn wanted(cluster: &Cluster) -> BTreeMap<Key, Value> {
    let objects = cluster.objects().iter();
    objects
        .map(|(key, object)| (key.clone(), composed(object)))
        .collect()
}

#[test]
fn previous_control_plane_stays_ready_and_loses_nothing() {
    let dump = &PREVIOUS;
    let (mut scene, witness) = (Scene::restored(dump), Witness::of(dump));
    assert_ready(&scene.cluster);
    scene.settle(&control_plane_operators(), &mut |cluster| {
        assert_ready(cluster);
        witness.check(cluster);
    });
}

#[test]
fn control_plane_loses_nothing_to_the_previous_version_and_comes_back() {
    let dump = &PREVIOUS;
    let (mut scene, witness) = (Scene::restored(dump), Witness::of(dump));
    scene.settle(&control_plane_operators(), &mut |_| ());
    let upgraded = wanted(&scene.cluster);

    let data = Witness::of_data(&scene.cluster);
    scene.settle(&older::operators(dump), &mut |cluster| {
        witness.check(cluster);
        data.check(cluster);
    });

    scene.settle(&control_plane_operators(), &mut |cluster| {
        assert_ready(cluster);
        witness.check(cluster);
    });
    assert_eq!(wanted(&scene.cluster), upgraded);
}

#[test]
fn control_plane_stays_ready_while_its_gateway_is_away_and_says_so() {
    let mut scene = Scene::restored(&PREVIOUS);
    scene.settle(&control_plane_operators(), &mut |_| ());
    scene.lose_gateway();
    scene.settle(&control_plane_operators(), &mut assert_ready);
    let mut keys = scene.cluster.objects().keys();
    let control_plane = keys.find(|key| key.kind.kind == "ControlPlane");
    let exposed = scene.cluster.condition(control_plane.unwrap(), "Exposed");
    let [_, _, message] = exposed.unwrap();
    assert_eq!(
        message,
        "Glance glance isn't exposed: waits for Gateway public to take HTTPRoute glance"
    );
}

#[test]
fn operators_that_have_just_started_read_what_they_need_in_few_rounds() {
    let mut scene = Scene::restored(&PREVIOUS);
    scene.settle(&control_plane_operators(), &mut |_| ());
    let mut rounds: BTreeMap<&str, usize> = BTreeMap::new();
    for operator in control_plane_operators() {
        for subject in subjects(&scene.cluster, operator.as_ref()) {
            let needed = scene.cluster.rounds(operator.as_ref(), &subject);
            let most = rounds.entry(subject.kind.kind).or_default();
            *most = needed.max(*most);
        }
    }
    assert!(
        rounds.values().all(|rounds| *rounds <= MOST_ROUNDS),
        "{rounds:?}"
    );
    insta::assert_yaml_snapshot!(rounds);
}
