//! What an operator exports of its subjects.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use provider_composer::{
    Composed, DesiredState, Failure, Metric, ObservedState, Operator, Reason, ResourceKind, Use,
};
use serde_json::{Value, json};

use crate::testing::{CONFIG_MAP, Server, THING, composed, controller, facts, until, working};

const METRIC: Metric = Metric {
    name: "test_things",
    help: "Things.",
};

/// Composes nothing and exports a number.
struct Counting;

impl Operator for Counting {
    facts! { "test-operator", THING, Unordered, [Use::composes(CONFIG_MAP)] }

    fn composed(&self, resource: &Value, _: &ObservedState<'_>) -> Result<Composed, Failure> {
        if resource["metadata"]["labels"]["fails"] == "always" {
            return Err(Failure::new(Reason::Invalid, "set spec.a"));
        }
        let mut desired = DesiredState::default();
        desired.gauge(METRIC, &[], 1);
        composed(resource, desired, json!({}))
    }
}

#[tokio::test(start_paused = true)]
async fn gauges_of_a_subject_are_exported_while_it_can_be_composed() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Counting)], Vec::new());
    let mut registry = Registry::default();
    registry.register_collector(Box::new(controller.metrics.gauges.clone()));
    let is_exported = || {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text.contains("\ntest_things{resource=\"a/one\"} 1\n")
    };
    server.put(THING, "a", "one", json!({}));
    working(&controller, &[THING, CONFIG_MAP], async {
        until("the gauge", is_exported).await;
        let failing = json!({ "metadata": { "labels": { "fails": "always" } } });
        server.put(THING, "a", "one", failing);
        until("its end by the failure", || !is_exported()).await;
        server.put(THING, "a", "one", json!({}));
        until("the gauge again", is_exported).await;
        server.delete(THING, "a", "one");
        until("its end by the deletion", || !is_exported()).await;
    })
    .await;
}
