//! Tempest: tests of a control plane, again and again.

use educe::Educe;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    KINDS,
    condition::Condition,
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::{
        Dependency, ExtraConfig, Image, KeystoneAccess, NamedRef, Resources, Schedule, Topology,
        Volume, common::RELEASE, is_default,
    },
};

/// The wanted tests.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TempestSpec {
    /// When tests are run, as cron has it.
    #[educe(Default = Schedule::nightly())]
    pub schedule: Schedule,
    /// Whether the schedule is suspended. Tests then run only once for each change of what is tested.
    #[serde(skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// OpenStack release that is tested, for instance 2025.2. Without it the one that Tempest's image is built for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), regex(pattern = RELEASE))]
    pub release: Option<String>,
    /// The container image. Without it the release's.
    #[serde(skip_serializing_if = "is_default")]
    pub image: Image,
    /// How Tempest authenticates to Keystone.
    #[schemars(transform = crate::parts::keystone_access::of_client)]
    pub keystone: KeystoneAccess<NamedRef>,
    /// Which tests are run.
    pub tests: Tests,
    /// The external network in Neutron that tests of networks use. Without it the first that Neutron has. A ControlPlane names its own
    /// once it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub external_network: Option<String>,
    /// CPU and memory of a run.
    #[serde(skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// A volume for the logs of the last ten runs, which outlast their pods and the Tempest there. Without it a log is lost with its pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<Volume<1>>,
    /// Where runs take place.
    #[serde(skip_serializing_if = "is_default")]
    pub topology: Topology,
    /// Options of tempest.conf by section, for what no field here says. They are merged last.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_config: ExtraConfig,
    /// What is waited for before tests are run.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 32), transform = list::by_dependency)]
    pub depends_on: Vec<Dependency>,
}

/// Which tests are run.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Tests {
    /// The services that are tested. Without it all that the catalogue has.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 16), transform = of_tested)]
    pub services: Vec<String>,
    /// How many tests run at once.
    #[educe(Default = 4)]
    #[schemars(range(min = 1, max = 64))]
    pub concurrency: u32,
    /// Tests that are run, as a regular expression of Python's. Without it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub include_regex: Option<String>,
    /// Tests that aren't run, as a regular expression of Python's. Without it none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub exclude_regex: Option<String>,
}

/// What Tempest calls Swift, or what speaks like it. No operator here runs it.
const OBJECT_STORE: &str = "object-store";

/// The services of a control plane that Tempest tests: their names, and what it calls them, as the sections of its configuration.
pub fn tested_services() -> impl Iterator<Item = (String, &'static str)> {
    let each = KINDS.iter();
    each.filter_map(|known| Some((known.kind.to_lowercase(), known.tested_as?)))
}

/// A list of services by what Tempest calls them.
fn of_tested(schema: &mut Schema) {
    let services: Vec<_> = tested_services().collect();
    let each = services.iter();
    let meanings: String = each
        .map(|(name, tested)| format!("\n\n{tested}: {name}."))
        .collect();
    let names = services.iter().map(|(_, tested)| *tested);
    let names: Vec<_> = names.chain([OBJECT_STORE]).collect();
    list::set(schema);
    let items = json!({
        "description": format!("A service that Tempest knows.{meanings}\n\n{OBJECT_STORE}: Swift, or what speaks like it."),
        "type": "string",
        "enum": names,
    });
    schema.insert("items".to_owned(), items);
}

/// A list of services of a control plane that Tempest tests, by their names.
pub(crate) fn of_verified(schema: &mut Schema) {
    let names: Vec<_> = tested_services().map(|(name, _)| name).collect();
    let items = json!({
        "description": "A service that Tempest tests.",
        "type": "string",
        "enum": names,
    });
    schema.insert("items".to_owned(), items);
}

impl Kind for TempestSpec {
    type Status = TempestStatus;
    const DESCRIPTION: &'static str = "Tempest, tests of a control plane, again and again.";
    const GROUP: &'static str = "tempest.openstack.c5c3.io";
    const KIND: &'static str = "Tempest";
    const PLURAL: &'static str = "tempests";
    const SHORT_NAME: &'static str = "tmp";
    const COLUMNS: &'static [Column] = &[
        Column::new("Passed", "integer", ".status.results.passedTests"),
        Column::new("Failed", "integer", ".status.results.failedTests"),
        Column::new("Last run", "date", ".status.lastRun"),
        Column::wide("Schedule", "string", ".spec.schedule"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}

impl CustomResource for TempestSpec {}

/// The observed tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TempestStatus {
    /// What holds of the tests: TestsPassed is of the last run, which must have left nothing behind, and Unknown until what the spec says
    /// has been tested; Ready says that they are run.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// When the last run ended, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_run: Option<String>,
    /// How long the last run took, for instance 45m12s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_duration: Option<String>,
    /// What the last run found. Absent if it ended without results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<TestResults>,
    /// Names of tests that failed in the last run, the first 20 in alphabetical order.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 20))]
    pub failures: Vec<String>,
    /// Names of tests that were skipped in the last run, the first 20 in alphabetical order. Of a class that was skipped there is one
    /// name.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 20))]
    pub skipped: Vec<String>,
    /// The last ten runs that had results, newest first.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 10))]
    pub history: Vec<TestRun>,
    /// A digest of what the last run tested: release, image, tests, external network and options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested: Option<String>,
    /// ID of the application credential that runs authenticate with. An older one is revoked only after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_credential: Option<String>,
}

/// A run that had results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TestRun {
    /// When it ended, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub finished: String,
    /// How long it took, for instance 45m12s.
    pub duration: String,
    /// The release that was tested.
    pub release: String,
    /// What it found.
    pub results: TestResults,
}

/// What a run found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TestResults {
    /// Tests that passed.
    pub passed_tests: u32,
    /// Tests that failed.
    pub failed_tests: u32,
    /// Tests that were skipped.
    pub skipped_tests: u32,
    /// All of them.
    pub total_tests: u32,
}
