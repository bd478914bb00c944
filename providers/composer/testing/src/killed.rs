//! Operators that are killed in the middle of a reconcile, and started again.

use std::collections::BTreeMap;

use provider_composer::{Key, Operator};
use serde_json::Value;

use crate::Cluster;

/// Fields that differ between two clusters with the same objects: they count changes, or name objects by their order.
const COUNTED: [&str; 5] = [
    "uid",
    "generation",
    "resourceVersion",
    "observedGeneration",
    "ownerReferences",
];

/// How many reconciles a subject may take to become Ready.
const MOST_RECONCILES: usize = 2_000;

/// A cluster with a subject, in which others act too.
pub trait Scene {
    /// Fields whose values depend on how often the operator was killed. Whether they are there is compared.
    const DATES: &[&str] = &[];

    /// The cluster.
    fn cluster(&mut self) -> &mut Cluster;

    /// Does what Kubernetes and other operators do with the objects that exist.
    fn simulate(&mut self);
}

/// When others act.
#[derive(Clone, Copy, Debug)]
enum Others {
    /// After every reconcile, completed or not.
    Soon,
    /// When the operator has nothing left to do.
    Late,
}

/// Checks that an operator that is killed ends with the same objects as one that isn't, and generates no Secret twice. It is killed
/// after every write, in another cluster after every second one, and so on up to the most writes of a reconcile. Returns the scene
/// that isn't disturbed.
///
/// # Panics
/// The end differs, or the subject isn't Ready.
pub fn assert_recovers<T: Scene>(
    operator: &dyn Operator,
    subject: &Key,
    scene: impl Fn() -> T,
) -> T {
    let mut undisturbed = scene();
    let most = run(
        &mut undisturbed,
        operator,
        subject,
        usize::MAX,
        Others::Soon,
    );
    let expected = Outcome::of(&mut undisturbed, subject);
    assert!(expected.is_ready, "{subject}: {:#}", expected.status);
    let soon = (1..=most).map(|writes| (writes, Others::Soon));
    for (writes, others) in soon.chain([(1, Others::Late)]) {
        let mut scene = scene();
        run(&mut scene, operator, subject, writes, others);
        let outcome = Outcome::of(&mut scene, subject);
        let run = format!("killed after {writes} writes, others {others:?}");
        outcome.assert_same(&expected, &run);
    }
    undisturbed
}

/// Reconciles and is killed after a number of writes, until nothing changes. Returns the most writes of a reconcile.
fn run(
    scene: &mut impl Scene,
    operator: &dyn Operator,
    subject: &Key,
    writes: usize,
    others: Others,
) -> usize {
    let mut most = 0;
    for _ in 0..MOST_RECONCILES {
        let before = scene.cluster().writes();
        // A failure is in the status, and the subject has to be Ready in the end.
        let _ = scene.cluster().reconcile_until(operator, subject, writes);
        let written = scene.cluster().writes() - before;
        most = most.max(written);
        if written == 0 || matches!(others, Others::Soon) {
            scene.simulate();
        }
        if scene.cluster().writes() == before {
            return most;
        }
    }
    unreachable!("{subject} never settles when its operator is killed after {writes} writes");
}

/// What a run ends with.
struct Outcome {
    objects: BTreeMap<Key, Value>,
    generated: BTreeMap<Key, usize>,
    is_ready: bool,
    status: Value,
}

impl Outcome {
    fn of<T: Scene>(scene: &mut T, subject: &Key) -> Self {
        let cluster = scene.cluster();
        let status = cluster
            .get(subject)
            .map(|subject| subject["status"].clone());
        let status = status.unwrap_or_default();
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        Self {
            objects: comparable(cluster, T::DATES),
            generated: cluster.generated().clone(),
            is_ready: conditions
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True"),
            status,
        }
    }

    fn assert_same(&self, expected: &Self, run: &str) {
        let keys = self.objects.keys().chain(expected.objects.keys());
        for key in keys {
            let (found, expected) = (self.objects.get(key), expected.objects.get(key));
            assert!(
                found == expected,
                "{run}, {key} is {} instead of {}",
                shown(found),
                shown(expected)
            );
        }
        assert_eq!(self.generated, expected.generated, "{run}");
        let again = self.generated.iter().find(|(_, times)| **times > 1);
        assert_eq!(again, None, "{run}, a Secret was generated twice");
    }
}

/// A cluster's objects, without what differs between two clusters with the same objects, and without the values of `dates`.
#[must_use]
pub fn comparable(cluster: &Cluster, dates: &[&str]) -> BTreeMap<Key, Value> {
    let objects = cluster.objects().iter().map(|(key, object)| {
        let mut object = Value::clone(object);
        make_comparable(&mut object, dates);
        (key.clone(), object)
    });
    objects.collect()
}

fn make_comparable(value: &mut Value, dates: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|field, _| !COUNTED.contains(&field.as_str()));
            for (field, value) in fields {
                if dates.contains(&field.as_str()) {
                    *value = Value::Null;
                }
                make_comparable(value, dates);
            }
        }
        Value::Array(items) => {
            for item in items {
                make_comparable(item, dates);
            }
        }
        _ => {}
    }
}

fn shown(object: Option<&Value>) -> String {
    object.map_or("missing".to_owned(), |object| format!("{object:#}"))
}
