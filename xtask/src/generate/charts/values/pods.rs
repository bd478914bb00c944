//! What the pods of all charts have: their image, their environment and where they run.

use std::collections::BTreeMap;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A name as Kubernetes takes it of a namespace, or nothing.
const OPTIONAL_LABEL: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$";

/// A digest of an image, or nothing.
const OPTIONAL_DIGEST: &str = "^(sha256:[0-9a-f]{64})?$";

/// Text by its key, for instance labels.
type Texts = BTreeMap<String, String>;

/// Values of all charts with pods.
#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Pods {
    /// The name of the objects. Empty: the release's name, and the chart's after it unless it contains that.
    #[schemars(length(max = 50), regex(pattern = OPTIONAL_LABEL))]
    fullname_override: String,
    image: Image,
    /// What is logged: error, warn, info, debug, or a filter as RUST_LOG has it.
    #[educe(Default = "info")]
    #[schemars(length(min = 1))]
    log: String,
    /// Environment variables besides, each with name and value or valueFrom, for instance HTTPS_PROXY.
    extra_env: Vec<EnvVar>,
    resources: Resources,
    pod_annotations: Texts,
    node_selector: Texts,
    tolerations: Vec<Toleration>,
    affinity: Affinity,
    priority_class_name: String,
    service_account: ServiceAccount,
    /// Prometheus operator's ServiceMonitor, and its PrometheusRule.
    monitoring: Monitoring,
}

#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
struct Image {
    #[educe(Default = format!("{}/function-c5c3", c5c3_api::REGISTRY))]
    #[schemars(length(min = 1))]
    repository: String,
    /// Without it the chart's version.
    tag: String,
    /// sha256:... wins over the tag.
    #[schemars(regex(pattern = OPTIONAL_DIGEST))]
    digest: String,
    #[educe(Default = PullPolicy::IfNotPresent)]
    pull_policy: PullPolicy,
    /// Names of Secrets.
    pull_secrets: Vec<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

/// An EnvVar of Kubernetes.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EnvVar {
    #[schemars(length(min = 1))]
    name: String,
    value: Option<String>,
    value_from: Option<BTreeMap<String, Value>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Resources {
    requests: BTreeMap<String, Quantity>,
    limits: BTreeMap<String, Quantity>,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            requests: quantities([("cpu", "20m"), ("memory", "32Mi")]),
            limits: quantities([("memory", "128Mi")]),
        }
    }
}

fn quantities<const N: usize>(quantities: [(&str, &str); N]) -> BTreeMap<String, Quantity> {
    quantities
        .into_iter()
        .map(|(name, quantity)| (name.to_owned(), Quantity::Text(quantity.to_owned())))
        .collect()
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Quantity {
    Text(String),
    Number(f64),
}

/// A Toleration of Kubernetes.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Toleration {
    key: Option<String>,
    operator: Option<TolerationOperator>,
    value: Option<String>,
    effect: Option<TaintEffect>,
    toleration_seconds: Option<i64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum TolerationOperator {
    Equal,
    Exists,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum TaintEffect {
    NoExecute,
    NoSchedule,
    PreferNoSchedule,
}

/// An Affinity of Kubernetes.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Affinity {
    #[serde(skip_serializing_if = "Option::is_none")]
    node_affinity: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_affinity: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_anti_affinity: Option<BTreeMap<String, Value>>,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct ServiceAccount {
    annotations: Texts,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Monitoring {
    enabled: bool,
    /// Labels by which Prometheus selects both.
    labels: Texts,
    /// Alerts, if it is enabled.
    alerts: Alerts,
}

#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
struct Alerts {
    enabled: bool,
    /// The page that alerts refer to, with a section for each.
    #[educe(Default = "https://github.com/C5C3/C5C3/blob/main/docs/alerts.md")]
    #[schemars(length(min = 1))]
    runbooks: String,
}
