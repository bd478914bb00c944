//! The programs that map and delete a cell, with a Nova that knows only what they ask.

use k8s_openapi::api::batch::v1::Job;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, add_cell2, change, printed, running};

/// Stands for Nova, which reads the mapping of a cell by an option that it registers when it initialises RPC.
const FAKE: &str = r#"
import os

REGISTERED = []

def parse_args(words, init_rpc=True):
    assert words == ["nova-manage", "--config-file", "/etc/nova/config/nova.conf"], words
    if init_rpc:
        REGISTERED.append("transport_url")

def get_all(_):
    assert "transport_url" in REGISTERED, "no such option transport_url in group [DEFAULT]"
    return [types.SimpleNamespace(id=name, name=name, uuid=name) for name in ("cell0", "cell1", "cell2")]

listed = types.SimpleNamespace(get_all=get_all)
objects = module("nova.objects", register_all=lambda: None, CellMappingList=listed)
config = module("nova.config", parse_args=parse_args)
context = module("nova.context", get_admin_context=lambda: None)
module("nova", config=config, context=context, objects=objects, conf=module("nova.conf"))
module("sqlalchemy")
os.execv = lambda _, words: print(*words[1:])
"#;

/// The second cell has records of 1001 deleted servers, and Nova deletes it only without them.
const DELETED_SERVERS: &str = r#"
SERVERS = {"cell1": ["living"], "cell2": [str(number) for number in range(1001)]}

def of_cell(_, cell):
    return [types.SimpleNamespace(instance_uuid=server) for server in SERVERS[cell]]

def destroys(what):
    def destroy(_, servers):
        print(what, len(servers), servers[0], servers[-1])
        if what == "mappings":
            SERVERS["cell2"] = [server for server in SERVERS["cell2"] if server not in servers]
    return destroy

def delete_cell(cell):
    print("delete", cell)
    return 4 if SERVERS[cell] else 0

objects.RequestSpec = types.SimpleNamespace(destroy_bulk=destroys("specs"))
objects.InstanceGroup = types.SimpleNamespace(destroy_members_bulk=destroys("members"))
objects.InstanceMappingList = types.SimpleNamespace(get_by_cell_id=of_cell, destroy_bulk=destroys("mappings"))
commands = types.SimpleNamespace(delete_cell=delete_cell)
module("nova.cmd", manage=types.SimpleNamespace(CellV2Commands=lambda: commands))
"#;

/// What the program of a task prints, which is for this cell.
fn printed_for(cluster: &Cluster, task: &str, cell: &str, fake: &str) -> String {
    let jobs = cluster.all::<Job>();
    let mut commands = jobs.values().filter_map(|job| {
        let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
        let words = command.as_array().into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        let is_it =
            job["metadata"]["labels"]["c5c3.io/task"] == task && words.last() == Some(&cell);
        is_it.then_some(words)
    });
    let words = commands.next().unwrap();
    let [python, "-c", script, file, name] = words[..] else {
        panic!("{words:?}");
    };
    printed(python, fake, script, &[file, name])
}

#[test]
fn program_maps_a_cell_again_that_is_mapped() {
    assert_eq!(
        printed_for(&running(), "cell-map", "cell1", FAKE),
        "/etc/nova/config/cell.py map cell1\n"
    );
}

#[test]
fn program_deletes_what_is_known_of_deleted_servers_of_the_deleted_cell_alone() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    change(&mut cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }]);
    });
    cluster.compose(&NOVA, "nova").unwrap();
    let fake = format!("{FAKE}{DELETED_SERVERS}");
    let said = printed_for(&cluster, "cell-delete", "cell2", &fake);
    let calls: Vec<&str> = said.lines().collect();
    let expected = [
        "delete cell2",
        "specs 1000 0 999",
        "members 1000 0 999",
        "mappings 1000 0 999",
        "specs 1 1000 1000",
        "members 1 1000 1000",
        "mappings 1 1000 1000",
        "delete cell2",
    ];
    assert_eq!(calls, expected);
}
