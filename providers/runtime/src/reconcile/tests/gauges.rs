//! What an operator exports of its subjects.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use provider_composer::{
    Composed, DesiredState, Failure, Gauge, Metric, ObservedState, Operator, Reason, ResourceKind,
    Use,
};
use serde_json::{Value, json};

use crate::reconcile::Controller;
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
        let failure = Failure::new(Reason::Invalid, "set spec.a");
        match resource["metadata"]["labels"]["fails"].as_str() {
            Some("with-gauges") => {
                return Err(failure.exporting(vec![Gauge::new(METRIC, &[], 2)]));
            }
            Some(_) => return Err(failure),
            None => {}
        }
        let mut desired = DesiredState::default();
        desired.gauge(METRIC, &[], 1);
        composed(resource, desired, json!({}))
    }
}

fn failing(how: &str) -> Value {
    json!({ "metadata": { "labels": { "fails": how } } })
}

/// A controller, and the registry by which it exports gauges.
fn exporting(server: &Server) -> (Controller, Registry) {
    let controller = controller(server, vec![Box::new(Counting)], Vec::new());
    let mut registry = Registry::default();
    registry.register_collector(Box::new(controller.metrics.gauges.clone()));
    (controller, registry)
}

/// The number as it is exported.
fn value(registry: &Registry) -> Option<String> {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix("test_things{resource=\"a/one\"} "));
    value.map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn gauges_of_a_failure_are_exported() {
    let server = Server::default();
    let (controller, registry) = exporting(&server);
    server.put(THING, "a", "one", failing("with-gauges"));
    let is_two = || value(&registry).as_deref() == Some("2");
    let exported = until("the gauge", is_two);
    working(&controller, &[THING, CONFIG_MAP], exported).await;
}

#[tokio::test(start_paused = true)]
async fn gauges_of_a_subject_are_exported_while_it_can_be_composed() {
    let server = Server::default();
    let (controller, registry) = exporting(&server);
    let is_one = || value(&registry).as_deref() == Some("1");
    server.put(THING, "a", "one", json!({}));
    working(&controller, &[THING, CONFIG_MAP], async {
        until("the gauge", is_one).await;
        server.put(THING, "a", "one", failing("always"));
        until("its end by the failure", || value(&registry).is_none()).await;
        server.put(THING, "a", "one", json!({}));
        until("the gauge again", is_one).await;
        server.delete(THING, "a", "one");
        until("its end by the deletion", || value(&registry).is_none()).await;
    })
    .await;
}
