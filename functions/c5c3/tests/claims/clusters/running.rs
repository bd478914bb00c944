//! What a Shoot runs, and what Gardener changes by itself or refuses to change.

use super::*;

/// A pool that runs, and whose Shoot Gardener has raised to other versions.
pub(super) fn raised(file: &str) -> Call {
    let (mut call, _) = running(file);
    let spec = &mut seen(&mut call)["spec"];
    spec["kubernetes"]["version"] = json!("1.36.2");
    spec["credentialsBindingName"] = json!("by-gardener");
    spec["provider"]["workers"][0]["machine"]["image"]["version"] = json!("1900.1.0");
    call
}

#[rstest]
#[case("control-plane")]
#[case("hv-pool-a")]
#[case("st-pool-a")]
fn versions_that_gardener_has_raised_are_not_lowered(#[case] file: &str) {
    let outcome = raised(file).run();
    let spec = &outcome.manifest("shoot")["spec"];
    assert_eq!(spec["kubernetes"]["version"], "1.36.2");
    let images: Vec<_> = spec["provider"]["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|worker| text(worker, "/machine/image/version"))
        .collect();
    // The other groups run what they were created with.
    let expected: &[&str] = match file {
        "hv-pool-a" => &["1900.1.0", "1877.0.0"],
        "st-pool-a" => &["1900.1.0", "1877.0.0", "1877.0.0"],
        _ => &[""],
    };
    assert_eq!(images, expected);
}

/// The Shoot as Gardener has it.
pub(super) fn seen(call: &mut Call) -> &mut Value {
    let shoot = call.observed.entry("shoot".to_owned()).or_default();
    &mut shoot["status"]["atProvider"]["manifest"]
}

pub(super) fn note(outcome: &Outcome) -> (&str, &str) {
    let (status, _, message) = &outcome.conditions["ShootReady"];
    (status, message)
}

#[rstest]
#[case::older(
    "1.35.4",
    "1.36.2",
    "the cluster stays at Kubernetes 1.36.2, since Gardener can't downgrade it to 1.35.4: set kubernetesVersion to 1.36.2 or newer"
)]
#[case::same("1.36", "1.36.2", "")]
#[case::patch(
    "1.36.5",
    "1.36.5",
    "Kubernetes is being upgraded from 1.36.2 to 1.36.5"
)]
#[case::next("1.37", "1.37", "Kubernetes is being upgraded from 1.36.2 to 1.37")]
#[case::far(
    "1.39",
    "1.37",
    "Kubernetes is being upgraded from 1.36.2 to 1.39, one minor version at a time"
)]
fn claim_gets_the_next_version_on_the_way_to_its_own(
    #[case] wanted: &str,
    #[case] composed: &str,
    #[case] message: &str,
) {
    let mut call = raised("hv-pool-a");
    call.composite["spec"]["kubernetesVersion"] = json!(wanted);
    let outcome = call.run();
    let spec = &outcome.manifest("shoot")["spec"];
    assert_eq!(spec["kubernetes"]["version"], composed);
    assert_eq!(note(&outcome), ("True", message));
}

#[rstest]
#[case::processing(json!({"lastOperation": {"type": "Reconcile", "state": "Processing"}}))]
#[case::failing(json!({"lastOperation": {"type": "Reconcile", "state": "Error", "description": "no server"}}))]
#[case::unseen(json!({"observedGeneration": 7, "lastOperation": {"type": "Reconcile", "state": "Succeeded"}}))]
fn next_minor_version_waits_for_what_gardener_does(#[case] status: Value) {
    let mut call = raised("hv-pool-a");
    let shoot = seen(&mut call);
    shoot["metadata"]["generation"] = json!(8);
    shoot["status"] = status;
    call.composite["spec"]["kubernetesVersion"] = json!("1.37");
    let version =
        |call: &Call| call.run().manifest("shoot")["spec"]["kubernetes"]["version"].clone();
    assert_eq!(version(&call), "1.36.2");
    let outcome = call.run();
    let says = "Kubernetes is to be upgraded from 1.36.2 to 1.37 once Gardener's present operation has succeeded";
    assert!(note(&outcome).1.ends_with(says), "{:?}", note(&outcome));
    call.composite["spec"]["kubernetesVersion"] = json!("1.36.9");
    assert_eq!(version(&call), "1.36.9");
}

#[test]
fn newer_default_version_is_for_new_clusters_alone() {
    let mut call = raised("hv-pool-a");
    call.input.as_mut().unwrap()["kubernetesVersion"] = json!("1.38");
    assert_eq!(call.composite["spec"]["kubernetesVersion"], Value::Null);
    let kubernetes = |call: &Call| call.run().manifest("shoot")["spec"]["kubernetes"].clone();
    assert_eq!(kubernetes(&call), json!({"version": "1.36.2"}));
    call.observed.clear();
    assert_eq!(kubernetes(&call), json!({"version": "1.38"}));
}

#[test]
fn highly_available_cluster_stays_so() {
    let (mut call, before) = running("control-plane");
    call.composite["spec"]["highAvailability"] = json!(false);
    let outcome = call.run();
    let availability =
        |outcome: &Outcome| outcome.manifest("shoot")["spec"]["controlPlane"].clone();
    assert_eq!(availability(&outcome), availability(&before));
    assert_eq!(
        note(&outcome),
        (
            "True",
            "the cluster stays highly available, since Gardener can't disable that: set highAvailability to true"
        )
    );
    assert_eq!(
        availability(&{
            call.observed.clear();
            call.run()
        }),
        json!(null)
    );
}

/// Gardener refuses another type.
#[rstest]
fn control_plane_of_a_shoot_keeps_the_failures_that_it_tolerates(
    #[values("control-plane", "hv-pool-a", "st-pool-a")] file: &str,
    #[values("node", "zone")] type_: &str,
) {
    let (mut call, _) = running(file);
    let observed = json!({"highAvailability": {"failureTolerance": {"type": type_}}});
    seen(&mut call)["spec"]["controlPlane"] = observed.clone();
    let outcome = call.run();
    let spec = &outcome.manifest("shoot")["spec"];
    assert_eq!(spec["controlPlane"], observed);
    assert_eq!(note(&outcome), ("True", ""));

    call.observed.clear();
    let new = call.run().manifest("shoot")["spec"]["controlPlane"].clone();
    assert_eq!(new["highAvailability"]["failureTolerance"]["type"], "zone");
}

#[test]
fn shoot_names_the_credentials_that_its_version_takes() {
    let names = |call: &Call| {
        let outcome = call.run();
        let spec = outcome.manifest("shoot")["spec"].clone();
        (
            spec["credentialsBindingName"].clone(),
            spec["secretBindingName"].clone(),
        )
    };
    let (input, none) = (json!("ironcore-credentials"), json!(null));
    assert_eq!(names(&pool("hv-pool-a")), (input.clone(), none.clone()));
    assert_eq!(names(&raised("hv-pool-a")), (input, none.clone()));

    let secret = |mut call: Call| {
        let gardener = &mut call.input.as_mut().unwrap()["gardener"];
        gardener["credentialsBinding"] = json!(null);
        gardener["secretBinding"] = json!("old");
        call
    };
    let mut old = secret(pool("hv-pool-a"));
    old.composite["spec"]["kubernetesVersion"] = json!("1.33");
    assert_eq!(names(&old), (none.clone(), json!("old")));
    assert_eq!(
        names(&secret(raised("hv-pool-a"))),
        (json!("by-gardener"), none)
    );
    old.composite["spec"]["kubernetesVersion"] = json!("1.34");
    assert_eq!(
        old.run().fatal.as_deref(),
        Some(
            "Gardener doesn't accept a SecretBinding for Kubernetes 1.34: create a CredentialsBinding and set gardener.credentialsBinding of \
             the Composition's input to its name"
        )
    );
    old.input.as_mut().unwrap()["gardener"]["secretBinding"] = json!(null);
    assert_eq!(
        old.run().fatal.as_deref(),
        Some(
            "the Composition's input names no credentials: set gardener.credentialsBinding to the name of a CredentialsBinding"
        )
    );
}

#[rstest]
#[case::deleted("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]
#[case::another_claims("/metadata/labels/c5c3.io~1claim-uid", json!("another"))]
fn shoot_that_is_not_the_clusters_own_decides_nothing(#[case] field: &str, #[case] value: Value) {
    let mut call = raised("control-plane");
    call.composite["spec"]["highAvailability"] = json!(false);
    call.composite["spec"]["network"] = json!({"nodes": "10.20.0.0/16"});
    let shoot = seen(&mut call);
    if field.starts_with("/metadata/deletion") {
        shoot["metadata"]["deletionTimestamp"] = value;
    } else {
        *shoot.pointer_mut(field).unwrap() = value;
    }
    let outcome = call.run();
    let spec = &outcome.manifest("shoot")["spec"];
    assert_eq!(
        json!([
            spec["kubernetes"]["version"],
            spec["controlPlane"],
            spec["networking"]["nodes"]
        ]),
        json!(["1.35", null, "10.20.0.0/16"])
    );
}

#[test]
fn settings_that_are_not_applied_name_what_the_cluster_needs() {
    let (mut call, before) = running("hv-pool-a");
    assert!(!before.conditions.contains_key("PoolSettingsApplied"));
    let applied = call.observed["pool"]["status"].clone();
    let problem = "no matches for kind HypervisorPool";
    call.observed.get_mut("pool").unwrap()["status"] =
        json!({"conditions": [{"type": "Synced", "status": "False", "message": problem}]});
    let outcome = call.run();
    let message = "HypervisorPool hv-pool-a isn't applied: no matches for kind HypervisorPool. This needs the cluster's kubeconfig in \
                   Secret hv-pool-a-kubeconfig of namespace crossplane-system, and the chart c5c3-crds in the cluster";
    let expected: (String, String, String) =
        ["False", "NotApplied", message].map(str::to_owned).into();
    assert_eq!(outcome.conditions["PoolSettingsApplied"], expected);
    assert_eq!(outcome.conditions["Reconciling"].2, message);
    assert_eq!(outcome.composite_ready, Some(false));

    call.observed.get_mut("pool").unwrap()["status"] = applied;
    call.composite["status"]["conditions"] = outcome.written_conditions();
    assert_eq!(call.run().conditions["PoolSettingsApplied"].0, "True");
}

#[test]
fn version_that_was_refused_can_be_corrected() {
    let (mut call, _) = running("hv-pool-a");
    // Gardener refused the first version, so its Object has observed no Shoot.
    call.observed.get_mut("shoot").unwrap()["status"] = json!({
        "conditions": [{"type": "Synced", "status": "False", "message": "spec.kubernetes.version: Invalid value"}]});
    call.composite["spec"]["kubernetesVersion"] = json!("1.34");
    let outcome = call.run();
    assert_eq!(
        outcome.manifest("shoot")["spec"]["kubernetes"]["version"],
        "1.34"
    );
}

#[rstest]
#[case("hv-pool-a", 50, "hypervisor")]
#[case("st-pool-b", 20, "storage-")]
fn pool_from_a_backup_keeps_the_machines_that_its_shoot_has(
    #[case] file: &str,
    #[case] workers: u32,
    #[case] group: &str,
) {
    let (mut call, before) = running(file);
    // The backup is of a time at which the pool was smaller, and nothing in the pool has reported yet.
    assert_eq!(call.composite["spec"]["workers"], workers);
    call.composite["spec"]["workers"] = json!(workers - 5);
    call.observed.retain(|name, _| name == "shoot");
    let shoot = call.observed.get_mut("shoot").unwrap();
    for worker in shoot["spec"]["forProvider"]["manifest"]["spec"]["provider"]["workers"]
        .as_array_mut()
        .unwrap()
    {
        worker["minimum"] = json!(1);
        worker["maximum"] = json!(1);
    }
    let machines = |outcome: &Outcome| {
        let workers = outcome.manifest("shoot")["spec"]["provider"]["workers"].clone();
        let mut workers = workers.as_array().cloned().unwrap_or_default();
        workers.retain(|worker| text(worker, "/name").starts_with(group));
        assert!(!workers.is_empty(), "{file} has no {group}");
        let sizes = workers
            .iter()
            .map(|worker| json!([worker["name"], worker["minimum"], worker["maximum"]]));
        Value::from_iter(sizes)
    };
    assert_eq!(machines(&call.run()), machines(&before));
}
