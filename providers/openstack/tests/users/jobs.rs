//! Jobs that run while users replace each other.

use super::*;

/// A migration that runs, with the configuration that pods of the API have now.
fn start_job(cluster: &mut Cluster) {
    let api = cluster.get::<Deployment>("neutron");
    let api = api.cloned().unwrap_or_default();
    let mut labels = api["metadata"]["labels"].clone();
    labels["c5c3.io/phase"] = json!("sync");
    let pod = json!({ "volumes": api["spec"]["template"]["spec"]["volumes"] });
    let job = json!({
        "metadata": { "labels": labels },
        "spec": { "template": { "spec": pod } },
        "status": { "ready": 1 },
    });
    cluster.put::<Job>("neutron-task", job);
}

/// It may run for eight hours.
#[rstest]
fn rotation_does_not_wait_for_a_job_that_has_the_present_users(
    #[values(DATABASE, BUS)] type_: &str,
) {
    let mut cluster = running();
    let former = logins(&cluster, type_);
    begin_rotation(&mut cluster, type_);
    while logins(&cluster, type_) == former {
        cluster.compose(&NEUTRON, "neutron").unwrap();
        cluster.simulate();
    }
    assert_eq!(users(&cluster, type_), BOTH);
    start_job(&mut cluster);
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), SECOND);
    assert_eq!(status(&cluster, type_)["inUse"], 2);
    assert!(cluster.get::<Job>("neutron-task").is_some());
}

#[rstest]
fn users_stay_while_a_job_has_them(#[values(DATABASE, BUS)] type_: &str) {
    let mut cluster = running();
    start_job(&mut cluster);
    let mounted = config(&cluster).unwrap();
    begin_rotation(&mut cluster, type_);
    cluster.settle(&NEUTRON, "neutron");
    assert_ne!(config(&cluster).unwrap(), mounted);
    assert_eq!(users(&cluster, type_), BOTH);
    let kept = cluster.get::<Secret>(&mounted);
    assert!(kept.is_some(), "its next pod mounts it");

    cluster.finish_job("neutron-task", "Complete");
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), SECOND);
    assert!(cluster.get::<Secret>(&mounted).is_none());
}

#[rstest]
fn users_stay_while_pods_of_a_removed_part_terminate(
    #[values((DATABASE, "DatabaseUsersReplaced"), (BUS, "MessagingUsersReplaced"))]
    (type_, condition): (&str, &str),
) {
    let mut cluster = running();
    let api = cluster.get::<Deployment>("neutron");
    let labels = api.cloned().unwrap_or_default()["metadata"]["labels"].clone();
    cluster.put::<Deployment>(
        "neutron-former",
        json!({ "metadata": { "labels": labels } }),
    );
    begin_rotation(&mut cluster, type_);
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), BOTH);
    let (_, _, message) = cluster.condition(&NEUTRON, "neutron", condition);
    let waits = "waits for the former Deployment neutron-former, whose pods terminate";
    assert!(message.contains(waits), "{message}");

    cluster.delete::<Deployment>("neutron-former");
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(users(&cluster, type_), SECOND);
}
