//! The namespaces of operators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A namespace's name (RFC 1123 label).
const NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// Namespaces of operators and Prometheus. The default are those of their installation guides, and of this project's charts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OperatorNamespaces(
    #[schemars(length(max = 16), inner(length(min = 1, max = 63), regex(pattern = NAMESPACE)))]
    pub Vec<String>,
);

impl Default for OperatorNamespaces {
    fn default() -> Self {
        let usual = [
            "c5c3-system",
            "infrastructure-operators",
            "mariadb-system",
            "monitoring",
            "rabbitmq-system",
        ];
        Self(usual.map(str::to_owned).into())
    }
}
