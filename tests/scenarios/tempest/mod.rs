//! Tempest as its operator runs it, against a real Keystone: what the pod's program does with the composed files and an application
//! credential.

mod cleanup;
mod program;
mod results;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use c5c3_api::tempest::TempestSpec;
use k8s_openapi::api::core::v1::ConfigMap;
use lab::suite::{Need, Scenario};
use lab::{Context, Keystone, Machine, Program, Result, ensure, scenario, tools};
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use provider_tempest::Tempest;
use serde_json::{Value, json};

use crate::keystone::identity::Identity;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Cloud, 180 s, tempest_reports_results_and_leaves_nothing, [&[
        Need::Python("keystone"),
        Need::Python("tempest"),
    ]]),
    scenario!(Gate, 30 s, program::tempest_creates_what_servers_need, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, program::tempest_uses_the_network_that_it_is_told, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, program::tempest_finds_volumes_by_the_type_of_the_catalogue, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, program::tempest_says_that_a_cloud_lacks_a_network, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, program::tempest_chooses_tests_by_their_services, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, program::tempest_leaves_out_tests_that_connect_to_servers, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, results::tempest_counts_what_stestr_recorded, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, results::tempest_lists_every_skipped_test_with_its_reason, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, results::tempest_keeps_the_logs_of_ten_runs_without_passwords, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, cleanup::tempest_deletes_what_runs_left_and_nothing_else, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, cleanup::tempest_finds_what_an_interrupted_run_left_in_deleted_projects, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, cleanup::tempest_repeats_requests_that_fail_while_it_deletes, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, cleanup::tempest_keeps_as_many_projects_as_a_domain_has_room_for, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, cleanup::tempest_says_what_a_run_without_results_left, [&[Need::Python("tempest")]]),
];

const PASSWORD: &str = "chosen: by \"the\" user #1";
/// Tests that create groups, projects, roles and users in Keystone, tests of its discovery, and a class that needs a setting.
const INCLUDE: &str =
    r"identity\.(v3\.test_(api_discovery|domains|users)|admin\.v3\.test_(groups|projects|roles))\.";

fn tempest_reports_results_and_leaves_nothing() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let keystone = Keystone::start(&machine, PASSWORD).await?;
        let identity = Identity::new(&keystone.url(), PASSWORD);
        let runner = Runner::new(&machine, &keystone, &identity).await?;
        identity
            .create("roles", json!({ "role": { "name": "tempest-of-another" } }))
            .await?;
        let before = identity.names().await?;

        // One at a time: the lab's Keystone has one thread, since its database is SQLite.
        let report = runner
            .run(json!({ "services": ["identity"], "includeRegex": INCLUDE, "concurrency": 1 }))
            .await?;
        ensure!(
            report["failed"] == 0 && report["skipped"] == 1 && report["cleaned"] == true,
            "{report}"
        );
        ensure!(report["passed"].as_u64() > Some(30), "{report}");
        let log = fs::read_to_string(machine.log("tempest"))?;
        let skipped = log.lines().filter(|line| line.starts_with("SKIPPED "));
        ensure!(skipped.count() == 1, "{log}");
        ensure!(
            identity.names().await? == before,
            "{:?}",
            identity.names().await?
        );

        // What an interrupted run leaves.
        let (name, owner) = runner.domain()?;
        let projects = "projects.0123456789abcdef0123456789abcdef";
        let own = json!({ "name": name, "description": owner, "tags": [projects] });
        let domain = identity.create("domains", json!({ "domain": own })).await?;
        let account = json!({ "name": "admin", "domain_id": domain });
        identity
            .create("projects", json!({ "project": account }))
            .await?;
        identity.create("users", json!({ "user": account })).await?;
        let role = json!({ "name": format!("{name}-Role-1") });
        identity.create("roles", json!({ "role": role })).await?;

        for (tests, refused) in [
            (
                json!({ "includeRegex": "(" }),
                "spec.tests.includeRegex is not a valid regular expression of Python",
            ),
            (
                json!({ "excludeRegex": "*" }),
                "spec.tests.excludeRegex is not a valid regular expression of Python",
            ),
            (
                json!({ "includeRegex": "$(touch a)" }),
                "spec.tests.includeRegex and excludeRegex leave none of Tempest's",
            ),
            (
                json!({ "services": ["image"] }),
                "spec.tests.services has image, which Keystone's catalogue doesn't have",
            ),
        ] {
            let report = runner.run(tests).await?;
            let said = report["refused"].as_str().unwrap_or_default();
            ensure!(
                said.starts_with(refused) && report["cleaned"] == true,
                "{report}"
            );
            ensure!(
                identity.names().await? == before,
                "{:?}",
                identity.names().await?
            );
        }

        let of_another = json!({ "name": name, "description": "Tests of another" });
        identity
            .create("domains", json!({ "domain": of_another }))
            .await?;
        let before = identity.names().await?;
        let report = runner.run(json!({})).await?;
        let said = report["refused"].as_str().unwrap_or_default();
        ensure!(said.contains("that this Tempest didn't create"), "{report}");
        ensure!(
            identity.names().await? == before,
            "{:?}",
            identity.names().await?
        );

        keystone.kill()?;
        let failed = runner.run(json!({})).await;
        ensure!(
            failed.is_err(),
            "without Keystone there is a report {failed:?}"
        );
        let message = fs::read_to_string(runner.folder.join("message"))?;
        ensure!(message.contains("Connection refused"), "{message}");
        Ok(())
    })
}

/// The program of a pod, with the folders of the pod in a folder of the machine.
struct Runner {
    machine: Arc<Machine>,
    folder: PathBuf,
    url: String,
}

impl Runner {
    /// Gives it an application credential of an administrator.
    async fn new(machine: &Arc<Machine>, keystone: &Keystone, identity: &Identity) -> Result<Self> {
        let folder = machine.folder().join("pod");
        let credential = folder.join("etc/tempest/credential");
        fs::create_dir_all(&credential)?;
        fs::create_dir_all(folder.join("etc/tempest/config"))?;
        let (id, secret) = identity.application_credential("tempest").await?;
        fs::write(credential.join("application_credential_id"), id)?;
        fs::write(credential.join("application_credential_secret"), secret)?;
        Ok(Self {
            machine: machine.clone(),
            folder,
            url: keystone.url(),
        })
    }

    /// Runs these tests, and returns the report.
    async fn run(&self, tests: Value) -> Result<Value> {
        for (name, text) in composed(&self.url, &tests)? {
            fs::write(
                self.folder.join("etc/tempest/config").join(name),
                self.moved(&text),
            )?;
        }
        let workspace = self.folder.join("tmp/tempest");
        if workspace.exists() {
            fs::remove_dir_all(&workspace)?;
        }
        let programs = tools::tempest()?;
        let program = Program::new(programs.join("python3"))
            .arg(self.folder.join("etc/tempest/config/run.py"))
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        self.machine.run("tempest", &program).await?;
        let message = fs::read_to_string(self.folder.join("message"))?;
        ensure!(message.len() <= 4096, "{message}");
        serde_json::from_str(&message).context("the report isn't JSON")
    }

    fn moved(&self, text: &str) -> String {
        let folder = self.folder.display();
        text.replace("/etc/tempest", &format!("{folder}/etc/tempest"))
            .replace("/tmp/tempest", &format!("{folder}/tmp/tempest"))
            .replace("/dev/termination-log", &format!("{folder}/message"))
    }

    /// The name and the description of its domain.
    fn domain(&self) -> Result<(String, String)> {
        let files = composed(&self.url, &json!({}))?;
        let mut lines = files["tempest.conf"].lines();
        let prefix = lines.find_map(|line| line.strip_prefix("resource_name_prefix = "));
        let tests: Value = serde_json::from_str(&files["tests.json"])?;
        let owner = tests["owner"].as_str().context("there is no owner")?;
        Ok((
            prefix.context("there is no prefix")?.to_owned(),
            owner.to_owned(),
        ))
    }
}

/// The files that the operator composes.
fn composed(url: &str, tests: &Value) -> Result<BTreeMap<String, String>> {
    let mut cluster = Cluster::default();
    let credential = [
        ("application_credential_id", "a"),
        ("application_credential_secret", "b"),
    ];
    cluster.secret("tempest-keystone-credentials", &credential);
    let spec = json!({ "release": "2025.2", "keystone": { "authUrl": url }, "tests": tests });
    cluster.put::<Custom<TempestSpec>>(
        "tempest",
        json!({ "metadata": { "uid": "1" }, "spec": spec }),
    );
    cluster.settle(&Tempest, "tempest");
    let maps = cluster.all::<ConfigMap>();
    let map = maps.into_values().next().context("there is no ConfigMap")?;
    Ok(serde_json::from_value(map["data"].clone())?)
}
