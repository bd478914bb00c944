//! Cortex: the scheduler that places workloads across services.

use std::collections::BTreeMap;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::{
        Database, Dependency, Image, KeystoneAccess, NamedRef, Resources, Switch, Tls, Topology,
        is_default,
    },
    rule::Rule,
    schema::URL,
};

const SOMETHING_TO_READ: Rule = Rule::new(
    "!self.enabled || has(self.endpoint)",
    "a data source is enabled without an endpoint: give its URL, or switch it off",
);

/// The wanted Cortex.
#[derive(Clone, Debug, PartialEq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CortexSpec {
    /// Replicas.
    #[educe(Default = 2)]
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: u32,
    /// CPU and memory of each replica.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// The container image. Without it the one that the operator knows.
    #[serde(skip_serializing_if = "is_default")]
    pub image: Image,
    /// The PostgreSQL that Cortex keeps its data in: with clusterRef a Cluster of CloudNativePG, else the server that host or
    /// the Secret names.
    #[serde(skip_serializing_if = "is_default")]
    pub database: Database,
    /// How Cortex authenticates to Keystone.
    #[schemars(transform = crate::parts::keystone_access::of_client)]
    pub keystone: KeystoneAccess<NamedRef>,
    /// What Cortex schedules, by service, for instance nova and cinder.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16))]
    pub pipelines: BTreeMap<String, Pipeline>,
    /// What Cortex learns from, by kind, for instance prometheus and nova.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16))]
    pub datasources: BTreeMap<String, Datasource>,
    /// Encryption of the endpoint.
    pub tls: Tls,
    /// Where pods run.
    #[serde(skip_serializing_if = "is_default")]
    pub topology: Topology,
    /// Whether Prometheus is told where metrics are.
    pub monitoring: Switch<false>,
    /// What Cortex waits for before it starts.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_dependency)]
    pub depends_on: Vec<Dependency>,
}

/// How Cortex schedules for one service: first filters leave hosts out, then weighers put the rest in order.
#[derive(Clone, Debug, PartialEq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct Pipeline {
    /// Whether it is used.
    #[educe(Default = true)]
    pub enabled: bool,
    /// What leaves hosts out. Without it what Cortex has for the service.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 64), transform = list::by_name)]
    pub filters: Vec<Filter>,
    /// What puts hosts in order. Without it what Cortex has for the service.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 64), transform = list::by_name)]
    pub weighers: Vec<Weigher>,
}

/// What leaves hosts out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Filter {
    /// Name of the filter, for instance AvailabilityZoneFilter.
    #[schemars(length(min = 1, max = 255))]
    pub name: String,
}

/// What puts hosts in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Weigher {
    /// Name of the weigher, for instance RAMWeigher.
    #[schemars(length(min = 1, max = 255))]
    pub name: String,
    /// How much it counts against the others. Below zero it puts hosts in the other order.
    #[serde(default = "default_weight")]
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub weight: f64,
}

fn default_weight() -> f64 {
    1.0
}

/// What Cortex learns from.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [SOMETHING_TO_READ]))]
pub struct Datasource {
    /// Whether it is read.
    #[educe(Default = true)]
    pub enabled: bool,
    /// URL to read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = URL))]
    pub endpoint: Option<String>,
}

impl Kind for CortexSpec {
    type Status = CortexStatus;
    const DESCRIPTION: &'static str =
        "Cortex, the scheduler that places workloads across services.";
    const GROUP: &'static str = "cortex.c5c3.io";
    const KIND: &'static str = "Cortex";
    const PLURAL: &'static str = "cortexes";
    const SHORT_NAME: &'static str = "ctx";
    const COLUMNS: &'static [Column] = &[
        Column::new("Endpoint", "string", ".status.endpoint"),
        Column::wide("Pipelines", "string", ".status.activePipelines"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}

impl CustomResource for CortexSpec {}

/// The observed Cortex.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CortexStatus {
    /// What holds of Cortex, for instance PipelinesReady; Ready is the sum of the others.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// URL of the API within the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Services that Cortex schedules for now.
    #[serde(skip_serializing_if = "is_default")]
    pub active_pipelines: Vec<String>,
    /// ID of the application credential that all pods run with. An older one is revoked only after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_credential: Option<String>,
}
