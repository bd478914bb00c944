//! The program, as it is used: what it writes where, and with which exit code it ends.

mod clusters;
mod images;
mod plan;
mod served;

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

/// Commands of this program in docs/first-cloud.md.
#[test]
fn commands_of_the_first_cloud_have_their_flags() {
    let page = include_str!("../../docs/first-cloud.md");
    let commands = page
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("c5c3 "));
    let mut count = 0;
    for command in commands {
        let mut words = command.split(' ');
        let task = words.next().unwrap_or_default();
        let help = stdout(&c5c3(&[task, "--help"]).success());
        for flag in words.filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag), "{command}");
        }
        count += 1;
    }
    assert!(count > 3, "only {count} commands");
}

const CLAIM: &str = "examples/claims/customer-a-prod.yaml";
const CONTROL_PLANE: &str = "examples/control-planes/production.yaml";

#[test]
fn a_claim_becomes_the_composite_resource_of_either_generation() {
    let v1 = stdout(
        &c5c3(&["xr", CLAIM, "--crossplane", "1"])
            .success()
            .stderr(""),
    );
    assert!(v1.contains("kind: XOpenStackCluster\n"), "{v1}");
    assert!(
        v1.contains("crossplane.io/claim-name: customer-a-prod\n"),
        "{v1}"
    );
    assert!(v1.contains("claimRef:"), "{v1}");

    let v2 = stdout(&c5c3(&["xr", CLAIM]).success().stderr(""));
    assert!(v2.contains("kind: OpenStackCluster\n"), "{v2}");
    assert!(v2.contains("namespace: tenant-customer-a\n"), "{v2}");
    assert!(!v2.contains("claimRef:"), "{v2}");

    let pools = stdout(&c5c3(&["xr", "examples/pools"]).success().stderr(""));
    assert_eq!(pools.matches("kind: StorageCluster\n").count(), 3);
}

#[test]
fn the_definitions_are_those_of_the_repository() {
    for (command, folder) in [
        ("xrds", "xrds/v2"),
        ("xrds --crossplane 2", "xrds/v2"),
        ("xrds --crossplane 1", "xrds/v1"),
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let written = stdout(&c5c3(&arguments).success());
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

/// Another current folder than the checkout's would leave out `.cargo/config.toml` without a word.
#[test]
fn program_has_the_options_of_its_allocator() {
    let program = fs::read(env!("CARGO_BIN_EXE_c5c3")).unwrap();
    let options = b"narenas:1,dirty_decay_ms:1000,lg_tcache_max:11,background_thread:true";
    assert!(program.windows(options.len()).any(|bytes| bytes == options));
}
