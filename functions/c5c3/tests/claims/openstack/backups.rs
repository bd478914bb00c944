//! Backups of volumes: a pool, a user and a key of their own.

use function_c5c3_fixtures::{Call, Outcome, well};
use rstest::rstest;
use serde_json::{Value, json};

use super::{assert_order, call};

/// A claim that asks for backups like this.
fn asking(name: &str, backups: Value) -> Call {
    let mut call = call(name);
    let storage = &mut call.composite["spec"]["storage"];
    if storage.is_null() {
        *storage = json!({"ceph": {}});
    }
    storage["ceph"]["backupPool"] = backups;
    call
}

/// What the ControlPlane says of backups.
fn backup(outcome: &Outcome) -> &Value {
    &outcome.manifest("control-plane")["spec"]["services"]["cinder"]["backup"]
}

#[test]
fn backups_are_off_until_the_claim_asks_for_them() {
    let outcome = call("customer-a-prod").run();
    let disabled = json!({"enabled": false, "storageCluster": "st-pool-b", "quotaGB": 10});
    let same = asking("customer-a-prod", disabled).run();
    assert_eq!(same.desired, outcome.desired);
    assert_eq!(same.status, outcome.status);
    assert_eq!(*backup(&outcome), Value::Null);
    assert!(!outcome.desired.contains_key("backups-st-pool-a"));
}

#[test]
fn backups_have_a_pool_and_a_user_that_reaches_nothing_else() {
    let before = call("customer-a-prod").run();
    let outcome = asking(
        "customer-a-prod",
        json!({"enabled": true, "replication": 4}),
    )
    .run();
    let pool = outcome.manifest("backups-st-pool-a");
    assert_eq!(pool["metadata"]["name"], "customer-a-prod-backups");
    assert_eq!(pool["spec"]["replicated"]["size"], 4);
    assert_eq!(pool["spec"]["quotas"]["maxSize"], "50000G");
    assert_eq!(pool["spec"]["parameters"]["compression_mode"], "aggressive");
    assert_eq!(
        outcome.manifest("client-backup-st-pool-a")["spec"]["caps"],
        json!({
            "mgr": "profile rbd pool=customer-a-prod-backups",
            "mon": "profile rbd",
            "osd": "profile rbd pool=customer-a-prod-backups",
        })
    );
    for service in ["cinder", "glance", "nova"] {
        let client = format!("client-{service}-st-pool-a");
        assert_eq!(outcome.manifest(&client), before.manifest(&client));
    }
    assert_eq!(
        outcome.status["cephResources"]["backupPool"]["quotaBytes"],
        json!(50_000_000_000_000_u64)
    );
}

#[test]
fn backups_have_a_key_that_travels_as_those_of_other_users() {
    let outcome = asking("customer-a-prod", json!({"enabled": true})).run();
    let pushed = &outcome.manifest("push-backup-st-pool-a")["spec"];
    assert_eq!(
        pushed["selector"]["secret"]["name"],
        "rook-ceph-client-customer-a-prod-backup"
    );
    let path = &pushed["data"][0]["match"]["remoteRef"]["remoteKey"];
    assert_eq!(
        path,
        "openstack/eu-de-1-control-plane/openstack-customer-a-prod/ceph/st-pool-a/backup"
    );
    let pulled = outcome.manifest("pull-backup-st-pool-a");
    assert_eq!(pulled["metadata"]["name"], "ceph-backup-st-pool-a");
    assert_eq!(pulled["spec"]["data"][0]["remoteRef"]["key"], *path);
    assert_eq!(
        *backup(&outcome),
        json!({
            "replicas": 2,
            "rbd": {
                "pool": "customer-a-prod-backups",
                "cephSecretRef": {"name": "ceph-backup-st-pool-a"},
            },
            "snapshots": 1,
        })
    );
}

#[test]
fn backups_are_in_the_storage_pool_that_the_claim_names() {
    let elsewhere = json!({"enabled": true, "storageCluster": "st-pool-b"});
    let outcome = asking("internal-prod", elsewhere).run();
    assert!(!outcome.desired.contains_key("backups-st-pool-a"));
    assert!(!outcome.desired.contains_key("client-backup-st-pool-a"));
    let pool = outcome.manifest("backups-st-pool-b");
    assert_eq!(pool["spec"]["deviceClass"], "hdd");
    assert_eq!(
        backup(&outcome)["rbd"]["cephSecretRef"]["name"],
        "ceph-backup-st-pool-b"
    );
}

#[rstest]
#[case::as_much_as_volumes(json!({"volumesGB": 50}), 0, json!("50G"))]
#[case::what_the_site_allows(json!({"volumesGB": 50, "backupsGB": 70}), 0, json!("70G"))]
#[case::less_for_the_claim(json!({"volumesGB": 50, "backupsGB": 70}), 60, json!("60G"))]
#[case::no_more_for_the_claim(json!({"volumesGB": 50}), 60, json!("50G"))]
#[case::any_amount(json!({}), 0, Value::Null)]
fn backups_hold_what_site_and_claim_allow(
    #[case] limits: Value,
    #[case] quota: u64,
    #[case] composed: Value,
) {
    let mut call = asking(
        "customer-a-prod",
        json!({"enabled": true, "quotaGB": quota}),
    );
    call.input.as_mut().unwrap()["sizes"]["large"]["storage"] = limits;
    let outcome = call.run();
    let pool = outcome.manifest("backups-st-pool-a");
    assert_eq!(pool["spec"]["quotas"]["maxSize"], composed);
}

/// To Ceph, 0 would be no quota.
#[test]
fn backups_are_refused_where_the_site_allows_none_and_stay_limited_where_they_are() {
    let enabled = || asking("customer-a-prod", json!({"enabled": true}));
    let none = |call: &mut Call| {
        let limits = json!({"volumesGB": 50, "backupsGB": 0});
        call.input.as_mut().unwrap()["sizes"]["large"]["storage"] = limits;
    };
    let mut new = enabled();
    none(&mut new);
    let fatal = new.run().fatal.unwrap();
    assert!(
        fatal.starts_with("spec.storage.ceph.backupPool is enabled, and the site allows"),
        "{fatal}"
    );
    new.composite["spec"]["storage"] = json!({});
    assert_eq!(new.run().fatal, None);

    let mut limited = enabled();
    limited.input.as_mut().unwrap()["sizes"]["large"]["storage"] = json!({"backupsGB": 70});
    let (call, before) = limited.running();
    let mut call = call.applied(&before, well);
    none(&mut call);
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    let quota = |outcome: &Outcome| outcome.manifest("backups-st-pool-a")["spec"]["quotas"].clone();
    assert_eq!(quota(&outcome), json!({"maxSize": "70G"}));
}

#[test]
fn backups_have_the_resources_and_snapshots_that_the_size_says() {
    let mut call = asking("customer-b-staging", json!({"enabled": true}));
    let resources = json!({"requests": {"memory": "1Gi"}});
    let copier = json!({"replicas": 3, "resources": resources, "snapshots": 7});
    call.input.as_mut().unwrap()["sizes"]["small"]["services"]["cinder"]["backup"] = copier;
    let outcome = call.run();
    assert_eq!(outcome.fatal, None);
    assert_eq!(backup(&outcome)["replicas"], 3);
    assert_eq!(backup(&outcome)["resources"], resources);
    assert_eq!(backup(&outcome)["snapshots"], 7);
    call.composite["spec"]["storage"] = json!({});
    assert_eq!(*backup(&call.run()), Value::Null);
}

#[test]
fn backups_are_deleted_before_the_control_plane_and_their_storage_pool() {
    let (_, outcome) = asking("customer-a-prod", json!({"enabled": true})).running();
    assert_eq!(outcome.status["phase"], "Ready");
    assert_order(&outcome);
    for usage in [
        "control-plane-until-backups-st-pool-a",
        "namespace-until-backups-st-pool-a",
        "st-pool-a-until-backups-st-pool-a",
        "client-backup-st-pool-a-until-control-plane",
        "pull-backup-st-pool-a-until-control-plane",
    ] {
        assert!(outcome.desired.contains_key(usage), "{usage}");
    }
}

/// Volumes stay in use while another owner has the name of the pool for backups.
#[test]
fn backups_whose_pool_has_another_owner_take_nothing_else_away() {
    let (call, before) = asking("customer-a-prod", json!({"enabled": true})).running();
    let mut call = call.applied(&before, well);
    let pool = call.observed.get_mut("backups-st-pool-a").unwrap();
    let theirs = pool.pointer_mut("/status/atProvider/manifest").unwrap();
    theirs["metadata"]["labels"]["c5c3.io/claim-uid"] = json!("other");
    theirs["metadata"]["annotations"]["c5c3.io/claim"] = json!("tenant-z/z");
    let outcome = call.run();
    assert_eq!(outcome.conditions["Accepted"].1, "NameTaken");
    assert_eq!(*backup(&outcome), Value::Null);
    let mut expected = before.manifest("control-plane").clone();
    let cinder = &mut expected["spec"]["services"]["cinder"];
    cinder.as_object_mut().unwrap().remove("backup");
    assert_eq!(*outcome.manifest("control-plane"), expected);
}
