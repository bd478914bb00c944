//! Logs that outlast their pods.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use super::*;

/// The volumes that are claimed.
fn claims(cluster: &Cluster) -> Vec<&str> {
    cluster.all::<PersistentVolumeClaim>().into_keys().collect()
}

/// Where a pod mounts the volume of the logs.
fn mounted<'a>(pod: &'a Value, claim: &str) -> Option<&'a Value> {
    let volumes = pod["volumes"].as_array()?;
    let of_claim = |volume: &&Value| volume["persistentVolumeClaim"]["claimName"] == claim;
    let name = &volumes.iter().find(of_claim)?["name"];
    let mounts = pod["containers"][0]["volumeMounts"].as_array()?;
    let mount = mounts.iter().find(|mount| mount["name"] == *name)?;
    Some(&mount["mountPath"])
}

#[test]
fn logs_are_on_a_volume_that_outlasts_the_tempest() {
    let mut cluster = given();
    change(
        &mut cluster,
        &json!({ "logs": { "size": "2Gi", "storageClass": "fast" } }),
    );
    cluster.settle(&TEMPEST, "tempest");
    let claim = cluster.all::<PersistentVolumeClaim>()["tempest-logs"];
    assert_eq!(
        claim["spec"],
        json!({
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "2Gi" } },
        })
    );
    assert_eq!(claim["metadata"]["ownerReferences"], json!(null));
    let jobs = cluster.all::<Job>().into_values();
    let pods = jobs.map(|job| &job["spec"]["template"]["spec"]);
    let scheduled = &scheduled(&cluster)["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let pods: Vec<_> = pods.chain([scheduled]).collect();
    assert_eq!(pods.len(), 2);
    for pod in pods {
        let path = mounted(pod, "tempest-logs");
        assert_eq!(path, Some(&json!("/var/log/tempest")), "{pod}");
    }

    change(&mut cluster, &json!({ "logs": null }));
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(claims(&cluster), ["tempest-logs"]);
}

#[test]
fn tempest_without_logs_has_no_volume() {
    let mut cluster = given();
    cluster.settle(&TEMPEST, "tempest");
    assert_eq!(claims(&cluster), Vec::<&str>::new());
}

#[test]
fn operator_deletes_no_logs() {
    let uses = TEMPEST.uses().into_iter();
    let volumes = uses.filter(|used| used.kind == PersistentVolumeClaim::KIND);
    let access: Vec<_> = volumes.map(|used| used.access).collect();
    assert_eq!(access, [provider_composer::Access::Keeps]);
}
