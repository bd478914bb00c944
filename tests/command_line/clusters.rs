//! Clusters that can't be used, and their kubeconfigs.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

use super::{CONTROL_PLANE, c5c3, refused, stderr};

#[test]
fn a_cluster_that_cannot_be_looked_at_is_named_with_what_to_do() {
    let against = |kubeconfig: &str| {
        let run = c5c3(&["plan", CONTROL_PLANE, "--against", kubeconfig]);
        stderr(&run.failure().code(2).stdout(""))
    };
    let missing = "the kubeconfig nowhere.yaml can't be used: No such file";
    assert!(against("nowhere.yaml").contains(missing));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("silent.yaml");
    assert!(fs::write(&path, SILENT).is_ok(), "{}", path.display());
    let path = path.to_string_lossy();
    let silent = "the cluster at https://127.0.0.1:1/ doesn't answer: Connection refused";
    assert!(against(&path).contains(silent));
    refused(c5c3(&["status", "--kubeconfig", &path]), &[silent]);
    refused(c5c3(&["status", "-w", "--kubeconfig", &path]), &[silent]);
    refused(
        c5c3(&["status", "--kubeconfig", &path, "--context", "other"]),
        &["other", "--context"],
    );
}

#[test]
fn kubeconfig_that_is_not_valid_is_refused_without_its_text() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken-kubeconfig.yaml");
    assert!(fs::write(&path, BROKEN).is_ok(), "{}", path.display());
    let path = &*path.to_string_lossy();
    let message = format!(
        "c5c3: the kubeconfig {path} can't be used: line 7, column 4 is not valid: check the indentation, duplicate keys and \
         the types of values\n"
    );
    let run = c5c3(&["status", "--kubeconfig", path]);
    let run = run.failure().code(1).stdout("");
    assert_eq!(stderr(&run), message);
    for (arguments, code) in [
        (["plan", CONTROL_PLANE, "--against", path].as_slice(), 2),
        (
            &[
                "operator",
                "c5c3",
                "--address",
                "none",
                "--kubeconfig",
                path,
            ],
            1,
        ),
        (&["dashboard", "--kubeconfig", path], 1),
    ] {
        let run = c5c3(arguments).failure().code(code).stdout("");
        let stderr = stderr(&run);
        assert!(stderr.ends_with(&message), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("sUpEr"), "{arguments:?}: {stderr}");
    }

    let silent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubeconfig-before-broken.yaml");
    assert!(fs::write(&silent, SILENT).is_ok(), "{}", silent.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_c5c3"));
    command.env("KUBECONFIG", format!("{}:{path}", silent.display()));
    let run = command.arg("status").assert().failure().code(1).stdout("");
    assert_eq!(stderr(&run), message, "the file of KUBECONFIG is named");
}

#[test]
fn status_refuses_flags_that_contradict_each_other() {
    for (arguments, error) in [
        (
            ["status", "-A", "-n", "openstack"].as_slice(),
            "error: the argument '--all-namespaces' cannot be used with '--namespace <NAMESPACE>'",
        ),
        (
            &["status", "-w", "-o", "json"],
            "error: the argument '--watch' cannot be used with '--output <FORM>'",
        ),
    ] {
        let run = c5c3(arguments).failure().code(2).stdout("");
        assert_eq!(stderr(&run).lines().next(), Some(error));
    }
}

/// A kubeconfig of a cluster that nobody serves.
const SILENT: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {token: t}}]
current-context: a
";

/// A kubeconfig whose YAML isn't valid after a token.
const BROKEN: &str = "\
apiVersion: v1
kind: Config
users:
- name: admin
  user:
    token: sUpEr-SeCrEt-ToKeN-123
   client: x
clusters: []
";
