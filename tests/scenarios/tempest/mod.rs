//! Tempest as its operator runs it, against a real Keystone: what the pod's program does with the composed files and an application
//! credential.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
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
    scenario!(Gate, 30 s, tempest_creates_what_servers_need, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, tempest_uses_the_network_that_it_is_told, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, tempest_says_that_a_cloud_lacks_a_network, [&[Need::Python("tempest")]]),
    scenario!(Gate, 30 s, tempest_counts_what_stestr_recorded, [&[Need::Python("tempest")]]),
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

        // One at a time: the lab's Keystone refuses a second writer, since its database is SQLite.
        let report = runner
            .run(json!({ "services": ["identity"], "includeRegex": INCLUDE, "concurrency": 1 }))
            .await?;
        ensure!(
            report["failed"] == 0 && report["skipped"] == 1 && report["cleaned"] == true,
            "{report}"
        );
        ensure!(report["passed"].as_u64() > Some(30), "{report}");
        ensure!(
            identity.names().await? == before,
            "{:?}",
            identity.names().await?
        );

        // What an interrupted run leaves.
        let (name, owner) = runner.domain()?;
        let own = json!({ "name": name, "description": owner });
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

/// What a run asks of a cloud that has these flavors and images, and the options that it gets for servers.
const PREPARE: &str = r#"
import json, sys
sys.dont_write_bytecode = True
sys.path.append(sys.argv[1])
import run

class Cloud(run.Cloud):
    def __init__(self, has):
        self.endpoints, self.has, self.asked = dict.fromkeys(["identity", "compute", "image", "network"], ""), has, []

    def send(self, method, service, path, body=None):
        if method == "GET":
            return None, self.has
        self.asked.append([method, path, len(body) if isinstance(body, bytes) else body])
        if path == "flavors":
            self.has["flavors"].append({**body["flavor"], "id": f"flavor-{len(self.has['flavors'])}"})
        return None, {"id": "image"}

cloud = Cloud(json.loads(sys.argv[2]))
options = run.discovered(cloud, "tempest-a", "project", set(sys.argv[3:]), "internet")
print(json.dumps({"options": {**options["compute"], **options["network"]}, "asked": cloud.asked}))
"#;

/// Prepares a cloud that has these flavors and images for tests of some services.
fn prepared(has: &Value, services: &[&str]) -> Result<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(tools::tempest()?.join("python3"))
        .args(["-c", PREPARE])
        .arg(root.join("../providers/tempest/src"))
        .arg(has.to_string())
        .args(services)
        .output()?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn tempest_creates_what_servers_need() -> Result<()> {
    let nothing = json!({ "flavors": [], "images": [], "networks": [] });
    let new = prepared(&nothing, &["compute", "identity"])?;
    let flavor = |ram: u32| {
        let flavor =
            json!({ "name": format!("tempest-a-{ram}"), "ram": ram, "vcpus": 1, "disk": 1 });
        json!(["POST", "flavors", { "flavor": flavor }])
    };
    let image = json!({
        "name": "tempest-a-empty", "owner": "project", "visibility": "public", "disk_format": "raw",
        "container_format": "bare",
    });
    let expected = json!({
        "options": {
            "flavor_ref": "flavor-0", "flavor_ref_alt": "flavor-1", "image_ref": "image", "image_ref_alt": "image",
        },
        "asked": [flavor(128), flavor(256), ["POST", "v2/images", image], ["PUT", "v2/images/image/file", 1_048_576]],
    });
    ensure!(new == expected, "{new}");

    let small = json!({ "id": "small", "ram": 64, "disk": 1 });
    let large = json!({ "id": "large", "ram": 512, "disk": 1 });
    let has = json!({ "flavors": [large, small], "images": [{ "id": "cirros" }], "networks": [] });
    let used = prepared(&has, &["compute"])?;
    let expected = json!({
        "options": {
            "flavor_ref": "small", "flavor_ref_alt": "large", "image_ref": "cirros", "image_ref_alt": "cirros",
        },
        "asked": [],
    });
    ensure!(used == expected, "{used}");

    let others = prepared(&nothing, &["identity", "network"])?;
    ensure!(others == json!({ "options": {}, "asked": [] }), "{others}");
    Ok(())
}

fn tempest_uses_the_network_that_it_is_told() -> Result<()> {
    let (one, other) = (
        json!({ "id": "1", "name": "intranet" }),
        json!({ "id": "2", "name": "internet" }),
    );
    for (networks, used) in [(json!([one, other]), "2"), (json!([one]), "1")] {
        let has = json!({ "flavors": [], "images": [], "networks": networks });
        let options = &prepared(&has, &["identity", "network"])?["options"];
        ensure!(
            *options == json!({ "public_network_id": used }),
            "{options}"
        );
    }
    Ok(())
}

/// What a run says that a cloud lacks, with this section `[network]` of the user's options, the network that it found, these tests, and
/// these skipped ones.
const LACKING: &str = r#"
import configparser, json, sys
sys.dont_write_bytecode = True
sys.path.append(sys.argv[1])
import run

config = configparser.RawConfigParser(strict=False)
config.read_string(sys.argv[2])
found, chosen, skipped = (json.loads(text) for text in sys.argv[3:])
print(json.dumps(run.lacking(chosen, skipped, {"network": found}, config)))
"#;

fn tempest_says_that_a_cloud_lacks_a_network() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scenario = "tempest.scenario.test_network_basic_ops.A.test_b[compute,id-1,network,smoke]";
    let users = "tempest.api.identity.v3.test_users.A.test_b[id-2]";
    let routers = "tempest.api.network.test_routers.A.test_b[id-3]";
    let says = |given: &str, found: &Value, skipped: &[&str]| -> Result<Value> {
        let output = Command::new(tools::tempest()?.join("python3"))
            .args(["-c", LACKING])
            .arg(root.join("../providers/tempest/src"))
            .args([given, &found.to_string()])
            .arg(json!([users, scenario, routers]).to_string())
            .arg(json!(skipped).to_string())
            .output()?;
        serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let usual = "[network]\nendpoint_type = internal\n";
    let chosen = "[network]\npublic_network_id = 1\n";
    let (nothing, internet) = (json!({}), json!({ "public_network_id": "1" }));
    let of_networks: [&[&str]; 4] = [
        &[users, scenario],
        &[routers],
        &["setUpClass (tempest.scenario.test_network_basic_ops.A)"],
        &["setUpClass (tempest.api.network.test_floating_ips.A)"],
    ];
    for skipped in of_networks {
        let lacking = says(usual, &nothing, skipped)?;
        let lacking = lacking.as_str().unwrap_or_default();
        ensure!(
            lacking.starts_with("the cloud has no external network"),
            "{skipped:?}: {lacking}"
        );
    }
    let others: [(&str, &Value, &[&str]); 5] = [
        (usual, &nothing, &[]),
        (usual, &nothing, &[users]),
        (
            usual,
            &nothing,
            &["setUpClass (tempest.api.identity.v3.test_users.A)"],
        ),
        (usual, &internet, &[scenario]),
        (chosen, &nothing, &[scenario]),
    ];
    for (given, found, skipped) in others {
        let lacking = says(given, found, skipped)?;
        ensure!(lacking.is_null(), "{skipped:?}: {lacking}");
    }
    Ok(())
}

/// A run of Tempest 45 against a Keystone, without the output of tests: some passed, a test and the end of a class failed, one was
/// skipped, and one never ended.
fn tempest_counts_what_stestr_recorded() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(tools::tempest()?.join("python3"))
        .arg("-c")
        .arg(
            "import json, sys; sys.dont_write_bytecode = True; sys.path.append(sys.argv[1]); import run\n\
             results, skipped = run.counted(open(sys.argv[2], 'rb'))\n\
             print(run.message({**results, 'cleaned': True}))\n\
             print(len(skipped))\n\
             print(len(run.message({'failures': ['a' * 500] * 20})))",
        )
        .arg(root.join("../providers/tempest/src"))
        .arg(root.join("scenarios/tempest/run.subunit"))
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines = said.lines();
    let report: Value = serde_json::from_str(lines.next().unwrap_or_default())
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let expected = json!({
        "passed": 8,
        "failed": 3,
        "skipped": 1,
        "failures": [
            "tearDownClass (tempest.api.identity.admin.v3.test_projects_negative.ProjectsNegativeTestJSON)",
            "tempest.api.identity.admin.v3.test_credentials.CredentialsTestJSON.test_credentials_create_get_update_delete",
            "tempest.api.identity.v3.test_users.IdentityV3UsersTest.test_user_update_own_password",
        ],
        "cleaned": true,
    });
    ensure!(report == expected, "{report}");
    ensure!(lines.next() == Some("1"), "{said}");
    let length: usize = lines.next().unwrap_or_default().parse()?;
    ensure!((3000..=4000).contains(&length), "{length}");
    Ok(())
}
