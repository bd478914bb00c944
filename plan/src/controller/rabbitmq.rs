//! RabbitMQ, as far as operators ask it directly, for a plan without one: it has no alarms.

use provider_control_plane::credentials::rabbitmq::Answer;
use serde_json::{Value, json};

use super::external::Simulated;

/// The RabbitMQ of every control plane.
#[derive(Clone)]
pub struct RabbitMq;

impl Simulated for RabbitMq {
    fn observe(&self, _: &str) -> Value {
        json!(Answer::default())
    }

    fn call(&mut self, _: &str) -> bool {
        false
    }
}
