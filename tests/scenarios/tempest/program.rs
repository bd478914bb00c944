//! What the program of a run does, without a cloud.

use std::path::Path;
use std::process::Command;

use lab::{Context, Result, ensure, tools};
use serde_json::{Value, json};

/// What a run asks of a cloud that has these flavors and images, and the options that it gets for servers.
const PREPARE: &str = r#"
import json, sys
import run

class Cloud(run.Cloud):
    def __init__(self, has):
        self.endpoints, self.has, self.asked = dict.fromkeys(["identity", "compute", "image", "network"], ""), has, []
        self.volumes = has.get("volumes")

    def send(self, method, service, path, body=None):
        if method == "GET":
            return None, {"extensions": [{"alias": "router"}, {"alias": "agent"}], **self.has}
        self.asked.append([method, path, len(body) if isinstance(body, bytes) else body])
        if path == "flavors":
            self.has["flavors"].append({**body["flavor"], "id": f"flavor-{len(self.has['flavors'])}"})
        return None, {"id": "image"}

cloud = Cloud(json.loads(sys.argv[2]))
options = run.discovered(cloud, "tempest-a", "project", set(sys.argv[3:]), "internet")
features = options["network-feature-enabled"]
of_services = {**options["compute"], **options["network"], **options.get("volume", {})}
print(json.dumps({"options": of_services, "features": features, "asked": cloud.asked}))
"#;

/// Lets a program import those of a run from the folder in its first argument.
const BESIDE: &str = "import sys\nsys.dont_write_bytecode = True\nsys.path.append(sys.argv[1])\n";

/// What a program of Python prints in JSON, on its last line, with the run's programs beside it. Its own arguments begin with the second.
pub(super) fn printed(program: &str, arguments: &[&str]) -> Result<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(tools::tempest()?.join("python3"))
        .args(["-c", &format!("{BESIDE}{program}")])
        .arg(root.join("../providers/tempest/src"))
        .args(arguments)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(said.lines().last().unwrap_or_default())
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Prepares a cloud that has these flavors and images for tests of some services.
fn prepared(has: &Value, services: &[&str]) -> Result<Value> {
    let has = has.to_string();
    printed(PREPARE, &[&[has.as_str()], services].concat())
}

pub fn tempest_creates_what_servers_need() -> Result<()> {
    let nothing = json!({ "flavors": [], "images": [], "networks": [] });
    let features = json!({ "api_extensions": "agent,router" });
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
        "features": features,
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
        "features": features,
        "asked": [],
    });
    ensure!(used == expected, "{used}");

    let others = prepared(&nothing, &["identity", "network"])?;
    let expected = json!({ "options": {}, "features": features, "asked": [] });
    ensure!(others == expected, "{others}");
    Ok(())
}

/// The type of volumes that Tempest looks for, in clouds whose catalogues have these types.
const TYPES: &str = r#"
import json, sys
import cloud

types = json.loads(sys.argv[2])
endpoints = [{"interface": "internal", "region": "one", "url": "https://one"}]
token = {"token": {"catalog": [{"type": type_, "endpoints": endpoints} for type_ in types]}}
cloud.read = lambda path: ""
cloud.Cloud.send = lambda *_: ({"X-Subject-Token": ""}, token)
found = cloud.Cloud({"uri_v3": "https://two", "region": "one"})
print(json.dumps([found.volumes, found.endpoints.get("volumev3"), "volume" in found.available()]))
"#;

pub fn tempest_finds_volumes_by_the_type_of_the_catalogue() -> Result<()> {
    let new = "block-storage";
    for (types, expected) in [
        (
            json!(["volumev3"]),
            json!(["volumev3", "https://one", true]),
        ),
        (
            json!([new, "volumev3"]),
            json!(["volumev3", "https://one", true]),
        ),
        (json!([new]), json!([new, "https://one", true])),
        (json!(["image"]), json!([null, null, false])),
    ] {
        let found = printed(TYPES, &[&types.to_string()])?;
        ensure!(found == expected, "{types}: {found}");
    }
    let has = json!({ "flavors": [], "images": [], "networks": [], "volumes": new });
    let options = &prepared(&has, &["volume"])?["options"];
    ensure!(*options == json!({ "catalog_type": new }), "{options}");
    Ok(())
}

pub fn tempest_uses_the_network_that_it_is_told() -> Result<()> {
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
import run

config = configparser.RawConfigParser(strict=False)
config.read_string(sys.argv[2])
found, chosen, skipped = (json.loads(text) for text in sys.argv[3:])
print(json.dumps(run.lacking(chosen, skipped, {"network": found}, config)))
"#;

pub fn tempest_says_that_a_cloud_lacks_a_network() -> Result<()> {
    let scenario = "tempest.scenario.test_network_basic_ops.A.test_b[compute,id-1,network,smoke]";
    let users = "tempest.api.identity.v3.test_users.A.test_b[id-2]";
    let routers = "tempest.api.network.test_routers.A.test_b[id-3]";
    let says = |given: &str, found: &Value, skipped: &[&str]| -> Result<Value> {
        let [found, chosen, skipped] =
            [found, &json!([users, scenario, routers]), &json!(skipped)].map(Value::to_string);
        printed(LACKING, &[given, &found, &chosen, &skipped])
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

/// The smoke tests of these that use only these services.
const CHOSEN: &str = r#"
import json, sys
import run

services, names = (json.loads(text) for text in sys.argv[2:])
print(json.dumps(run.select(names, set(services), "smoke", "")))
"#;

pub fn tempest_chooses_tests_by_their_services() -> Result<()> {
    let server = "tempest.scenario.test_server_basic_ops.A.test_b[compute,id-1,network,smoke]";
    let flavors = "tempest.api.compute.flavors.test_flavors.A.test_b[id-2,smoke]";
    let objects =
        "tempest.scenario.test_object_storage_basic_ops.A.test_b[id-3,object_storage,smoke]";
    let horizon = "tempest.scenario.test_dashboard_basic_ops.A.test_b[dashboard,id-4,smoke]";
    let chosen = |services: &[&str]| -> Result<Value> {
        let names = json!([server, flavors, objects, horizon]).to_string();
        printed(CHOSEN, &[&json!(services).to_string(), &names])
    };
    let cases: [(&[&str], Value); 3] = [
        (&["compute"], json!([flavors])),
        (&["compute", "network"], json!([server, flavors])),
        (&["object-store"], json!([objects])),
    ];
    for (services, expected) in cases {
        let chosen = chosen(services)?;
        ensure!(chosen == expected, "{services:?}: {chosen}");
    }
    Ok(())
}

/// The tests of these that a run leaves out, with this section `[validation]` of its options.
const CONNECTING: &str = r#"
import configparser, json, sys
import run

config = configparser.RawConfigParser(strict=False)
config.read_string(sys.argv[2])
try:
    print(json.dumps(run.connecting(json.loads(sys.argv[3]), config)))
except run.Refused as refused:
    print(json.dumps(str(refused)))
"#;

/// Scenarios connect to servers also where Tempest is told not to, and fail: pods don't reach servers' networks.
pub fn tempest_leaves_out_tests_that_connect_to_servers() -> Result<()> {
    let left_out = |validation: &str, chosen: &[&str]| -> Result<Value> {
        printed(CONNECTING, &[validation, &json!(chosen).to_string()])
    };
    let network = "tempest.scenario.test_network_basic_ops.TestNetworkBasicOps.test_network_basic_ops[id-1,smoke]";
    let server = "tempest.scenario.test_server_basic_ops.TestServerBasicOps.test_server_basic_ops[id-2,smoke]";
    let usual = "[validation]\nrun_validation = false\n";
    let found = left_out(usual, &[network, server])?;
    ensure!(found == json!([network]), "{found}");
    let found = left_out(usual, &[server])?;
    ensure!(found == json!([]), "{found}");
    let found = left_out("[validation]\nrun_validation = true\n", &[network])?;
    ensure!(found == json!([]), "{found}");
    let refused = left_out(usual, &[network])?;
    let refused = refused.as_str().unwrap_or_default();
    ensure!(
        refused.starts_with("spec.tests chooses only tests that connect to servers"),
        "{refused}"
    );
    Ok(())
}
