//! Writes of a resource that has changed since it was read.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use super::Climber;
use crate::metrics::Metrics;
use crate::testing::{SECRET, Server, THING, controller, until, working};

/// The first one is usual: someone else writes, and the watch is about to report it. C5C3OperatorErrors is of those that last.
#[tokio::test(start_paused = true)]
async fn conflict_counts_as_an_error_when_it_repeats() {
    for (conflicts, errors) in [(1, None), (3, Some(2))] {
        let server = Server::default();
        server.state().conflicts = conflicts;
        let thing = json!({ "metadata": { "labels": { "depth": "0" } } });
        server.put(THING, "a", "one", thing);
        let mut registry = Registry::default();
        let mut controller = controller(&server, vec![Box::new(Climber)], Vec::new());
        controller.metrics = Metrics::new(&mut registry);
        let has_status = || {
            let thing = server.get(THING, "a", "one");
            thing.is_some_and(|thing| thing["status"]["seen"] == true)
        };
        let written = until("the status", has_status);
        working(&controller, &[THING, SECRET], written).await;
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let mut lines = text.lines();
        let counted = lines.find(|line| line.contains("reason=\"conflict\""));
        let expected = errors.map(|errors| {
            format!(
                "operator_errors_total{{operator=\"test-operator\",reason=\"conflict\"}} {errors}"
            )
        });
        assert_eq!(counted, expected.as_deref());
    }
}
