//! The clusters a platform team claims: Shoot, access, Ceph, consumers.

mod machines;
mod networks;
mod requirements;
mod running;
mod shoot;
mod storage;

use function_c5c3_fixtures::{Call, Outcome, difference, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

pub(crate) fn pool(file: &str) -> Call {
    Call::of_pool(file)
}

pub(super) fn running(file: &str) -> (Call, Outcome) {
    pool(file).running()
}

/// The whole response for an example.
fn response(file: &str) -> Value {
    let (_, outcome) = running(file);
    json!({
        "desired": outcome.desired, "ready": outcome.ready, "status": outcome.status,
        "conditions": outcome.conditions, "events": outcome.events,
        "compositeReady": outcome.composite_ready,
    })
}

#[rstest]
#[case("control-plane")]
#[case("hv-pool-a")]
#[case("st-pool-a")]
fn example_of_a_kind_gives_the_whole_response_that_is_on_file(#[case] file: &str) {
    insta::assert_yaml_snapshot!(file, response(file));
}

#[rstest]
#[case("hv-pool-b", "hv-pool-a")]
#[case("hv-pool-compliance", "hv-pool-a")]
#[case("st-pool-b", "st-pool-a")]
#[case("st-pool-encrypted", "st-pool-a")]
fn example_gives_another_response_than_the_first_of_its_kind(
    #[case] file: &str,
    #[case] first: &str,
) {
    insta::assert_yaml_snapshot!(file, difference(&response(first), &response(file)));
}

#[rstest]
#[case("control-plane", &["access", "shoot"])]
#[case("hv-pool-a", &["access", "pool", "shoot"])]
#[case("st-pool-a", &["access", "ceph", "shoot"])]
fn a_cluster_becomes_ready_step_by_step(#[case] file: &str, #[case] objects: &[&str]) {
    let first = pool(file).run();
    assert_eq!(
        first.objects(),
        ["access", "shoot"],
        "what is inside waits for the Shoot"
    );
    assert_eq!(first.status["phase"], "Provisioning");
    assert_eq!(first.composite_ready, Some(false));
    let (_, last) = running(file);
    assert_eq!(last.objects(), objects);
    assert_eq!(last.status["phase"], "Ready");
    assert_eq!(last.composite_ready, Some(true));
}

/// By default Gardener deletes a machine after two hours, whatever runs on it.
#[rstest]
#[case::hypervisors("hv-pool-a", "ManualInPlaceUpdate")]
#[case::hypervisors_that_are_replaced("hv-pool-a", "AutoRollingUpdate")]
#[case::disks("st-pool-a", "AutoInPlaceUpdate")]
fn gardener_waits_for_servers_and_disks(#[case] file: &str, #[case] strategy: &str) {
    let mut call = pool(file);
    let gardener = &mut call.input.as_mut().unwrap()["gardener"];
    gardener["updateStrategy"] = json!(strategy);
    let outcome = call.run();
    let workers = &outcome.manifest("shoot")["spec"]["provider"]["workers"];
    let settings = &workers[0]["machineControllerManager"];
    assert_eq!(settings["machineDrainTimeout"], "8760h");
    // Every 20 seconds for as long.
    assert_eq!(settings["maxEvictRetries"], 8760 * 60 * 60 / 20);
}

#[rstest]
#[case::of_a_control_plane("control-plane", "control-plane")]
#[case::beside_hypervisors("hv-pool-a", "system")]
fn machines_without_servers_or_disks_are_drained_as_gardener_does(
    #[case] file: &str,
    #[case] group: &str,
) {
    let outcome = pool(file).run();
    let workers = &outcome.manifest("shoot")["spec"]["provider"]["workers"];
    let mut workers = workers.as_array().unwrap().iter();
    let worker = workers.find(|worker| worker["name"] == group).unwrap();
    assert_eq!(worker["machineControllerManager"], Value::Null);
}

/// Gardener's default is ten minutes, but for machines that are updated in place.
#[rstest]
#[case("ManualInPlaceUpdate", Value::Null)]
#[case("AutoRollingUpdate", json!("8760h"))]
fn bare_metal_outlasts_a_node_that_is_not_ready(#[case] strategy: &str, #[case] timeout: Value) {
    let mut call = pool("st-pool-a");
    let gardener = &mut call.input.as_mut().unwrap()["gardener"];
    gardener["updateStrategy"] = json!(strategy);
    let outcome = call.run();
    let worker = &outcome.manifest("shoot")["spec"]["provider"]["workers"][0];
    assert_eq!(worker["updateStrategy"], strategy);
    assert_eq!(
        worker["machineControllerManager"]["machineHealthTimeout"],
        timeout
    );
}

#[test]
fn only_agents_run_on_hypervisors_where_there_are_other_machines() {
    let mut call = pool("hv-pool-a");
    let facts = |call: &Call| {
        let outcome = call.run();
        let workers = outcome.manifest("shoot")["spec"]["provider"]["workers"].clone();
        let worker = |worker: &Value| {
            let parts = ["name", "taints", "systemComponents", "minimum", "maximum"];
            let mut parts = parts.map(|part| worker[part].clone()).to_vec();
            parts.push(worker["updateStrategy"].clone());
            parts.push(worker["providerConfig"]["extraServerLabels"].clone());
            Value::Array(parts)
        };
        workers
            .as_array()
            .unwrap()
            .iter()
            .map(worker)
            .collect::<Value>()
    };
    let hypervisors = server_labels("ironcore-baremetal-kvm", "eu-de-1a");
    let system = server_labels("system", "eu-de-1a");
    let taint = json!([{"key": "node-role.kubernetes.io/hypervisor", "effect": "NoSchedule"}]);
    assert_eq!(
        facts(&call),
        json!([
            ["hypervisor", taint, {"allow": false}, 50, 100, "ManualInPlaceUpdate", hypervisors],
            ["system", null, null, 2, 3, "AutoRollingUpdate", system],
        ])
    );

    let gardener = call.input.as_mut().unwrap()["gardener"].as_object_mut();
    gardener.unwrap().remove("systemMachines");
    assert_eq!(
        facts(&call),
        json!([[
            "hypervisor",
            null,
            null,
            50,
            100,
            "ManualInPlaceUpdate",
            hypervisors
        ]])
    );
}

/// A cluster's provider configuration has its name, and would replace the site's own.
#[rstest]
#[case::gardener("gardener")]
#[case::management("management")]
#[case::of_the_input("landscape")]
fn cluster_called_like_a_provider_configuration_of_the_site_is_refused(#[case] name: &str) {
    let mut call = pool("control-plane");
    call.input.as_mut().unwrap()["gardener"]["providerConfig"] = json!(match name {
        "landscape" => "landscape",
        _ => "gardener",
    });
    call.composite["metadata"]["labels"]["crossplane.io/claim-name"] = json!(name);
    let outcome = call.run();
    let message = format!(
        "the name {name} is that of a provider configuration of the site; choose another name"
    );
    assert_eq!(outcome.fatal, Some(message));
    assert_eq!(outcome.desired.len(), 0);
}

#[test]
fn settings_of_a_hypervisor_pool_have_what_its_nodes_reserve() {
    let (mut call, _) = running("hv-pool-a");
    let reserved = json!({"memoryMB": 16384, "diskMB": 20480});
    call.composite["spec"]["systemReserved"] = reserved.clone();
    let settings = call.run().manifest("pool")["spec"].clone();
    assert_eq!(settings["systemReserved"], reserved);
}

#[test]
fn settings_of_a_hypervisor_pool_have_the_registry_of_its_images() {
    let (mut call, _) = running("hv-pool-a");
    let images = json!({ "registry": "registry.example.com:5000/mirror" });
    call.input.as_mut().unwrap()["agentImages"] = images.clone();
    let settings = call.run().manifest("pool")["spec"].clone();
    assert_eq!(settings["images"], images);
}

#[test]
fn settings_of_a_hypervisor_pool_have_the_interfaces_of_physical_networks() {
    let (mut call, _) = running("hv-pool-a");
    let networks = json!([{ "name": "physnet1", "bridge": "br-ex", "interface": "bond1" }]);
    call.composite["spec"]["network"]["physicalNetworks"] = networks.clone();
    let settings = call.run().manifest("pool")["spec"].clone();
    assert_eq!(settings["physicalNetworks"], networks);
}

#[test]
fn a_pool_being_changed_by_gardener_can_be_consumed() {
    let (call, outcome) = running("hv-pool-a");
    let scaling = |name: &str, manifest: &Value| match name {
        "shoot" => {
            json!({"lastOperation": {"type": "Reconcile", "state": "Processing", "progress": 40}})
        }
        _ => well(name, manifest),
    };
    assert_eq!(
        call.applied(&outcome, scaling).run().status["phase"],
        "Scaling"
    );
}

/// Names, zones, sizes and extension's configuration of a Shoot's groups of machines, but for those of the system.
pub(super) fn groups(outcome: &Outcome) -> Value {
    let workers = &outcome.manifest("shoot")["spec"]["provider"]["workers"];
    let group = |worker: &Value| {
        json!([
            worker["name"],
            worker["zones"],
            worker["minimum"],
            worker["maximum"],
            worker["providerConfig"]["extraServerLabels"],
        ])
    };
    workers
        .as_array()
        .into_iter()
        .flatten()
        .filter(|worker| !worker["name"].as_str().is_some_and(is_system))
        .map(group)
        .collect()
}

fn is_system(group: &str) -> bool {
    group.starts_with("system")
}

fn server_labels(machine_pool: &str, zone: &str) -> Value {
    json!({"metal.c5c3.io/machine-pool": machine_pool, "topology.kubernetes.io/zone": zone})
}

#[test]
fn pool_takes_machines_of_its_machine_pool_in_its_zone_alone() {
    assert_eq!(
        groups(&pool("hv-pool-a").run()),
        json!([[
            "hypervisor",
            ["eu-de-1a"],
            50,
            100,
            server_labels("ironcore-baremetal-kvm", "eu-de-1a")
        ]])
    );
}

#[test]
fn pool_without_a_zone_has_a_group_of_machines_in_each() {
    let labels = |zone| server_labels("ironcore-dedicated-rack-1", zone);
    assert_eq!(
        groups(&pool("hv-pool-compliance").run()),
        json!([
            ["hypervisor-az-1", ["eu-de-1a"], 7, 7, labels("eu-de-1a")],
            ["hypervisor-az-2", ["eu-de-1b"], 7, 7, labels("eu-de-1b")],
            ["hypervisor-az-3", ["eu-de-1c"], 6, 6, labels("eu-de-1c")],
        ])
    );
}

#[test]
fn machines_stay_where_they_are_when_the_input_changes() {
    let (mut call, before) = running("hv-pool-compliance");
    let gardener = &mut call.input.as_mut().unwrap()["gardener"];
    gardener["zones"]["eu-de-1"] = json!({"az-7": "x", "az-8": "y", "az-9": "z"});
    gardener["workerConfig"]["extraServerLabels"]["new"] = json!("{zone}{machinePool}");
    gardener["updateStrategy"] = json!("AutoRollingUpdate");
    let after = call.run();
    assert_eq!(
        after.manifest("shoot")["spec"]["provider"]["workers"],
        before.manifest("shoot")["spec"]["provider"]["workers"]
    );
}

#[rstest]
#[case("az-1", "hypervisor-az-2 are in eu-de-1b", "eu-de-1a")]
#[case("az-2", "hypervisor-az-1 are in eu-de-1a", "eu-de-1b")]
fn pool_over_several_zones_is_refused_when_its_label_names_one(
    #[case] label: &str,
    #[case] machines: &str,
    #[case] zone: &str,
) {
    let (mut call, _) = running("hv-pool-compliance");
    call.composite["spec"]["labels"]["availability-zone"] = json!(label);
    let fatal = call.run().fatal.unwrap();
    let begins = format!(
        "the machines of group {machines}, and the claim and the Composition's input want them in {zone}; machines don't move"
    );
    assert!(fatal.starts_with(&begins), "{fatal}");
}

#[test]
fn pool_whose_zone_is_changed_says_that_machines_do_not_move() {
    let (mut call, _) = running("hv-pool-a");
    call.composite["spec"]["labels"]["availability-zone"] = json!("az-2");
    assert_eq!(
        call.run().fatal.as_deref(),
        Some(
            "the machines of group hypervisor are in eu-de-1a, and the claim and the Composition's input want them in \
             eu-de-1b; machines don't move, so restore the zone or create another pool"
        )
    );
}

#[rstest]
#[case("/composite/spec/region", json!("mars-1"),
    "spec.region is mars-1, and gardener.zones of the Composition's input has eu-de-1, us-east-1; use one of these or add \
     mars-1 to the input")]
#[case("/composite/spec/labels/availability-zone", json!("az-9"),
    "the label availability-zone is az-9, and gardener.zones of the Composition's input has az-1, az-2, az-3 for region \
     eu-de-1; use one of these or add az-9 to the input")]
#[case("/input/gardener/workerConfig/extraServerLabels", json!({"zone": "{zone}"}),
    "the Composition's input can't select the machines of a machine pool: put {machinePool} into \
     gardener.workerConfig")]
#[case("/input/gardener/workerConfig/extraServerLabels", json!({"pool": "{machinePool}"}),
    "the Composition's input can't select the machines of a zone: put {zone} into gardener.workerConfig")]
fn machines_that_cannot_be_selected_are_refused(
    #[case] field: &str,
    #[case] value: Value,
    #[case] sentence: &str,
) {
    let mut call = pool("hv-pool-a");
    let mut everything = json!({"composite": call.composite, "input": call.input});
    *everything.pointer_mut(field).unwrap() = value;
    call.composite = everything["composite"].take();
    call.input = Some(everything["input"].take());
    assert_eq!(call.run().fatal.as_deref(), Some(sentence));
}

#[rstest]
#[case::name("hv-pool-a", "/spec/name", json!("other"),
    "spec.name is other, and the resource is called hv-pool-a; make them the same")]
#[case::hosts("st-pool-a", "/spec/workers", json!(2),
    "spec.workers is 2; monitors and copies each want a host of their own, so choose at least 3")]
#[case::vlans("hv-pool-a", "/spec/network", json!({"physicalNetworks": [{"name": "p", "bridge": "b", "vlanRange": "9-1"}]}),
    "spec.network.physicalNetworks")]
fn a_mistake_in_the_claim_is_one_sentence(
    #[case] file: &str,
    #[case] field: &str,
    #[case] value: Value,
    #[case] sentence: &str,
) {
    let mut call = pool(file);
    let (parent, key) = field.rsplit_once('/').unwrap();
    call.composite.pointer_mut(parent).unwrap()[key] = value;
    let outcome = call.run();
    let fatal = outcome.fatal.unwrap();
    assert!(fatal.starts_with(sentence), "{fatal}");
    assert!(outcome.desired.is_empty());
}

#[test]
fn a_namespaced_pool_carries_its_provider_configuration_in_an_object() {
    let mut call = pool("hv-pool-a");
    call.composite = yaml("examples/pools/hv-pool-a.yaml").remove(0);
    let mut outcome = call.run();
    let access = &outcome.desired["access"];
    assert_eq!(access["kind"], "Object");
    assert_eq!(access["spec"]["providerConfigRef"]["name"], "management");
    let config = outcome.manifest("access");
    assert_eq!(config["kind"], "ClusterProviderConfig");
    assert_eq!(
        config["spec"]["credentials"]["secretRef"]["name"],
        "hv-pool-a-kubeconfig"
    );
    assert_eq!(
        config["metadata"]["finalizers"],
        json!(["in-use.crossplane.io"])
    );
    let nothing = |name: &str, manifest: &Value| match name {
        "access" => json!({}),
        _ => well(name, manifest),
    };
    for _ in 0..3 {
        call = call.applied(&outcome, nothing);
        outcome = call.run();
    }
    assert_eq!(outcome.composite_ready, Some(true), "{:?}", outcome.ready);
}
