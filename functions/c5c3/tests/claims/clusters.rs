//! The clusters a platform team claims: Shoot, access, Ceph, consumers.

use function_c5c3_fixtures::{Call, Outcome, text, well, yaml};
use rstest::rstest;
use serde_json::{Value, json};

use super::admission::asking;

pub(crate) fn pool(file: &str) -> Call {
    let claim = yaml(&format!("examples/pools/{file}.yaml")).remove(0);
    let input = match text(&claim, "/kind").as_str() {
        "ControlPlaneCluster" => "controlplane-production",
        "HypervisorCluster" => "hypervisor-pool",
        _ => "storage-pool",
    };
    Call::of(claim, input)
}

fn running(file: &str) -> (Call, Outcome) {
    pool(file).running()
}

#[rstest]
#[case("control-plane")]
#[case("hv-pool-a")]
#[case("hv-pool-b")]
#[case("hv-pool-compliance")]
#[case("st-pool-a")]
#[case("st-pool-b")]
#[case("st-pool-encrypted")]
fn every_example_gives_the_whole_response_that_is_on_file(#[case] file: &str) {
    let (_, outcome) = running(file);
    insta::assert_yaml_snapshot!(
        file,
        json!({
            "desired": outcome.desired, "ready": outcome.ready, "status": outcome.status,
            "conditions": outcome.conditions, "events": outcome.events,
            "compositeReady": outcome.composite_ready,
        })
    );
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
            0,
            1,
            {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
        ])
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
fn clusters_have_node_addresses_of_their_own() {
    let files = [
        "control-plane",
        "hv-pool-a",
        "hv-pool-b",
        "hv-pool-compliance",
        "st-pool-a",
        "st-pool-b",
        "st-pool-encrypted",
    ];
    let nodes = files.map(|file| text(&pool(file).run().status, "/network/nodes"));
    assert_eq!(
        nodes,
        [
            "10.229.192.0/20",
            "10.180.160.0/20",
            "10.153.112.0/20",
            "10.188.64.0/20",
            "10.202.144.0/20",
            "10.217.0.0/20",
            "10.216.160.0/20"
        ]
    );
}

#[rstest]
#[case("control-plane")]
#[case("hv-pool-a")]
#[case("st-pool-a")]
fn shoot_has_the_networks_of_its_claim_for_good(#[case] file: &str) {
    let network =
        json!({"nodes": "10.20.0.0/24", "pods": "10.21.0.0/16", "services": "10.22.0.0/16"});
    let mut call = pool(file);
    call.composite["spec"]["network"] = network.clone();
    let (mut call, outcome) = call.running();
    let mut networking = network.clone();
    networking["type"] = json!("calico");
    assert_eq!(outcome.manifest("shoot")["spec"]["networking"], networking);
    assert_eq!(outcome.status["network"], network);
    call.composite["spec"]["network"] = json!({});
    call.input.as_mut().unwrap()["gardener"]["networking"]["pods"] = json!("10.99.0.0/16");
    assert_eq!(
        call.run().manifest("shoot")["spec"]["networking"],
        networking
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
        "Gardener gave up: no machines left"
    );
}

/// A running storage pool of 10 hosts with 30 disks each, asked to become smaller.
fn resized(workers: u32, osds: Option<u32>) -> (Value, (String, String, String)) {
    let (call, before) = running("st-pool-a");
    let status = |name: &str, manifest: &Value| {
        let mut status = well(name, manifest);
        if let ("CephCluster", Some(osds)) = (text(manifest, "/kind").as_str(), osds) {
            status["storage"] = json!({"osd": {"storeType": {"bluestore": osds}}});
        }
        status
    };
    let mut call = call.applied(&before, status);
    call.composite["spec"]["workers"] = json!(workers);
    let outcome = call.run();
    let groups = groups(&outcome);
    let sizes = groups
        .as_array()
        .into_iter()
        .flatten()
        .map(|group| group[2].clone());
    (sizes.collect(), outcome.conditions["SizeAccepted"].clone())
}

#[test]
fn storage_pool_keeps_hosts_that_hold_data() {
    let message = |least| {
        format!(
            "spec.workers is 6, and {least} hosts hold data or are needed for copies; the pool keeps 10: remove the OSDs of \
             the other hosts from Ceph first, or raise spec.workers"
        )
    };
    let refused = |least| {
        (
            "False".to_owned(),
            "TooFewWorkers".to_owned(),
            message(least),
        )
    };
    let accepted = ("True".to_owned(), "SizeAccepted".to_owned(), String::new());
    assert_eq!(resized(6, Some(300)), (json!([4, 3, 3]), refused(10)));
    assert_eq!(resized(6, Some(181)), (json!([4, 3, 3]), refused(7)));
    assert_eq!(
        resized(6, None),
        (json!([4, 3, 3]), refused(10)),
        "nothing is known of the disks"
    );
    assert_eq!(resized(6, Some(180)), (json!([2, 2, 2]), accepted.clone()));
    assert_eq!(resized(12, None), (json!([4, 4, 4]), accepted));
}

#[test]
fn hypervisor_pool_keeps_its_size_when_a_smaller_one_is_refused() {
    let claims = [("t/one", "01", 1), ("t/two", "01", 1), ("t/three", "01", 1)];
    let (call, before) = asking("hv-pool-b", &claims).running();
    let mut call = call.applied(&before, well);
    call.composite["spec"]["workers"] = json!(3);
    assert_eq!(groups(&call.run())[0][2], 100);
    call.composite["spec"]["workers"] = json!(5);
    assert_eq!(groups(&call.run())[0][2], 5);
}

#[test]
fn hypervisor_pool_never_exceeds_max_workers() {
    let claims = ["t/one", "t/two", "t/three", "t/four"].map(|claim| (claim, "01", 1));
    let mut call = asking("hv-pool-b", &claims);
    call.composite["spec"]["workers"] = json!(2);
    call.composite["spec"]["maxWorkers"] = json!(2);
    let group = &groups(&call.run())[0];
    assert_eq!((&group[2], &group[3]), (&json!(2), &json!(2)));
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

#[test]
fn ceph_has_the_disks_and_the_encryption_that_the_claim_asks_for() {
    let (_, outcome) = running("st-pool-encrypted");
    let set = &outcome.manifest("ceph")["spec"]["storage"]["storageClassDeviceSets"][0];
    assert_eq!(
        (set["count"].as_u64(), set["encrypted"].as_bool()),
        (Some(72), Some(true))
    );
    let template = &set["volumeClaimTemplates"][0];
    assert_eq!(
        template["metadata"]["annotations"]["crushDeviceClass"],
        "nvme"
    );
    assert_eq!(outcome.status["health"], "HEALTH_OK");
    assert_eq!(outcome.status["capacity"]["total"], "1048576Gi");
}

/// Names, zones, sizes and extension's configuration of a Shoot's groups of machines, but for those of the system.
fn groups(outcome: &Outcome) -> Value {
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
fn stretched_pool_has_nodes_in_two_zones_and_one_in_the_arbiters() {
    let mut call = pool("st-pool-a");
    call.composite["spec"]["arbiterCluster"] = json!("arbiter-eu-de-1");
    let outcome = call.run();
    let outcome = call.applied(&outcome, well).run();
    let labels = |zone| server_labels("ironcore-baremetal-storage", zone);
    assert_eq!(
        groups(&outcome),
        json!([
            ["storage-az-1", ["eu-de-1a"], 5, 5, labels("eu-de-1a")],
            ["storage-az-2", ["eu-de-1b"], 5, 5, labels("eu-de-1b")],
            ["arbiter", ["eu-de-1c"], 1, 1, labels("eu-de-1c")],
        ])
    );
    assert_eq!(
        outcome.manifest("ceph")["spec"]["mon"],
        json!({"count": 5, "allowMultiplePerNode": false, "stretchCluster": {
            "failureDomainLabel": "topology.kubernetes.io/zone", "subFailureDomain": "host",
            "zones": [{"name": "eu-de-1c", "arbiter": true}, {"name": "eu-de-1a"}, {"name": "eu-de-1b"}],
        }})
    );
    assert_eq!(outcome.status["zones"], json!(["eu-de-1a", "eu-de-1b"]));
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

#[test]
fn pool_whose_zone_is_changed_says_that_machines_do_not_move() {
    let (mut call, _) = running("hv-pool-a");
    call.composite["spec"]["labels"]["availability-zone"] = json!("az-2");
    assert_eq!(
        call.run().fatal.as_deref(),
        Some(
            "the machines of group hypervisor are in eu-de-1a, and the claim and the Composition's input want them in \
             eu-de-1b; machines don't move, so restore the zone or make a new pool"
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

#[test]
fn storage_over_three_zones_spreads_monitors_over_them() {
    let (_, outcome) = running("st-pool-a");
    assert_eq!(
        outcome.manifest("ceph")["spec"]["mon"],
        json!({"count": 3, "allowMultiplePerNode": false, "failureDomainLabel": "topology.kubernetes.io/zone",
            "zones": [{"name": "eu-de-1a"}, {"name": "eu-de-1b"}, {"name": "eu-de-1c"}]})
    );
    assert_eq!(
        outcome.status["zones"],
        json!(["eu-de-1a", "eu-de-1b", "eu-de-1c"])
    );
}

#[rstest]
#[case::two_zones(json!({"az-1": "a", "az-2": "b"}), json!(null),
    "the pool has two zones, and the loss of either could stop Ceph; label it availability-zone for one zone, or add a \
     third zone to gardener.zones of the Composition's input")]
#[case::stretched(json!({"az-1": "a", "az-2": "b"}), json!("arbiter"),
    "spec.arbiterCluster stretches the pool over two zones, with a third for the monitor that breaks ties, and the pool has \
     2; remove the label availability-zone, or add zones to gardener.zones of the Composition's input")]
fn storage_over_two_zones_alone_is_refused(
    #[case] zones: Value,
    #[case] arbiter: Value,
    #[case] sentence: &str,
) {
    let mut call = pool("st-pool-a");
    call.input.as_mut().unwrap()["gardener"]["zones"]["eu-de-1"] = zones;
    call.composite["spec"]["arbiterCluster"] = arbiter;
    assert_eq!(call.run().fatal.as_deref(), Some(sentence));
}

#[rstest]
#[case(false)]
#[case(true)]
fn ceph_is_reached_at_its_nodes_addresses(#[case] encrypted: bool) {
    let mut call = pool("st-pool-a");
    call.composite["spec"]["ceph"]["encryptedInTransit"] = json!(encrypted);
    let (_, outcome) = call.running();
    assert_eq!(
        outcome.manifest("ceph")["spec"]["network"],
        json!({
            "provider": "host",
            "connections": {"requireMsgr2": true, "encryption": {"enabled": encrypted}},
        })
    );
}

#[test]
fn a_target_that_the_disks_do_not_reach_is_said() {
    let mut call = pool("st-pool-a");
    call.composite["spec"]["ceph"]["targetCapacity"] = json!("2Pi");
    let outcome = call.run();
    let (status, reason, message) = &outcome.conditions["CapacityPlanned"];
    assert_eq!((status.as_str(), reason.as_str()), ("False", "TooFewDisks"));
    assert_eq!(
        message,
        "2Pi take 1173 disks of 1788 GiB, and 10 nodes with 30 each have 300; raise spec.workers or spec.ceph.osdCount"
    );
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
