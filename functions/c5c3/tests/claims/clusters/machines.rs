//! The machines of a Shoot: what of them Gardener can't change, or not yet.

use super::running::{note, raised, seen};
use super::*;

#[test]
fn machines_that_wait_for_an_update_in_place_are_not_changed() {
    let mut call = raised("hv-pool-a");
    let before = seen(&mut call)["spec"].clone();
    seen(&mut call)["status"]["inPlaceUpdates"] =
        json!({"pendingWorkerUpdates": {"manualInPlaceUpdate": ["hypervisor"]}});
    let spec = &mut call.composite["spec"];
    spec["kubernetesVersion"] = json!("1.37");
    spec["workers"] = json!(60);
    let gardener = &mut call.input.as_mut().unwrap()["gardener"];
    gardener["machineImage"]["version"] = json!("2000.0.0");
    gardener["systemMachines"] = json!(null);
    let outcome = call.run();
    let after = &outcome.manifest("shoot")["spec"];
    assert_eq!(after["kubernetes"], before["kubernetes"]);
    // The machines of the system stay as well, since nothing else may run on hypervisors before they are changed.
    assert_eq!(after["provider"]["workers"], before["provider"]["workers"]);
    assert_eq!(
        note(&outcome),
        (
            "True",
            "Kubernetes is being upgraded from 1.36.2 to 1.37; updates in place of the machines of hypervisor are pending, and Gardener changes \
             neither their number nor what they run until all are updated: drain their nodes and label them \
             node.machine.sapcloud.io/selected-for-update=true"
        )
    );

    seen(&mut call)["status"]["inPlaceUpdates"] = json!({});
    let outcome = call.run();
    let workers = &outcome.manifest("shoot")["spec"]["provider"]["workers"];
    assert_eq!(workers.as_array().map(Vec::len), Some(1));
    assert_eq!(
        json!([
            workers[0]["minimum"],
            workers[0]["machine"]["image"]["version"]
        ]),
        json!([60, "2000.0.0"])
    );
}

#[rstest]
#[case("hv-pool-a")]
#[case("st-pool-a")]
fn machines_with_servers_or_disks_stay_what_they_are(#[case] file: &str) {
    let (mut call, before) = running(file);
    call.composite["spec"]["ironcore"]["machineClass"] = json!("another");
    let gardener = &mut call.input.as_mut().unwrap()["gardener"];
    gardener["machineImage"] = json!({"name": "another", "version": "1.0.0"});
    gardener["volume"] = json!({"type": "other", "size": "1920Gi"});
    let group =
        |outcome: &Outcome| outcome.manifest("shoot")["spec"]["provider"]["workers"][0].clone();
    assert_eq!(group(&call.run()), group(&before));
}

#[test]
fn machines_that_were_refused_can_be_corrected() {
    let mut call = pool("hv-pool-a");
    let volume = |call: &mut Call, type_| {
        call.input.as_mut().unwrap()["gardener"]["volume"] =
            json!({"type": type_, "size": "960Gi"});
    };
    volume(&mut call, "floppy");
    let (mut call, _) = call.running();
    volume(&mut call, "local");
    for (problem, expected) in [
        (
            "shoots.core.gardener.cloud \"hv-pool-a\" is forbidden: spec.provider.workers[0].volume.type: Unsupported value: \"floppy\"",
            "local",
        ),
        (
            "Shoot.core.gardener.cloud \"hv-pool-a\" is invalid: spec.provider.workers[0].updateStrategy: Invalid value",
            "local",
        ),
        (
            "admission webhook \"validation.ironcore\" denied the request: providerConfig",
            "local",
        ),
        // The Shoot may have been created.
        ("context deadline exceeded", "floppy"),
    ] {
        call.observed.get_mut("shoot").unwrap()["status"] =
            json!({"conditions": [{"type": "Synced", "status": "False", "message": problem}]});
        let shoot = call.run().manifest("shoot").clone();
        assert_eq!(
            shoot["spec"]["provider"]["workers"][0]["volume"]["type"], expected,
            "{problem}"
        );
    }
}

#[test]
fn control_plane_machines_updated_in_place_keep_type_and_disk_and_shoot_ready_says_so() {
    let mut call = pool("control-plane");
    call.input.as_mut().unwrap()["gardener"]["updateStrategy"] = json!("AutoInPlaceUpdate");
    let (mut call, before) = call.running();
    assert_eq!(before.conditions["ShootReady"].2, "");
    call.composite["spec"]["machineType"] = json!("m5.8xlarge");
    call.composite["spec"]["volumeSize"] = json!("400Gi");
    let outcome = call.run();
    let worker = |outcome: &Outcome| {
        let worker = &outcome.manifest("shoot")["spec"]["provider"]["workers"][0];
        json!([worker["machine"]["type"], worker["volume"]])
    };
    assert_eq!(worker(&outcome), worker(&before));
    assert_eq!(
        outcome.conditions["ShootReady"].2,
        "the machines keep type m5.4xlarge and a disk of 200Gi, since Gardener can't change these where it updates machines in place: \
         set machineType to m5.4xlarge and volumeSize to 200Gi"
    );
}

#[test]
fn image_version_of_machines_updated_in_place_is_left_to_gardener_where_it_updates_images() {
    let mut call = pool("control-plane");
    let image = |call: &mut Call, name| {
        let gardener = &mut call.input.as_mut().unwrap()["gardener"];
        gardener["updateStrategy"] = json!("AutoInPlaceUpdate");
        gardener["machineImage"] = json!({"name": name, "version": "1877.0.0"});
    };
    image(&mut call, "gardenlinux");
    let (mut call, _) = call.running();
    for name in ["gardenlinux", "flatcar"] {
        image(&mut call, name);
        let shoot = call.run().manifest("shoot").clone();
        assert_eq!(
            shoot["spec"]["provider"]["workers"][0]["machine"]["image"],
            json!({"name": "gardenlinux"})
        );
    }
}

#[test]
fn forced_update_in_place_changes_machines_again() {
    let (mut call, _) = running("hv-pool-a");
    let shoot = seen(&mut call);
    shoot["status"]["inPlaceUpdates"] =
        json!({"pendingWorkerUpdates": {"manualInPlaceUpdate": ["hypervisor"]}});
    call.composite["spec"]["workers"] = json!(60);
    let minimum = |call: &Call| {
        call.run().manifest("shoot")["spec"]["provider"]["workers"][0]["minimum"].clone()
    };
    assert_eq!(minimum(&call), 50);
    seen(&mut call)["metadata"]["annotations"]["gardener.cloud/operation"] =
        json!("force-in-place-update");
    assert_eq!(minimum(&call), 60);
}

#[test]
fn image_that_gardener_updates_itself_is_left_to_it() {
    let mut call = pool("control-plane");
    let gardener = &mut call.input.as_mut().unwrap()["gardener"];
    gardener["machineImage"] = json!({"name": "gardenlinux", "version": "1877.0.0"});
    let version = |call: &Call| {
        call.run().manifest("shoot")["spec"]["provider"]["workers"][0]["machine"]["image"]["version"].clone()
    };
    assert_eq!(version(&call), "1877.0.0");
    let (mut call, _) = call.running();
    assert_eq!(version(&call), json!(null));
    let gardener = &mut call.input.as_mut().unwrap()["gardener"];
    gardener["maintenance"]["autoUpdate"]["machineImageVersion"] = json!(false);
    assert_eq!(version(&call), "1877.0.0");
}
