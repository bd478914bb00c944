//! The program, as it is used: what it writes where, and with which exit code it ends.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use tempfile::TempDir;

/// Runs the program in the root of the repository.
fn c5c3(arguments: &[&str]) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_c5c3"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
        .env("RUST_BACKTRACE", "1")
        .env_remove("TLS_SERVER_CERTS_DIR");
    command.args(arguments).assert()
}

/// Runs the program on a file of this name and text.
fn c5c3_on(task: &str, name: &str, text: &str) -> Assert {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    assert!(
        fs::write(&path, text).is_ok(),
        "{} can't be written",
        path.display()
    );
    c5c3(&[task, &path.to_string_lossy()])
}

fn stdout(run: &Assert) -> String {
    String::from_utf8_lossy(&run.get_output().stdout).into_owned()
}

fn stderr(run: &Assert) -> String {
    String::from_utf8_lossy(&run.get_output().stderr).into_owned()
}

/// The run failed with nothing but this on stderr: one line.
fn refused(run: Assert, says: &[&str]) {
    let run = run.failure().code(1).stdout("");
    let stderr = stderr(&run);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("c5c3: "), "{stderr}");
    for word in says {
        assert!(stderr.contains(word), "{word:?} isn't in {stderr}");
    }
}

const CLAIM: &str = "examples/claims/customer-a-prod.yaml";
const CONTROL_PLANE: &str = "examples/control-planes/production.yaml";

#[test]
fn the_first_command_works_with_nothing_but_a_claim_and_its_advice_can_be_followed() {
    let run = c5c3(&["plan", CLAIM]).success().stderr("");
    let shown = stdout(&run);
    assert!(shown.starts_with("○ OpenStackCluster tenant-customer-a/customer-a-prod: Pending"));
    assert!(!shown.contains('\u{1b}'), "colours in a pipe");

    let program = env!("CARGO_BIN_EXE_c5c3");
    let mut advice = shown
        .lines()
        .filter_map(|line| line.trim().strip_prefix(program));
    let words: Vec<&str> = advice
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    assert_eq!(words, ["plan", CLAIM, "--assume-ready"]);
    let run = c5c3(&words).success().stderr("");
    assert!(
        stdout(&run).starts_with("✔ OpenStackCluster tenant-customer-a/customer-a-prod: Ready")
    );
}

#[test]
fn what_claims_become_can_be_given_to_tools() {
    let yaml = c5c3(&["plan", CLAIM, "--assume-ready", "-o", "yaml"]).success();
    let yaml = stdout(&yaml);
    assert!(yaml.split("---\n").count() > 10);
    assert!(yaml.contains("kind: CephBlockPool"));

    let json = c5c3(&["plan", CLAIM, "--assume-ready", "-o", "json"]).success();
    let json = stdout(&json);
    assert!(
        json.starts_with("{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\""),
        "{json}"
    );
    assert!(json.ends_with("}\n"));
}

#[test]
fn claim_that_cannot_be_composed_is_shown_and_fails() {
    let text = fs::read_to_string(CLAIM).expect("the example");
    let text = text.replace(
        "\nspec:\n",
        "\nspec:\n  compositionRef: {name: storage-pool}\n",
    );
    let run = c5c3_on("plan", "wrong.yaml", &text);
    let shown = stdout(&run.failure().code(1).stderr(""));
    assert!(
        shown.contains("customer-a-prod: cannot be composed"),
        "{shown}"
    );
    assert!(!shown.contains("--assume-ready"), "{shown}");
}

#[test]
fn claims_that_the_api_server_would_refuse_are_refused_by_plan_and_xr_with_a_line_each() {
    let text = fs::read_to_string(CLAIM).expect("the example");
    let text = text.replace("size: large", "size: huge\n  regoin: \"\\e[31m\"");
    for task in ["plan", "xr"] {
        let run = c5c3_on(task, "huge.yaml", &text)
            .failure()
            .code(1)
            .stdout("");
        let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/");
        assert_eq!(
            stderr(&run).replace(folder, ""),
            "c5c3: huge.yaml, document 1: OpenStackCluster tenant-customer-a/customer-a-prod: spec.size: must be one of small, \
             medium, large, xlarge, not \"huge\"\n\
             c5c3: huge.yaml, document 1: OpenStackCluster tenant-customer-a/customer-a-prod: spec.regoin: unknown field; did \
             you mean region?\n"
        );
    }
}

#[test]
fn files_that_cannot_be_used_are_refused_in_one_line() {
    refused(
        c5c3(&["plan", "nowhere.yaml"]),
        &["nowhere.yaml: No such file"],
    );
    refused(c5c3(&["plan", "src"]), &["src: there is no .yaml"]);
    refused(
        c5c3(&["plan", "/dev/null"]),
        &["/dev/null: must be a regular file or a folder"],
    );
    refused(
        c5c3_on("plan", "torn.yaml", "a: b\nc: [1,\n"),
        &["torn.yaml, document 1: ", "line "],
    );
    refused(
        c5c3_on("xr", "other.yaml", "a: \"\\e[31m\"\n"),
        &["document 1: skipped what has no apiVersion"],
    );
    refused(
        c5c3_on("plan", "empty.yaml", ""),
        &["nothing to plan", "OpenStackCluster"],
    );
    refused(
        c5c3(&["plan", CLAIM, "--composition", "nothing"]),
        &["there is no composition nothing", "openstack-staging"],
    );
    refused(
        c5c3(&["xr", CONTROL_PLANE]),
        &["ControlPlane openstack/production has no composite resource: give an OpenStackCluster"],
    );
}

#[test]
fn what_is_skipped_is_said_on_stderr_without_control_characters() {
    let text = "apiVersion: v1\nkind: \"Map\\e[31m\"\nmetadata: {name: a}\n---\n";
    let claim = fs::read_to_string(CLAIM).expect("the example");
    let run = c5c3_on("plan", "mixed.yaml", &(text.to_owned() + &claim)).success();
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/");
    assert_eq!(
        stderr(&run).replace(folder, ""),
        "c5c3: mixed.yaml, document 1: skipped v1 Map\\u{1b}[31m: c5c3 does not plan this kind\n"
    );
}

#[test]
fn a_control_plane_is_planned_from_the_standard_input() {
    let text = fs::read_to_string(CONTROL_PLANE).expect("the example");
    let mut command = Command::new(env!("CARGO_BIN_EXE_c5c3"));
    let run = command.args(["plan", "-f", "-"]).write_stdin(text).assert();
    let run = run.success().stderr("");
    assert!(stdout(&run).starts_with("○ ControlPlane openstack/production: "));
    let file = c5c3(&["plan", "-f", CONTROL_PLANE]).success();
    let tree = |run: &Assert| stdout(run).split("\n\n").next().map(str::to_owned);
    assert_eq!(tree(&run), tree(&file), "the same from a file");
}

#[test]
fn a_graph_is_drawn_or_it_is_said_why_not() {
    let dot = stdout(&c5c3(&["plan", CONTROL_PLANE, "--graph"]).success());
    assert!(dot.starts_with("digraph {"), "{dot}");
    assert!(dot.contains("waits for mariadb, memcached"), "{dot}");
    let svg = stdout(&c5c3(&["plan", CONTROL_PLANE, "--graph=svg"]).success());
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    refused(
        c5c3(&["plan", CLAIM, "--graph"]),
        &["no ControlPlane is planned", "--assume-ready"],
    );
}

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

#[test]
fn a_claim_becomes_the_composite_resource_of_either_generation() {
    let v1 = stdout(&c5c3(&["xr", CLAIM]).success().stderr(""));
    assert!(v1.contains("kind: XOpenStackCluster\n"), "{v1}");
    assert!(
        v1.contains("crossplane.io/claim-name: customer-a-prod\n"),
        "{v1}"
    );
    assert!(v1.contains("claimRef:"), "{v1}");

    let v2 = stdout(
        &c5c3(&["xr", CLAIM, "--crossplane", "2"])
            .success()
            .stderr(""),
    );
    assert!(v2.contains("kind: OpenStackCluster\n"), "{v2}");
    assert!(v2.contains("namespace: tenant-customer-a\n"), "{v2}");
    assert!(!v2.contains("claimRef:"), "{v2}");

    let pools = stdout(&c5c3(&["xr", "examples/pools"]).success().stderr(""));
    assert_eq!(pools.matches("kind: XStorageCluster\n").count(), 3);
}

#[test]
fn the_definitions_are_those_of_the_repository() {
    for (generation, folder) in [("1", "xrds/v1"), ("2", "xrds/v2")] {
        let written = stdout(&c5c3(&["xrds", "--crossplane", generation]).success());
        let mut documents: Vec<&str> = written.split("---\n").collect();
        documents.sort_unstable();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = fs::read_dir(folder).expect("the definitions");
        let mut files: Vec<String> = files
            .map(|file| fs::read_to_string(file.expect("a file").path()).expect("a definition"))
            .map(|text| {
                text.lines()
                    .skip(1)
                    .map(|line| format!("{line}\n"))
                    .collect()
            })
            .collect();
        files.sort_unstable();
        assert_eq!(documents, files);
    }
}

#[test]
fn a_function_that_cannot_be_served_says_why() {
    refused(c5c3(&["function"]), &["--tls-certs-dir", "--insecure"]);

    let empty = TempDir::new().expect("a temporary folder");
    let directory = empty.path().to_string_lossy().into_owned();
    let arguments = [
        "function",
        "--tls-certs-dir",
        &directory,
        "--address",
        "127.0.0.1:0",
    ];
    refused(c5c3(&arguments), &["tls."]);

    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let arguments = [
        "function",
        "--insecure",
        "--address",
        &address,
        "--metrics-address",
        "none",
    ];
    refused(c5c3(&arguments), &[&address, "in use"]);

    c5c3(&["function", "--address", "nowhere"])
        .failure()
        .code(2);
}

#[test]
fn operators_that_cannot_be_carried_say_why() {
    refused(
        c5c3(&["operator", "nowhere"]),
        &["no operator nowhere", "there are: c5c3"],
    );

    let missing = [
        "operator",
        "c5c3",
        "--address",
        "none",
        "--kubeconfig",
        "nowhere.yaml",
    ];
    let run = c5c3(&missing).failure().code(1);
    let said = stderr(&run);
    assert!(
        said.contains("the kubeconfig nowhere.yaml can't be used: No such file"),
        "{said}"
    );

    c5c3(&["operator", "--alone", "--lease-namespace", "x"])
        .failure()
        .code(2);
}

#[test]
fn the_program_says_what_it_is_and_completes_itself() {
    let version = stdout(&c5c3(&["--version"]).success());
    assert_eq!(version, format!("c5c3 {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&c5c3(&["completions", shell]).success());
        assert!(script.contains("assume-ready"), "{shell}");
    }
}
