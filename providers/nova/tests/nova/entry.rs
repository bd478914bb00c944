//! The program that maps a cell, with a Nova that only says which cells are mapped.

use k8s_openapi::api::batch::v1::Job;
use serde_json::Value;

use crate::{printed, running};

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
    return [types.SimpleNamespace(name="cell0"), types.SimpleNamespace(name="cell1")]

objects = module("nova.objects", register_all=lambda: None, CellMappingList=types.SimpleNamespace(get_all=get_all))
config = module("nova.config", parse_args=parse_args)
context = module("nova.context", get_admin_context=lambda: None)
module("nova", config=config, context=context, objects=objects, conf=module("nova.conf"))
module("sqlalchemy")
os.execv = lambda _, words: print(*words[1:])
"#;

#[test]
fn program_maps_a_cell_again_that_is_mapped() {
    let cluster = running();
    let jobs = cluster.all::<Job>();
    let commands = jobs
        .values()
        .filter_map(|job| job["spec"]["template"]["spec"]["containers"][0]["command"].as_array());
    let mut commands = commands.map(|command| {
        let words = command.iter().filter_map(Value::as_str);
        words.collect::<Vec<_>>()
    });
    let words =
        commands.find(|words| words.get(1) == Some(&"-c") && words.last() == Some(&"cell1"));
    let words = words.unwrap();
    let [python, option, script, file, cell] = words[..] else {
        panic!("{words:?}");
    };
    assert_eq!(option, "-c");
    assert_eq!(
        printed(python, FAKE, script, &[file, cell]),
        "/etc/nova/config/cell.py map cell1\n"
    );
}
