//! What a control plane may have beside the OpenStack services.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parts::{Database, Image, Schedule, Volume, is_default};
use crate::tempest::Tests;

/// Cortex in a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CortexComponent {
    /// Whether Cortex runs.
    pub enabled: bool,
    /// Replicas. Without it 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: Option<u32>,
    /// What Cortex schedules for. Without it nova and cinder.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 8), inner(length(min = 1, max = 63)))]
    pub pipelines: Vec<String>,
    /// Cortex's PostgreSQL: with clusterRef a Cluster of CloudNativePG, else the server that host or the Secret names.
    /// Without it the Secret is cortex-db-credentials.
    #[serde(skip_serializing_if = "is_default")]
    pub database: Database,
    /// The container image. Without it the one that the operator knows.
    #[serde(skip_serializing_if = "is_default")]
    pub image: Image,
}

/// Tempest in a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct TempestComponent {
    /// Whether Tempest runs.
    pub enabled: bool,
    /// When tests are run, as cron has it.
    #[educe(Default = Schedule::nightly())]
    pub schedule: Schedule,
    /// Whether the schedule is suspended. Tests then run only once for each change of what is tested, for instance the release.
    #[serde(skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// Which tests are run. Without it as Tempest's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// A volume for the logs of the last ten runs, which outlast their pods and Tempest there. Without it a log is lost with its pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<Volume<1>>,
    /// The container image. Without it the release's.
    #[serde(skip_serializing_if = "is_default")]
    pub image: Image,
}
