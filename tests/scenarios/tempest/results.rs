//! The results of runs, and their logs.

use lab::{Result, ensure};
use serde_json::json;

use super::program::printed;

/// Counts a run. Prints its report, how many tests it skipped, and the length of a report of many failures.
const COUNTED: &str = r#"
import json, sys
import run

results, skipped = run.counted(open(sys.argv[2], "rb"))
report = json.loads(run.message({**results, "cleaned": True}))
long = run.message({"failures": ["a" * 500] * 20, "skips": ["b" * 300] * 20, "left": ["c"]})
print(json.dumps([report, len(skipped), len(long)]))
"#;

/// A run of Tempest 45 against a Keystone, without the output of tests: some passed, a test and the end of a class failed, one was
/// skipped, and one never ended.
pub fn tempest_counts_what_stestr_recorded() -> Result<()> {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/tempest/run.subunit");
    let said = printed(COUNTED, &[recorded])?;
    let [report, skipped, length] = [&said[0], &said[1], &said[2]];
    let expected = json!({
        "passed": 8,
        "failed": 3,
        "skipped": 1,
        "failures": [
            "tearDownClass (tempest.api.identity.admin.v3.test_projects_negative.ProjectsNegativeTestJSON)",
            "tempest.api.identity.admin.v3.test_credentials.CredentialsTestJSON.test_credentials_create_get_update_delete",
            "tempest.api.identity.v3.test_users.IdentityV3UsersTest.test_user_update_own_password",
        ],
        "skips": ["tempest.api.identity.v3.test_users.IdentityV3UsersTest.test_user_account_lockout"],
        "cleaned": true,
    });
    ensure!(*report == expected, "{report}");
    ensure!(*skipped == 1, "{skipped}");
    let fits = length
        .as_u64()
        .is_some_and(|length| (3000..=4000).contains(&length));
    ensure!(fits, "{length}");
    Ok(())
}

/// Counts a run that skipped more tests than a report has names of, and lists them. Prints how many names the report has, and what the log
/// of the pod and the file for the volume have.
const SKIPPED: &str = r#"
import contextlib, io, json, sys, tempfile
import subunit
import run

stream = io.BytesIO()
result = subunit.StreamResultToBytes(stream)
kind = "text/plain; charset=utf8"
for name, why in json.loads(sys.argv[2]):
    if why:
        result.status(test_id=name, file_name="reason", file_bytes=why.encode(), eof=True, mime_type=kind)
    result.status(test_id=name, test_status="skip")
stream.seek(0)
report, skipped = run.counted(stream)
with tempfile.TemporaryDirectory() as run.WORKSPACE, contextlib.redirect_stdout(io.StringIO()) as said:
    run.list_skipped([*skipped, ("tempest.scenario.Z.test_z[id-9]", run.LEFT_OUT)])
    with open(f"{run.WORKSPACE}/skips") as file:
        kept = file.read()
print(json.dumps([len(report["skips"]), said.getvalue(), kept]))
"#;

pub fn tempest_lists_every_skipped_test_with_its_reason() -> Result<()> {
    let class = "setUpClass (tempest.api.network.A)";
    let mut given = vec![
        (class.to_owned(), "no extension\n\tqos".to_owned()),
        (
            "tempest.api.compute.A.test_long[id-1,smoke]".to_owned(),
            "a".repeat(2000),
        ),
        (
            "tempest.api.compute.A.test_no[id-2]".to_owned(),
            String::new(),
        ),
    ];
    given.extend((10..40).map(|number| {
        let name = format!("tempest.api.volume.A.test_{number}[id-{number}]");
        (name, "Cinder backup is off".to_owned())
    }));
    let said = printed(SKIPPED, &[&json!(given).to_string()])?;
    let [names, log, file] = [&said[0], &said[1], &said[2]];
    ensure!(*names == 20, "{names}");
    let lines: Vec<&str> = log.as_str().unwrap_or_default().lines().collect();
    ensure!(lines.len() == given.len() + 1, "{log}");
    for line in [
        "SKIPPED setUpClass (tempest.api.network.A): no extension qos",
        "SKIPPED tempest.api.compute.A.test_no: no reason is given",
        "SKIPPED tempest.api.volume.A.test_39: Cinder backup is off",
        "SKIPPED tempest.scenario.Z.test_z: it connects to servers, which pods don't reach, and [validation] run_validation is false",
    ] {
        ensure!(lines.contains(&line), "{line}: {log}");
    }
    let long = lines.iter().find(|line| line.contains("test_long"));
    ensure!(long.map(|line| line.len()) == Some(1000), "{log}");
    ensure!(file == log, "{file}");
    Ok(())
}

/// Keeps the log of a run beside those of eleven others, and prints which there are then and what the new one says.
const LOG: &str = r#"
import gzip, json, os, sys, tempfile
import run

with tempfile.TemporaryDirectory() as folder:
    run.LOGS, run.WORKSPACE = f"{folder}/logs", folder
    run.keep_log({})
    os.mkdir(run.LOGS)
    for name in ["lost+found", *(f"2026-01-{day:02}T02-00-00Z.log.gz" for day in range(1, 12))]:
        open(f"{run.LOGS}/{name}", "w").close()
    for name, text in zip(("skips", "failures", "tempest.log"), sys.argv[2:]):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    run.keep_log({"failed": 1})
    names = sorted(os.listdir(run.LOGS))
    new = [name for name in names if not name.startswith(("2026-01", "lost"))]
    with gzip.open(f"{run.LOGS}/{new[0]}", "rt") as log:
        print(json.dumps([len(names), names[0], log.read()]))
"#;

pub fn tempest_keeps_the_logs_of_ten_runs_without_passwords() -> Result<()> {
    let body = r#"Body: {"user": {"name": "a", "password": "s3\"cret", "id": 1}} {"keypair": {"private_key": "s3cret"}}"#;
    let said = printed(LOG, &["SKIPPED one: why\n", "one failed\n", body])?;
    let masked = r#"Body: {"user": {"name": "a", "password": "***", "id": 1}} {"keypair": {"private_key": "***"}}"#;
    let log = format!("{{\"failed\": 1}}\nSKIPPED one: why\none failed\n{masked}");
    // Ten, and the folder of the file system.
    let expected = json!([11, "2026-01-03T02-00-00Z.log.gz", log]);
    ensure!(said == expected, "{said}");
    Ok(())
}
