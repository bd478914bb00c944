//! Ceph in a storage pool.

use super::*;

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

/// Ceph's daemons don't read what those of a later release have written.
#[test]
fn ceph_keeps_its_release_when_the_composition_returns_to_an_earlier_one() {
    let (mut call, outcome) = running("st-pool-a");
    let image =
        |outcome: &Outcome| outcome.manifest("ceph")["spec"]["cephVersion"]["image"].clone();
    let present = image(&outcome);
    let observed = call.observed.get_mut("ceph").unwrap();
    let ceph = &mut observed["status"]["atProvider"]["manifest"]["status"]["ceph"];
    ceph["versions"] = json!({"overall": {"ceph version 20.2.5 (5a1d0c) tentacle (stable)": 20}});
    call.input.as_mut().unwrap()["ceph"]["image"] = json!("mirror.example.com/ceph:v19.2.3");
    let held = call.run();
    assert_eq!(image(&held), present);
    let (status, _, message) = &held.conditions["CephReady"];
    assert_eq!(status, "True");
    assert!(
        message.contains("can't return to mirror.example.com/ceph:v19.2.3"),
        "{message}"
    );
    call.input.as_mut().unwrap()["ceph"]["image"] = json!("mirror.example.com/ceph:v99.2.0");
    let raised = call.run();
    assert_eq!(image(&raised), "mirror.example.com/ceph:v99.2.0");
    assert_eq!(raised.conditions["CephReady"].2, "");
}

#[rstest]
#[case::not_for_a_little("HEALTH_OK", 1025, "1024Gi")]
#[case::for_much("HEALTH_OK", 11_511, "11511Gi")]
#[case::with_the_health("HEALTH_WARN", 1025, "1025Gi")]
fn capacity_of_a_pool_is_reported_after_large_changes_and_with_the_health(
    #[case] health: &str,
    #[case] used: u64,
    #[case] said: &str,
) {
    let (mut call, outcome) = running("st-pool-a");
    assert_eq!(outcome.status["capacity"]["used"], "1024Gi");
    call.composite["status"] = outcome.status;
    let ceph = &mut call.observed.get_mut("ceph").unwrap()["status"]["atProvider"]["manifest"];
    let ceph = &mut ceph["status"]["ceph"];
    ceph["health"] = json!(health);
    ceph["capacity"]["bytesUsed"] = json!(used << 30);
    assert_eq!(call.run().status["capacity"]["used"], said);
}

#[rstest]
#[case::soon(
    "HEALTH_WARN",
    "True",
    "Ready",
    "Ceph reports HEALTH_WARN: OSD_NEARFULL, POOL_NEAR_FULL, TOO_MANY_PGS"
)]
#[case::now(
    "HEALTH_ERR",
    "False",
    "HealthError",
    "Ceph reports HEALTH_ERR: OSD_NEARFULL, POOL_NEAR_FULL, TOO_MANY_PGS"
)]
fn pool_without_room_is_named_in_its_condition(
    #[case] health: &str,
    #[case] status: &str,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let (mut call, _) = running("st-pool-a");
    let ceph = &mut call.observed.get_mut("ceph").unwrap()["status"]["atProvider"]["manifest"];
    let ceph = &mut ceph["status"]["ceph"];
    ceph["health"] = json!(health);
    let check = json!({"severity": health, "message": "some are"});
    let checks = ["SLOW_OPS", "TOO_MANY_PGS", "POOL_NEAR_FULL", "OSD_NEARFULL"];
    for name in checks {
        ceph["details"][name] = check.clone();
    }
    let expected: (String, String, String) = [status, reason, message].map(str::to_owned).into();
    assert_eq!(call.run().conditions["CephReady"], expected);
}

#[rstest]
#[case::at_first(json!({}), "Rook hasn't created the CephCluster yet")]
#[case::with_a_message(json!({"phase": "Progressing", "message": "Configuring Ceph OSDs"}),
    "CephCluster rook-ceph isn't Ready: Configuring Ceph OSDs")]
fn ceph_that_is_not_ready_has_the_message_of_rook(#[case] status: Value, #[case] said: &str) {
    let (call, before) = running("st-pool-a");
    let call = call.applied(&before, |name, manifest| match name {
        "ceph" => status.clone(),
        _ => well(name, manifest),
    });
    let expected: (String, String, String) = ["False", "Waiting", said].map(str::to_owned).into();
    assert_eq!(call.run().conditions["CephReady"], expected);
}

/// The condition of a pool whose Ceph has so many disks, with options that the platform team has set in the CephCluster.
fn placement_groups(osds: u32, options: &Value) -> (String, String, String) {
    let (mut call, _) = running("st-pool-a");
    let ceph = &mut call.observed.get_mut("ceph").unwrap()["status"]["atProvider"]["manifest"];
    ceph["spec"]["cephConfig"] = options.clone();
    ceph["status"]["storage"] = json!({"osd": {"storeType": {"bluestore": osds}}});
    call.run().conditions["PlacementGroupsAvailable"].clone()
}

#[rstest]
#[case::enough(45, json!(null), 250, 29)]
#[case::enough_with_a_higher_limit(1, json!({"global": {"mon_max_pg_per_osd": "400"}}), 400, 1)]
fn pool_says_for_how_many_claims_it_has_placement_groups(
    #[case] osds: u32,
    #[case] options: Value,
    #[case] limit: u32,
    #[case] claims: u32,
) {
    let message = format!(
        "{osds} OSDs with at most {limit} placement groups each (mon_max_pg_per_osd) have room for about {claims} claims of 4 pools \
         with 3 copies"
    );
    assert_eq!(
        placement_groups(osds, &options),
        ("True".to_owned(), "EnoughDisks".to_owned(), message)
    );
}

#[test]
fn pool_without_placement_groups_for_a_further_claim_says_what_to_do() {
    let (status, reason, message) = placement_groups(1, &json!(null));
    assert_eq!((status.as_str(), reason.as_str()), ("False", "TooFewDisks"));
    assert_eq!(
        message,
        "1 OSDs with at most 250 placement groups each (mon_max_pg_per_osd) have room for about 0 claims of 4 pools with 3 copies, and \
         the pool has 0 and admits up to 1000: Ceph may refuse the pools of further claims; the platform team adds disks, raises \
         mon_max_pg_per_osd in spec.cephConfig.global of the CephCluster, or lowers sharing.maxConsumers"
    );
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

/// The input with requests of OSDs above their limits.
fn with_wrong_amounts(mut call: Call) -> Call {
    let osd = json!({"requests": {"memory": "16Gi"}, "limits": {"memory": "8192Mi"}});
    if let Some(input) = &mut call.input {
        input["ceph"]["resources"]["osd"] = osd;
    }
    call
}

const WRONG_AMOUNTS: &str = "ceph.resources.osd of the Composition's input: requests.memory 16Gi is above limits.memory 8192Mi: raise \
                             the limit or lower the request";

#[test]
fn requests_of_ceph_above_its_limits_are_refused_of_a_new_pool() {
    let call = with_wrong_amounts(pool("st-pool-a"));
    assert_eq!(call.run().fatal.as_deref(), Some(WRONG_AMOUNTS));
}

#[test]
fn requests_of_ceph_above_its_limits_are_said_where_rook_does_not_run_it() {
    let (call, before) = running("st-pool-a");
    let call = with_wrong_amounts(call);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    assert_eq!(
        outcome.conditions["CephReady"],
        before.conditions["CephReady"]
    );

    let call = call.applied(&outcome, |name, manifest| match name {
        "ceph" => json!({"phase": "Progressing"}),
        _ => well(name, manifest),
    });
    let (status, reason, message) = &call.run().conditions["CephReady"];
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Invalid"));
    assert_eq!(message, WRONG_AMOUNTS);
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
