//! What one reconcile of a ControlPlane costs, without any I/O: of one that was just made, and of one that runs.

use criterion::Criterion;
use provider_control_plane_fixtures::Stage;
use serde_json::json;

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
        criterion.bench_function(name, |bencher| bencher.iter(|| stage.reconcile()));
    }
}
