//! Plans: what is planned and shown, and what is refused.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;

use super::{CLAIM, CONTROL_PLANE, c5c3, c5c3_on, refused, stderr, stdout};

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
    assert!(yaml.contains("apiVersion: kubernetes.m.crossplane.io/"));

    let flags = ["--assume-ready", "-o", "yaml", "--crossplane", "1"];
    let claim = stdout(&c5c3(&[&["plan", CLAIM][..], &flags].concat()).success());
    assert!(claim.contains("apiVersion: kubernetes.crossplane.io/"));

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
fn the_command_of_the_gitops_page_plans_the_example() {
    let page = fs::read_to_string("docs/gitops.md").expect("the page");
    let command = "c5c3 plan infrastructure tenants --assume-ready";
    assert!(page.contains(command), "{command}");
    let folders = [
        "plan",
        "examples/gitops/infrastructure",
        "examples/gitops/tenants",
    ];
    let flags = ["--assume-ready"];
    let shown = stdout(&c5c3(&[&folders[..], &flags].concat()).success());
    for claim in [
        "tenant-customer-a/customer-a-prod",
        "tenant-internal/canary",
    ] {
        let ready = format!("✔ OpenStackCluster {claim}: Ready");
        assert!(shown.contains(&ready), "{ready} isn't in {shown}");
    }
}
