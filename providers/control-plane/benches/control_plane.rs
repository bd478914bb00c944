//! What one reconcile of a ControlPlane costs, without any I/O: of one that was just made, and of one that runs.

// The same cluster in memory as the tests', of which a measurement needs less.
#[allow(dead_code, clippy::unwrap_used, clippy::panic)]
#[path = "../tests/control_plane/stage.rs"]
mod stage;

use criterion::Criterion;
use provider_composer::{Operator, World};
use serde_json::json;
use stage::{OPERATOR, Stage};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    reconcile(&mut criterion);
    criterion.final_summary();
}

fn reconcile(criterion: &mut Criterion) {
    let spec = json!({ "cortex": { "enabled": true }, "tempest": { "enabled": true } });
    let cases = [
        ("control plane, new", Stage::new(spec.clone())),
        ("control plane, running", Stage::running(spec)),
    ];
    for (name, stage) in &cases {
        let Some(resource) = stage.cluster.get(&stage.key) else {
            continue;
        };
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                let world = World::new(&stage.cluster, stage.cluster.now());
                let answer = OPERATOR.answer(resource, &world);
                (answer.is_ok(), world.into_asks().len())
            });
        });
    }
}
