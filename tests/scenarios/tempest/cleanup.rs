//! What the program of a run deletes, without a cloud, and what it reports of what is left.

use std::path::Path;
use std::process::Command;

use lab::{Context, Result, ensure, tools};
use serde_json::{Value, json};

use super::program::printed;

/// Has a run delete what others left in a cloud in memory, where these can't be deleted or fail. Returns what it and the next run report
/// as left, and what there is.
fn cleaned(stuck: &[&str]) -> Result<(Value, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(tools::tempest()?.join("python3"))
        .arg(root.join("scenarios/tempest/clean.py"))
        .arg(root.join("../providers/tempest/src"))
        .args(stuck)
        .output()?;
    // After what failed.
    let said = String::from_utf8_lossy(&output.stdout);
    let mut said: Value = serde_json::from_str(said.lines().last().unwrap_or_default())
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok((said["left"].take(), said["has"].take()))
}

/// What there is after a run that left nothing.
fn of_others() -> Value {
    // With its domain Keystone deletes the administrator and the project.
    json!({
        "domains": ["default"],
        "projects": ["own", "tenant"],
        "users": ["customer", "user"],
        "roles": ["admin", "near"],
        "servers": ["customers-server"],
        "os-keypairs": ["theirs"],
        "os-aggregates": ["2"],
        "os-server-groups": ["customers-group"],
        "volumes": ["customers-volume"],
        "v2/images": ["customers-image"],
        "v2.0/routers": ["customers-router"],
        "v2.0/ports": ["customers-port"],
        "v2.0/networks": ["customers-network"],
        "v2.0/security-groups": ["customers-default"],
    })
}

pub fn tempest_deletes_what_runs_left_and_nothing_else() -> Result<()> {
    let (left, has) = cleaned(&[])?;
    ensure!(left == json!([[], []]), "{left}");
    ensure!(has == of_others(), "{has}");

    // What is left in a project of the domain, in one that Tempest has deleted, and elsewhere.
    for (stuck, named) in [
        ("volume", "volume volume"),
        ("tempest-a-server", "server tempest-a-server"),
        ("a key", "keypair a key"),
    ] {
        let (left, has) = cleaned(&[stuck])?;
        ensure!(left == json!([[named], [named]]), "{left}");
        let domains = &has["domains"];
        ensure!(*domains == json!(["d", "default"]), "{domains}");
    }
    Ok(())
}

/// The server is in a project that Tempest deleted during the interrupted run.
pub fn tempest_finds_what_an_interrupted_run_left_in_deleted_projects() -> Result<()> {
    let (left, has) = cleaned(&["interrupted"])?;
    ensure!(left == json!([[], []]), "{left}");
    ensure!(has == of_others(), "{has}");
    let (left, has) = cleaned(&["interrupted", "tempest-a-server"])?;
    ensure!(left == json!([[], ["server tempest-a-server"]]), "{left}");
    let domains = &has["domains"];
    ensure!(*domains == json!(["d", "default"]), "{domains}");
    Ok(())
}

pub fn tempest_repeats_requests_that_fail_while_it_deletes() -> Result<()> {
    for request in [
        "GET servers",
        "GET v2.0/ports",
        "GET roles",
        "DELETE servers/tempest-a-server",
        "PATCH domains/d",
        "DELETE domains/d",
    ] {
        let fails = format!("fails:{request}");
        let (left, has) = cleaned(&[fails.as_str()])?;
        ensure!(left == json!([[], []]), "{request}: {left}");
        ensure!(has == of_others(), "{request}: {has}");
    }
    Ok(())
}

/// The tags of a domain that has had so many projects, their greatest length, and whether the last project is found by them.
const TAGS: &str = r#"
import json, sys
import cloud

projects = [f"{number:032x}" for number in range(int(sys.argv[2]))]
tags = cloud.tags(projects)["domain"]["tags"]
found = cloud.remembered({"tags": ["of-another", "projects.", *tags]})
print(json.dumps([len(tags), max(map(len, tags), default=0), len(found), {*projects[-1:]} <= found <= {*projects}]))
"#;

/// Keystone refuses more than 80 tags, and longer ones than 255 characters.
pub fn tempest_keeps_as_many_projects_as_a_domain_has_room_for() -> Result<()> {
    for (projects, expected) in [
        ("0", json!([0, 0, 0, true])),
        ("8", json!([2, 239, 8, true])),
        ("1000", json!([80, 239, 560, true])),
    ] {
        let tags = printed(TAGS, &[projects])?;
        ensure!(tags == expected, "{projects}: {tags}");
    }
    Ok(())
}

/// The report of a run that an error ends, in a cloud where each attempt to delete what is left ends like this: it names what is left, or
/// fails.
const ENDED: &str = r#"
import http.client, json, sys, tempfile
import run

ends = json.loads(sys.argv[2])

class Cloud:
    def __init__(self, identity):
        pass

    def clean(self, name, owner, deleted=frozenset()):
        if isinstance(end := ends.pop(0), str):
            raise http.client.IncompleteRead(b"") if end == "cut off" else TimeoutError(end)
        return end

def ended(*given):
    raise RuntimeError("Tempest can't list its tests")

with tempfile.TemporaryDirectory() as folder:
    run.Cloud, run.run, run.PAUSE = Cloud, ended, 0
    run.CONFIG, run.TESTS, run.MESSAGE = (f"{folder}/{name}" for name in ("tempest.conf", "tests.json", "message"))
    run.WORKSPACE, run.LOGS = folder, f"{folder}/logs"
    for file, text in ((run.CONFIG, "[DEFAULT]\nresource_name_prefix = tempest-a\n[identity]\n"), (run.TESTS, '{"owner": "a"}')):
        with open(file, "w") as given:
            given.write(text)
    try:
        run.main()
    except SystemExit as end:
        with open(run.MESSAGE) as message:
            report = json.load(message)
        print(json.dumps([end.code, report["error"], report.get("cleaned"), report.get("left")]))
"#;

/// Otherwise `CleanedUp` stays as the run before left it.
pub fn tempest_says_what_a_run_without_results_left() -> Result<()> {
    let unlisted = "Tempest can't list its tests";
    let server = "server tempest-a-server";
    let former = "what an interrupted run left can't be deleted: server tempest-a-server";
    let unknown = "whatever is in domain tempest-a, which can't be listed: timed out";
    for (ends, expected) in [
        (json!([[], []]), json!([1, unlisted, true, []])),
        (json!([[], [server]]), json!([1, unlisted, false, [server]])),
        (json!([[server]]), json!([1, former, false, [server]])),
        // A request that fails once makes no difference.
        (
            json!(["timed out", [], "cut off", []]),
            json!([1, unlisted, true, []]),
        ),
        (
            json!([[], "cut off", "cut off", "timed out"]),
            json!([1, unlisted, false, [unknown]]),
        ),
        // Nothing is known, and nothing was created.
        (
            json!(["timed out", "timed out", "timed out"]),
            json!([1, "timed out", null, null]),
        ),
    ] {
        let report = printed(ENDED, &[&ends.to_string()])?;
        ensure!(report == expected, "{ends}: {report}");
    }
    Ok(())
}
