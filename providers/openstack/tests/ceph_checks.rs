//! The program that checks pools, with a library whose monitors answer what the test says.

#![cfg(test)]

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

const SCRIPT: &str = include_str!("../src/ceph/checks.py");

/// Stands for Ceph's library. The environment has the output of each command of the monitors; they refuse others.
const RADOS: &str = r#"
import json, os, sys, types

class Error(Exception):
    pass

class ObjectNotFound(Error):
    pass

class Pool:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def stat(self, _):
        raise ObjectNotFound()

class Rados(Pool):
    def __init__(self, **_):
        pass

    def open_ioctx(self, _):
        return Pool()

    def mon_command(self, command, _):
        output = json.loads(os.environ["OUTPUTS"]).get(json.loads(command)["prefix"])
        return (0, json.dumps(output), "") if output else (-13, "", "")

rados = types.ModuleType("rados")
rados.Error, rados.ObjectNotFound, rados.Rados = Error, ObjectNotFound, Rados
sys.modules["rados"] = rados
"#;

/// What the program finds of a pool, given the output of commands.
fn found(test: &str, outputs: &Value) -> Value {
    let name = format!("ceph-checks-{test}-{}", std::process::id());
    let message = std::env::temp_dir().join(name);
    let script = SCRIPT.replace("/dev/termination-log", message.to_str().unwrap());
    let pools = json!([{ "id": "1", "pool": "images", "user": "glance" }]);
    let output = Command::new("python3")
        .args(["-c", &format!("{RADOS}\n{script}")])
        .env("CEPH_POOLS", pools.to_string())
        .env("OUTPUTS", outputs.to_string())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let found = fs::read_to_string(&message).unwrap();
    fs::remove_file(message).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    found[0].clone()
}

/// What monitors say of a pool whose rule takes these OSDs. Those of the class nvme are fuller than all together.
fn outputs(takes: &str) -> Value {
    json!({
        "df": {
            "stats": { "total_used_raw_ratio": 0.4 },
            "stats_by_class": { "hdd": { "total_used_raw_ratio": 0.3 }, "nvme": { "total_used_raw_ratio": 0.909 } },
            "pools": [{ "name": "images", "stats": { "stored": 10, "max_avail": 20 } }],
        },
        "osd pool get-quota": { "quota_max_bytes": 100 },
        "osd pool get": { "crush_rule": "images" },
        "osd crush rule dump": { "steps": [{ "op": "take", "item_name": takes }, { "op": "emit" }] },
    })
}

#[test]
fn check_says_how_full_the_osds_are_that_a_pool_is_on() {
    let of =
        |osds: Value| json!({ "id": "1", "stored": 10, "free": 20, "quota": 100, "osds": osds });
    let nvme = found("class", &outputs("default~nvme"));
    assert_eq!(nvme, of(json!(90)));
    let all = found("root", &outputs("default"));
    assert_eq!(all, of(json!(40)));
    let mut outputs = outputs("default");
    outputs["osd crush rule dump"] = json!(null);
    assert_eq!(found("no-rule", &outputs), of(json!(null)));
    outputs["df"] = json!(null);
    assert_eq!(found("no-capability", &outputs), json!({ "id": "1" }));
}
