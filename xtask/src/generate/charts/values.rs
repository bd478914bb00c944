//! The values of the charts: what values.yaml and values.schema.json are made of.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::LIBRARY;
use crate::generate::Files;

/// A name as Kubernetes takes it of a namespace.
const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// The same, or nothing.
const OPTIONAL_LABEL: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$";

/// A digest of an image, or nothing.
const OPTIONAL_DIGEST: &str = "^(sha256:[0-9a-f]{64})?$";

/// Text by its key, for instance labels.
type Texts = BTreeMap<String, String>;

/// Values of an operator's chart.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Operator {
    /// Replicas: one works, the others stand by.
    replicas: u16,
    #[serde(flatten)]
    pods: Pods,
    /// The namespaces that the operator watches, with a Role in each. Empty: all, with a ClusterRole that lets it read every Secret.
    #[schemars(
        inner(length(max = 63), regex(pattern = LABEL)),
        extend("uniqueItems" = true)
    )]
    watch_namespaces: Vec<String>,
    /// Refuses to install where a definition of the operator's kinds is another project's. Whoever installs the chart needs the verb
    /// get on CustomResourceDefinitions for it.
    check_definitions: bool,
    /// Lets in probes and metrics, and out what the operator needs: DNS, the API server and OpenStack's APIs.
    network_policy: OperatorNetwork,
}

impl Default for Operator {
    fn default() -> Self {
        Self {
            replicas: 2,
            pods: Pods::default(),
            watch_namespaces: Vec::new(),
            check_definitions: true,
            network_policy: OperatorNetwork::default(),
        }
    }
}

/// Values of the labels injector's chart.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Injector {
    /// Replicas: all of them work.
    replicas: u16,
    #[serde(flatten)]
    pods: Pods,
    /// The webhook's certificate. Without secretName, the chart makes one for so many days and keeps it in a Secret.
    certificate: Certificate,
    /// Lets in probes, metrics and the API server, and out DNS and the API server.
    network_policy: InjectorNetwork,
}

impl Default for Injector {
    fn default() -> Self {
        Self {
            replicas: 2,
            pods: Pods::default(),
            certificate: Certificate::default(),
            network_policy: InjectorNetwork::default(),
        }
    }
}

/// Values of the chart of definitions.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Definitions {
    /// Refuses to install where a definition of one of these names is another project's. Whoever installs the chart needs the verb
    /// get on CustomResourceDefinitions for it.
    check_definitions: bool,
}

impl Default for Definitions {
    fn default() -> Self {
        Self {
            check_definitions: true,
        }
    }
}

/// Values of all charts with pods.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Pods {
    /// The name of the objects. Empty: the release's name, and the chart's after it unless it contains that.
    #[schemars(length(max = 50), regex(pattern = OPTIONAL_LABEL))]
    fullname_override: String,
    image: Image,
    /// What is logged: error, warn, info, debug, or a filter as RUST_LOG has it.
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

impl Default for Pods {
    fn default() -> Self {
        Self {
            fullname_override: String::new(),
            image: Image::default(),
            log: "info".to_owned(),
            extra_env: Vec::new(),
            resources: Resources::default(),
            pod_annotations: Texts::new(),
            node_selector: Texts::new(),
            tolerations: Vec::new(),
            affinity: Affinity::default(),
            priority_class_name: String::new(),
            service_account: ServiceAccount::default(),
            monitoring: Monitoring::default(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Image {
    #[schemars(length(min = 1))]
    repository: String,
    /// Without it the chart's version.
    tag: String,
    /// sha256:... wins over the tag.
    #[schemars(regex(pattern = OPTIONAL_DIGEST))]
    digest: String,
    pull_policy: PullPolicy,
    /// Names of Secrets.
    pull_secrets: Vec<String>,
}

impl Default for Image {
    fn default() -> Self {
        Self {
            repository: format!("{}/function-c5c3", c5c3_api::REGISTRY),
            tag: String::new(),
            digest: String::new(),
            pull_policy: PullPolicy::IfNotPresent,
            pull_secrets: Vec::new(),
        }
    }
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

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Alerts {
    enabled: bool,
    /// The page that alerts refer to, with a section for each.
    #[schemars(length(min = 1))]
    runbooks: String,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            enabled: false,
            runbooks: "https://github.com/C5C3/C5C3/blob/main/docs/alerts.md".to_owned(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct OperatorNetwork {
    enabled: bool,
    /// Ports of the API server.
    #[schemars(inner(range(min = 1)))]
    api_server_ports: Vec<u16>,
    /// Ports of Keystone, Nova, Placement and Neutron, and of the databases of OVN.
    #[schemars(inner(range(min = 1)))]
    egress_ports: Vec<u16>,
}

impl Default for OperatorNetwork {
    fn default() -> Self {
        Self {
            enabled: true,
            api_server_ports: vec![443, 6443],
            egress_ports: vec![443, 5000, 6641, 6642, 8774, 8778, 9696],
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct InjectorNetwork {
    enabled: bool,
    /// Ports of the API server.
    #[schemars(inner(range(min = 1)))]
    api_server_ports: Vec<u16>,
    /// Further ports to let out.
    #[schemars(inner(range(min = 1)))]
    egress_ports: Vec<u16>,
    /// Networks that the API server calls webhooks from, for instance 10.0.0.0/28. Empty: any.
    api_servers: Vec<String>,
}

impl Default for InjectorNetwork {
    fn default() -> Self {
        Self {
            enabled: true,
            api_server_ports: vec![443, 6443],
            egress_ports: Vec::new(),
            api_servers: Vec::new(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Certificate {
    #[schemars(range(min = 1))]
    days: u32,
    /// A Secret with tls.crt and tls.key for the host <name>-webhook.<namespace>.svc, and the authority that signed it, in base64.
    secret_name: String,
    ca_bundle: String,
}

impl Default for Certificate {
    fn default() -> Self {
        Self {
            days: 3650,
            secret_name: String::new(),
            ca_bundle: String::new(),
        }
    }
}

/// The file of a chart's values, and that of their schema, by their paths in the chart.
pub fn files<V: Default + JsonSchema + Serialize>() -> Result<Files> {
    written(&serde_json::to_value(V::default())?, schema::<V>())
}

/// The same for the chart of all operators, whose dependencies have values of their own.
pub fn of_all(operators: &[&str], definitions: &str) -> Result<Files> {
    let (mut wanted, mut switches, mut charts) = (json!({}), json!({}), json!({}));
    for name in operators {
        // Its place is in clusters of hypervisors.
        wanted[short(name)] = json!(*name != "hypervisor-pool-operator");
        switches[short(name)] = json!({"type": "boolean"});
        charts[*name] = json!({"type": "object"});
    }
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "crds": {
                "description": "Whether the release has the CRDs. They stay when it no longer has them.",
                "type": "boolean",
            },
            "operators": {
                "description": "Which operators run. Values of each are below the name of its chart, for instance keystone-operator.",
                "type": "object",
                "properties": switches,
            },
            definitions: {"type": "object"},
        },
    });
    if let (Value::Object(properties), Value::Object(charts)) = (&mut schema["properties"], charts)
    {
        properties.extend(charts);
    }
    written(&json!({"crds": true, "operators": wanted}), schema)
}

/// What an operator's name is without what all of them end with.
pub fn short(operator: &str) -> &str {
    operator.strip_suffix("-operator").unwrap_or(operator)
}

/// Values and their schema as files.
fn written(values: &Value, mut schema: Value) -> Result<Files> {
    // Helm adds these to the values of a chart that has a dependency.
    for name in ["global", LIBRARY] {
        schema["properties"][name] = json!({"type": "object"});
    }
    close(&mut schema);
    let values = commented(values, &schema)?;
    let head = "# Made by `cargo xtask generate` from xtask/src/generate/charts/values.rs.";
    let schema = serde_json::to_string_pretty(&schema)?;
    Ok(Files::from([
        (Path::new("values.yaml").into(), format!("{head}\n{values}")),
        (
            Path::new("values.schema.json").into(),
            format!("{schema}\n"),
        ),
    ]))
}

/// The schema of values.
fn schema<V: JsonSchema>() -> Value {
    // The draft that every Helm of version 3 reads.
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<V>().to_value();
    if let Value::Object(root) = &mut schema {
        // That of the root is the Rust type's name.
        root.remove("title");
    }
    schema
}

/// Refuses what an object doesn't have.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            object.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Values as YAML, with their descriptions as comments.
fn commented(values: &Value, schema: &Value) -> Result<String> {
    let mut text = String::new();
    for (name, value) in values.as_object().into_iter().flatten() {
        let schema = &schema["properties"][name];
        let description = schema["description"].as_str().unwrap_or_default();
        for line in description.lines() {
            text += &format!("# {line}\n");
        }
        let nested = value.as_object().is_some_and(|object| !object.is_empty());
        if nested && schema["properties"].is_object() {
            text += &format!("{name}:\n");
            for line in commented(value, schema)?.lines() {
                text += &format!("  {line}\n");
            }
        } else {
            let value = serde_saphyr::to_string(&json!({ name: value }))?;
            text += &format!("{}\n", value.trim_end());
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a chart as its files have them, and their schema.
    fn of<V: Default + JsonSchema + Serialize>() -> (String, Value, Value) {
        let files = files::<V>().unwrap();
        let text = files[Path::new("values.yaml")].clone();
        let schema = &files[Path::new("values.schema.json")];
        let values = serde_saphyr::from_str(&text).unwrap();
        (text, values, serde_json::from_str(schema).unwrap())
    }

    /// Paths of the objects in a schema that take any property.
    fn open(schema: &Value, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if schema["properties"].is_object() {
                if schema["additionalProperties"] != json!(false) {
                    found.push(path.clone());
                }
                found.extend(open(schema, &path));
            }
        }
        found
    }

    #[test]
    fn values_in_the_file_are_the_defaults() {
        let (_, operator, _) = of::<Operator>();
        assert_eq!(operator, serde_json::to_value(Operator::default()).unwrap());
        let (_, injector, _) = of::<Injector>();
        assert_eq!(injector, serde_json::to_value(Injector::default()).unwrap());
        let (text, definitions, _) = of::<Definitions>();
        assert_eq!(definitions, json!({"checkDefinitions": true}));
        assert!(
            text.contains("\n# get on CustomResourceDefinitions for it.\ncheckDefinitions: true\n")
        );
    }

    #[test]
    fn schema_refuses_unknown_values_at_every_level() {
        for (_, _, schema) in [of::<Operator>(), of::<Injector>(), of::<Definitions>()] {
            assert_eq!(schema["additionalProperties"], json!(false));
            assert_eq!(open(&schema, ""), Vec::<String>::new());
        }
        let (_, _, schema) = of::<Operator>();
        let tolerations = &schema["properties"]["tolerations"]["items"];
        assert_eq!(tolerations["additionalProperties"], json!(false));
    }

    #[test]
    fn schema_knows_every_value_of_the_file_and_what_helm_adds() {
        for (_, values, schema) in [of::<Operator>(), of::<Injector>(), of::<Definitions>()] {
            let properties = schema["properties"].as_object().unwrap();
            let mut known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let mut wanted: Vec<&str> = values
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .chain(["global", LIBRARY])
                .collect();
            known.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(known, wanted);
        }
    }

    #[test]
    fn schema_names_the_policies_of_pulling_images() {
        let (_, _, schema) = of::<Operator>();
        let policy = &schema["properties"]["image"]["properties"]["pullPolicy"];
        assert_eq!(policy["enum"], json!(["Always", "IfNotPresent", "Never"]));
    }
}
