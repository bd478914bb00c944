//! The Shoot of a cluster: its name, provider and networks.

use super::*;

#[test]
fn a_shoot_whose_name_gardener_would_refuse_is_shortened() {
    let outcome = pool("control-plane").run();
    let metadata = &outcome.manifest("shoot")["metadata"];
    assert_eq!(metadata["namespace"], "garden-c5c3");
    assert_eq!(
        text(metadata, "/name").len() + "c5c3".len(),
        21,
        "{metadata}"
    );
    assert_eq!(
        outcome.desired["access"]["metadata"]["name"],
        "eu-de-1-control-plane"
    );
    assert_eq!(
        outcome.status["kubeconfig"],
        "eu-de-1-control-plane-kubeconfig"
    );
    assert_eq!(
        pool("hv-pool-a").run().manifest("shoot")["metadata"]["name"],
        "hv-pool-a"
    );
}

#[rstest]
#[case("hv-pool-a")]
#[case("st-pool-a")]
fn gardener_never_replaces_or_deletes_bare_metal_by_itself(#[case] file: &str) {
    let outcome = pool(file).run();
    let spec = &outcome.manifest("shoot")["spec"];
    let worker = &spec["provider"]["workers"][0];
    assert_eq!(
        json!([
            spec["maintenance"]["autoUpdate"],
            worker["machine"]["image"],
            worker["updateStrategy"],
            worker["maxSurge"],
            worker["maxUnavailable"],
            worker["annotations"]
        ]),
        json!([
            {"kubernetesVersion": true, "machineImageVersion": false},
            {"name": "gardenlinux", "version": "1877.0.0"},
            "ManualInPlaceUpdate",
            // Gardener 1.125 and newer refuses both where a person selects the machines.
            null,
            null,
            {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
        ])
    );
}

#[rstest]
#[case("/gardener/maintenance/autoUpdate/machineImageVersion", json!(true),
    "maintenance.autoUpdate.machineImageVersion is true; set it to false")]
#[case("/gardener/machineImage", json!({"name": "gardenlinux"}),
    "machineImage has no version; give the one that machines have")]
fn an_input_that_lets_gardener_replace_bare_metal_is_refused(
    #[case] field: &str,
    #[case] value: Value,
    #[case] problem: &str,
) {
    let mut call = pool("st-pool-a");
    *call.input.as_mut().unwrap().pointer_mut(field).unwrap() = value;
    let outcome = call.run();
    assert_eq!(
        outcome.fatal,
        Some(format!(
            "the Composition's input lets Gardener replace bare metal, with the servers and data on it: gardener.{problem}"
        ))
    );
}

#[test]
fn control_plane_machines_are_replaced_one_by_one() {
    let outcome = pool("control-plane").run();
    let worker = &outcome.manifest("shoot")["spec"]["provider"]["workers"][0];
    assert_eq!(
        json!([
            worker["updateStrategy"],
            worker["maxSurge"],
            worker["maxUnavailable"],
            worker["annotations"]
        ]),
        json!(["AutoRollingUpdate", 1, 0, null])
    );
}

#[test]
fn shoot_has_the_configuration_that_its_provider_needs() {
    let outcome = pool("control-plane").run();
    let provider = &outcome.manifest("shoot")["spec"]["provider"];
    let api_version = "openstack.provider.extensions.gardener.cloud/v1alpha1";
    assert_eq!(
        json!([
            provider["infrastructureConfig"],
            provider["controlPlaneConfig"]
        ]),
        json!([
            {"apiVersion": api_version, "kind": "InfrastructureConfig", "floatingPoolName": "FloatingIP-external",
             "networks": {"workers": outcome.manifest("shoot")["spec"]["networking"]["nodes"]}},
            {"apiVersion": api_version, "kind": "ControlPlaneConfig", "loadBalancerProvider": "amphora"},
        ])
    );
}

#[rstest]
#[case("control-plane", "openstack", "infrastructureConfig")]
#[case("control-plane", "openstack", "controlPlaneConfig")]
#[case("hv-pool-a", "ironcore-metal", "infrastructureConfig")]
fn shoot_without_the_configuration_that_its_provider_needs_is_refused(
    #[case] file: &str,
    #[case] provider: &str,
    #[case] field: &str,
) {
    let mut call = pool(file);
    let gardener = call.input.as_mut().unwrap()["gardener"]
        .as_object_mut()
        .unwrap();
    gardener.remove(field);
    assert_eq!(
        call.run().fatal,
        Some(format!(
            "the Composition's input has no gardener.{field}, and Gardener refuses Shoots of provider {provider} without one"
        ))
    );
}

#[test]
fn what_gardener_says_reaches_the_claim() {
    let call = pool("hv-pool-a");
    let first = call.run();
    let failed = |_: &str, _: &Value| json!({"lastOperation": {"type": "Create", "state": "Failed", "description": "no machines left"}});
    let outcome = call.applied(&first, failed).run();
    assert_eq!(outcome.status["phase"], "Failed");
    assert_eq!(
        outcome.conditions["ShootReady"].2,
        "Gardener stopped retrying: no machines left"
    );
}

#[rstest]
#[case::failed(json!({"lastOperation": {"type": "Reconcile", "state": "Error", "description": "no server"}}))]
#[case::aborted(json!({"lastOperation": {"type": "Reconcile", "state": "Aborted", "description": "no server"}}))]
#[case::queued(json!({"lastOperation": {"type": "Reconcile", "state": "Pending", "description": "no server"}}))]
#[case::retried(json!({
    "lastOperation": {"type": "Reconcile", "state": "Processing", "description": "Waiting for worker"},
    "lastErrors": [{"taskID": "worker", "description": "no server"}],
}))]
fn shoot_that_gardener_fails_to_reconcile_stays_ready_with_the_error(
    #[values("control-plane", "hv-pool-a", "st-pool-a")] file: &str,
    #[case] failing: Value,
) {
    let (call, before) = running(file);
    let status = |name: &str, manifest: &Value| match name {
        "shoot" => failing.clone(),
        _ => well(name, manifest),
    };
    let outcome = call.clone().applied(&before, status).run();
    let ready = |message: &str| ("True".to_owned(), "Created".to_owned(), message.to_owned());
    assert_eq!(
        outcome.conditions["ShootReady"],
        ready("Gardener tries again: no server")
    );
    assert_eq!(outcome.composite_ready, Some(true));

    let succeeded = |name: &str, manifest: &Value| match name {
        "shoot" => {
            json!({"lastOperation": {"type": "Reconcile", "state": "Succeeded", "description": "done"}})
        }
        _ => well(name, manifest),
    };
    let outcome = call.applied(&outcome, succeeded).run();
    assert_eq!(outcome.conditions["ShootReady"], ready(""));
}

#[test]
fn hibernated_cluster_is_not_ready() {
    let (call, awake) = running("control-plane");
    assert_eq!(awake.status["phase"], "Ready");
    let hibernated = |_: &str, _: &Value| json!({"hibernated": true, "lastOperation": {"type": "Reconcile", "state": "Succeeded"}});
    let outcome = call.clone().applied(&awake, hibernated).run();
    assert_eq!(outcome.status["phase"], "Provisioning");
    let (status, reason, message) = &outcome.conditions["ShootReady"];
    assert_eq!([status, reason], ["False", "NotReady"]);
    assert_eq!(
        message,
        "the cluster is hibernated, and its API server doesn't run: set spec.hibernation.enabled of the Shoot to false, and remove \
         spec.hibernation.schedules"
    );
    assert!(outcome.warnings.contains(message));

    // Gardener says so until the API server runs again.
    let waking = |_: &str, _: &Value| {
        json!({"hibernated": true, "lastOperation": {
            "type": "Reconcile", "state": "Processing", "progress": 40, "description": "Waking up",
        }})
    };
    let outcome = call.applied(&awake, waking).run();
    assert_eq!(outcome.status["phase"], "Provisioning");
    assert_eq!(
        outcome.conditions["ShootReady"].2,
        "Gardener is at 40 %: Waking up"
    );
}

#[test]
fn version_that_the_cloud_profile_lacks_is_reported_with_the_setting_to_change() {
    let (mut call, _) = running("hv-pool-a");
    let refusal = "cannot apply object: shoots.core.gardener.cloud \"hv-pool-a\" is forbidden: [spec.kubernetes.version: Invalid \
                   value: \"1.99\": couldn't find a suitable version for 1.99]";
    let shoot = call.observed.get_mut("shoot").unwrap();
    shoot["status"]["conditions"][0] = json!({"type": "Synced", "status": "False", "reason": "ReconcileError", "message": refusal});
    let outcome = call.run();
    assert_eq!(
        outcome.conditions["ShootReady"],
        (
            "False".to_owned(),
            "NotApplied".to_owned(),
            format!(
                "{refusal} (the CloudProfile doesn't offer this version of Kubernetes: set spec.kubernetesVersion of the claim, or \
                 kubernetesVersion of the Composition's input, to one that it offers, with its patch version)"
            )
        )
    );
}
