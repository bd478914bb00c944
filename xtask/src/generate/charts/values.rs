//! The values of the charts: what values.yaml and values.schema.json are made of.

mod output;
mod pods;

use anyhow::Result;
use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::generate::Files;
use output::{schema, written};
use pods::Pods;

/// A name as Kubernetes takes it of a namespace.
const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// Operators whose place is not the cluster of control planes, but that of hypervisors, or the management cluster.
const ELSEWHERE: [&str; 2] = ["hypervisor-pool-operator", "kubeconfig-operator"];

/// Values of an operator's chart.
#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Operator {
    /// Replicas: one works, the others stand by.
    #[educe(Default = 2)]
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
    #[educe(Default = true)]
    check_definitions: bool,
    /// Lets in probes and metrics, and out what the operator needs: DNS, the API server and OpenStack's APIs.
    network_policy: OperatorNetwork,
}

/// Values of the labels injector's chart.
#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Injector {
    /// Replicas: all of them work.
    #[educe(Default = 2)]
    replicas: u16,
    #[serde(flatten)]
    pods: Pods,
    /// The webhook's certificate. Without secretName, the chart makes one for so many days and keeps it in a Secret.
    certificate: Certificate,
    /// Lets in probes, metrics and the API server, and out DNS and the API server.
    network_policy: InjectorNetwork,
}

/// Values of the chart of definitions.
#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Definitions {
    /// Refuses to install where a definition of one of these names is another project's. Whoever installs the chart needs the verb
    /// get on CustomResourceDefinitions for it.
    #[educe(Default = true)]
    check_definitions: bool,
}

#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
struct OperatorNetwork {
    #[educe(Default = true)]
    enabled: bool,
    /// Ports of the API server.
    #[educe(Default = vec![443, 6443])]
    #[schemars(inner(range(min = 1)))]
    api_server_ports: Vec<u16>,
    /// Ports of Keystone, Nova, Placement and Neutron, of the databases of OVN, and of RabbitMQ's management.
    #[educe(Default = vec![443, 5000, 6641, 6642, 8774, 8778, 9696, 15671, 15672])]
    #[schemars(inner(range(min = 1)))]
    egress_ports: Vec<u16>,
}

#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
struct InjectorNetwork {
    #[educe(Default = true)]
    enabled: bool,
    /// Ports of the API server.
    #[educe(Default = vec![443, 6443])]
    #[schemars(inner(range(min = 1)))]
    api_server_ports: Vec<u16>,
    /// Further ports to let out.
    #[schemars(inner(range(min = 1)))]
    egress_ports: Vec<u16>,
    /// Networks that the API server calls webhooks from, for instance 10.0.0.0/28. Empty: any.
    api_servers: Vec<String>,
}

#[derive(Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
struct Certificate {
    #[educe(Default = 3650)]
    #[schemars(range(min = 1))]
    days: u32,
    /// A Secret with tls.crt and tls.key for the host `<name>-webhook.<namespace>.svc`, and the authority that signed it, in base64.
    secret_name: String,
    ca_bundle: String,
}

/// The file of a chart's values, and that of their schema, by their paths in the chart.
pub fn files<V: Default + JsonSchema + Serialize>() -> Result<Files> {
    written(&serde_json::to_value(V::default())?, schema::<V>())
}

/// The same for the chart of all operators, whose dependencies have values of their own.
pub fn of_all(operators: &[&str], definitions: &str) -> Result<Files> {
    let (mut wanted, mut switches, mut charts) = (json!({}), json!({}), json!({}));
    for name in operators {
        wanted[short(name)] = json!(!ELSEWHERE.contains(name));
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::generate::charts::LIBRARY;

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
