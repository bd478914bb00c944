//! Flux deletes no cloud, and keeps workers for everything else while claims become Ready.

use rstest::rstest;
use serde_json::{Value, json};

use super::repository::{Applied, Id, gitops, items, read, site, text};
use crate::given::root;

/// Kinds that hold something that Git doesn't.
const KEPT: [&str; 8] = [
    "Namespace",
    "FluxInstance",
    "ControlPlane",
    "OpenStackCluster",
    "ControlPlaneCluster",
    "HypervisorCluster",
    "StorageCluster",
    "ShootKubeconfig",
];

/// Kinds that take hours to become Ready.
const SLOW: [&str; 5] = [
    "ControlPlane",
    "OpenStackCluster",
    "ControlPlaneCluster",
    "HypervisorCluster",
    "StorageCluster",
];

fn is_one_of(kinds: &[&str], object: &Value) -> bool {
    kinds.contains(&text(&object["kind"]))
}

#[rstest]
fn gitops_prunes_no_claim_pool_namespace_or_operator(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    for applied in site(overlay) {
        let spec = &applied.kustomization["spec"];
        let id = Id::of(&applied.kustomization);
        if spec["prune"] == false {
            continue;
        }
        assert_eq!(spec["prune"], true, "{id}");
        assert_eq!(spec["deletionPolicy"], "Orphan", "{id}");
        for object in &applied.objects {
            let prune = &object["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"];
            assert!(
                !is_one_of(&KEPT, object) || prune == "disabled",
                "{id} would delete {}",
                Id::of(object)
            );
            assert!(
                !is_one_of(&["HelmRelease"], object),
                "{id} would uninstall {}",
                Id::of(object)
            );
        }
    }
}

/// Sources of other projects have definitions, too.
#[test]
fn gitops_prunes_nothing_of_other_repositories() {
    for applied in site("management") {
        if applied.objects.is_empty() {
            let id = Id::of(&applied.kustomization);
            assert_eq!(applied.kustomization["spec"]["prune"], false, "{id}");
        }
    }
}

/// Everything depends on sources. One that can't be reached stops only what it has.
#[rstest]
fn gitops_waits_for_no_source(#[values("management", "management-v1", "staging")] overlay: &str) {
    for applied in site(overlay) {
        let sources = ["GitRepository", "HelmRepository"];
        let mut objects = applied.objects.iter();
        let has_sources = objects.any(|object| is_one_of(&sources, object));
        let waits = applied.kustomization["spec"]["wait"] == true;
        assert!(!has_sources || !waits, "{}", Id::of(&applied.kustomization));
    }
}

fn seconds(duration: &Value) -> u32 {
    let text = text(duration);
    let minutes = text
        .strip_suffix('m')
        .and_then(|number| number.parse::<u32>().ok());
    minutes.map_or(0, |minutes| minutes * 60)
}

fn has_claims(applied: &&Applied) -> bool {
    applied
        .objects
        .iter()
        .any(|object| is_one_of(&SLOW, object))
}

#[rstest]
fn gitops_waits_of_claims_are_short_and_rare(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let site = site(overlay);
    let mut waiting = 0;
    for applied in site.iter().filter(has_claims) {
        let spec = &applied.kustomization["spec"];
        let id = Id::of(&applied.kustomization);
        let (wait, pause) = (seconds(&spec["timeout"]), seconds(&spec["retryInterval"]));
        assert!(wait > 0 && wait * 5 <= pause, "{id}: {wait} of {pause}");
        assert_eq!(spec["wait"], true, "{id}");
        waiting += 1;
    }
    assert!(waiting > 0);
}

/// A claim that isn't Ready keeps nothing else from being applied.
#[rstest]
fn gitops_depends_on_no_kustomization_of_claims(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let site = site(overlay);
    let claims: Vec<Id> = site
        .iter()
        .filter(has_claims)
        .map(|applied| Id::of(&applied.kustomization))
        .collect();
    for applied in &site {
        let id = Id::of(&applied.kustomization);
        for other in items(&applied.kustomization["spec"]["dependsOn"]) {
            let other = Id::new(&id.kind, &id.namespace, text(&other["name"]));
            assert!(!claims.contains(&other), "{id} waits for {other}");
        }
    }
}

/// The health of a claim is what docs/claims.md says that it is.
#[rstest]
fn gitops_health_checks_cover_every_kind_of_claim(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let page = read(&root("docs/claims.md"));
    for applied in site(overlay).iter().filter(has_claims) {
        let checks: Vec<&Value> =
            items(&applied.kustomization["spec"]["healthCheckExprs"]).collect();
        for claim in applied
            .objects
            .iter()
            .filter(|object| is_one_of(&SLOW, object))
        {
            let is_check = |check: &&&Value| {
                check["kind"] == claim["kind"] && check["apiVersion"] == claim["apiVersion"]
            };
            let check = checks.iter().find(is_check);
            let check = check.unwrap_or_else(|| panic!("no check of {}", Id::of(claim)));
            for state in ["inProgress", "failed", "current"] {
                let line = format!("{state}: \"{}\"", text(&check[state]));
                assert!(page.contains(&line), "docs/claims.md lacks {line}");
            }
        }
    }
}

/// A watch keeps the kubeconfig that it began with (crossplane-contrib/provider-kubernetes, `WatchResources` in
/// internal/controller/namespaced/object/informers.go). One in its Secret is valid for at least three fifths of a day.
#[rstest]
fn gitops_provider_restarts_before_the_kubeconfigs_of_its_watches_expire(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let site = site(overlay);
    let find = |kind: &str, name: &str| {
        let mut objects = site.iter().flat_map(|applied| &applied.objects);
        let found = objects
            .find(|object| is_one_of(&[kind], object) && text(&object["metadata"]["name"]) == name);
        found.unwrap_or_else(|| panic!("{kind} {name} isn't there"))
    };
    let provider = find("Provider", "provider-kubernetes");
    let config = text(&provider["spec"]["runtimeConfigRef"]["name"]);
    let config = find("DeploymentRuntimeConfig", config);
    assert!(config.to_string().contains("--enable-watches"));

    let restart = &find("CronJob", "provider-kubernetes-restart")["spec"];
    let schedule = text(&restart["schedule"]);
    let hours = schedule.strip_prefix("0 */");
    let hours = hours.and_then(|rest| rest.strip_suffix(" * * *")?.parse::<u32>().ok());
    assert!(hours.is_some_and(|hours| hours * 5 < 24 * 3), "{schedule}");
    let pod = &restart["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(
        pod["containers"][0]["args"],
        json!([
            "delete",
            "pods",
            "--namespace=crossplane-system",
            "--selector=pkg.crossplane.io/provider=provider-kubernetes",
            "--wait=false",
        ])
    );
    let role = find("Role", text(&pod["serviceAccountName"]));
    assert_eq!(
        role["rules"],
        json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list", "delete"] }])
    );
}

#[test]
fn gitops_control_plane_without_a_claim_is_suspended() {
    let site = site("management");
    let mut with_control_plane = site.iter().filter(|applied| {
        let mut objects = applied.objects.iter();
        objects.any(|object| object["kind"] == "ControlPlane")
    });
    assert!(
        with_control_plane.all(|applied| applied.kustomization["spec"]["suspend"] == true),
        "a site of claims gets no other control plane"
    );
}

#[test]
fn gitops_releases_never_return_to_earlier_definitions_by_themselves() {
    for applied in site("management") {
        for release in applied
            .objects
            .iter()
            .filter(|object| is_one_of(&["HelmRelease"], object))
        {
            let spec = &release["spec"];
            for action in ["install", "upgrade"] {
                let id = Id::of(release);
                assert!(spec[action]["remediation"].is_null(), "{id}");
                assert_eq!(spec[action]["strategy"]["name"], "RetryOnFailure", "{id}");
            }
            let chart = &spec["chart"]["spec"];
            let of_definitions = text(&chart["chart"]).ends_with("/c5c3-crds");
            let source = text(&chart["sourceRef"]["name"]);
            assert_eq!(of_definitions, source == "c5c3-definitions");
        }
    }
    let flux = read(&gitops("clusters/base/flux/flux.yaml"));
    for argument in ["--no-cross-namespace-refs=true", "--no-remote-bases=true"] {
        assert!(flux.contains(argument), "{argument}");
    }
}
