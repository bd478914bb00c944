//! What stays of a cell that is removed while it has hosts.

use std::collections::BTreeSet;

use c5c3_api::credential_rotation::CredentialRotationSpec;
use c5c3_api::nova::NovaSpec;
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::Custom;
use provider_openstack_fixtures::{Cluster, documents};
use serde_json::json;

use crate::{NOVA, add_cell2, change, configuration, replace_application_credential, running};

const CONDUCTOR: &str = "nova-cell2-conductor";

/// Removes the second cell, whose hosts Nova finds.
fn remove_cell2(cluster: &mut Cluster) {
    change(cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }]);
    });
    settle(cluster, &[]);
}

/// Reconciles until nothing changes any more, while Nova refuses to delete cells and the second's conductor reports these numbers of pods.
fn settle(cluster: &mut Cluster, pods: &[(&str, u32)]) {
    for _ in 0..12 {
        cluster.compose(&NOVA, "nova").unwrap();
        let all = cluster.all::<Job>();
        let refused = all.iter().filter(|(_, job)| {
            let task = &job["metadata"]["labels"]["c5c3.io/task"];
            task == "cell-delete" && job["status"].is_null()
        });
        let refused: Vec<String> = refused.map(|(name, _)| (*name).to_owned()).collect();
        for name in refused {
            cluster.finish_job(&name, "Failed");
        }
        cluster.simulate();
        cluster.change::<Deployment>(CONDUCTOR, |conductor| {
            for (field, number) in pods {
                conductor["status"][*field] = json!(number);
            }
        });
    }
}

/// The Secrets with files of Nova.
fn files(cluster: &Cluster) -> BTreeSet<String> {
    let secrets = cluster.all::<Secret>().into_iter();
    let files = secrets.filter(|(_, secret)| {
        let labels = &secret["metadata"]["labels"];
        labels["c5c3.io/files"] == "config"
    });
    files.map(|(name, _)| name.to_owned()).collect()
}

/// The Secrets with files that pods of the second cell mount.
fn mounted(cluster: &Cluster) -> BTreeSet<String> {
    let pods = [CONDUCTOR, "nova-cell2-novncproxy"];
    let volumes = pods.into_iter().flat_map(|name| {
        let deployment = cluster.get::<Deployment>(name).unwrap();
        let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array();
        volumes.into_iter().flatten()
    });
    let secrets = volumes.filter_map(|volume| volume["secret"]["secretName"].as_str());
    let files = secrets.filter(|name| name.starts_with("nova-config-"));
    files.map(str::to_owned).collect()
}

#[rstest::rstest]
#[case::whose_conductor_runs(&[], true)]
#[case::whose_conductor_is_unavailable(&[("availableReplicas", 0)], true)]
#[case::whose_conductor_rolls(&[("updatedReplicas", 0)], false)]
fn removed_cell_keeps_the_files_that_its_pods_mount(
    #[case] pods: &[(&str, u32)],
    #[case] others_go: bool,
) {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    remove_cell2(&mut cluster);
    settle(&mut cluster, pods);
    let before = files(&cluster);
    let used = mounted(&cluster);
    assert!(!used.is_empty() && used.is_subset(&before), "{before:?}");

    for filters in ["ComputeFilter", "ImagePropertiesFilter"] {
        change(&mut cluster, |spec| {
            spec["extraConfig"] = json!({ "filter_scheduler": { "enabled_filters": filters } });
        });
        settle(&mut cluster, pods);
    }
    let after = files(&cluster);
    assert_ne!(after, before);
    assert_eq!(mounted(&cluster), used);
    assert!(used.is_subset(&after), "{after:?}");
    assert_eq!(
        after.len() == before.len(),
        others_go,
        "{before:?} {after:?}"
    );
}

/// The cell's Secret isn't composed again, so its hypervisors don't get the next one.
#[test]
fn application_credential_that_a_removed_cell_has_stays_in_use() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    remove_cell2(&mut cluster);
    let configuration = configuration(&cluster, "cell2");
    change(&mut cluster, |spec| {
        spec["agents"] = json!([{ "name": "hv-pool-b", "configuration": configuration }]);
    });
    let configured = |cluster: &mut Cluster| {
        settle(cluster, &[]);
        cluster.condition(&NOVA, "nova", "ComputesConfigured").0
    };
    assert_eq!(configured(&mut cluster), "True");

    replace_application_credential(&mut cluster);
    assert_eq!(configured(&mut cluster), "False");
    let nova = cluster.get::<Custom<NovaSpec>>("nova").unwrap();
    assert_eq!(nova["status"]["applicationCredential"], "1f2e");
}

#[rstest::rstest]
#[case::of_its_database("databaseUser", "nova-cell2-db-credentials-2")]
#[case::of_its_message_bus("messagingUser", "nova-cell2-rabbitmq-credentials-2")]
fn rotated_secret_of_a_removed_cell_stays_until_the_cell_is_deleted(
    #[case] type_: &str,
    #[case] secret: &str,
) {
    let mut cluster = Cluster::with_infrastructure();
    cluster.keystone(true);
    cluster.put_document::<Custom<NovaSpec>>(documents::NOVA);
    change(&mut cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }, { "name": "cell2" }]);
    });
    cluster.settle(&NOVA, "nova");
    cluster.put::<Custom<CredentialRotationSpec>>(
        "nova",
        json!({
            "spec": { "targetServiceUser": "nova", "rotationType": type_ },
            "status": { "nextCredentialRef": { "name": "nova-2" } },
        }),
    );
    cluster.settle(&NOVA, "nova");
    let generated = cluster.get::<Secret>(secret).cloned();
    assert!(generated.is_some());

    remove_cell2(&mut cluster);
    assert_eq!(cluster.get::<Secret>(secret).cloned(), generated);

    // The next attempt succeeds.
    cluster.wait(SignedDuration::from_mins(11));
    cluster.settle(&NOVA, "nova");
    assert!(cluster.get::<Deployment>(CONDUCTOR).is_none());
    assert_eq!(cluster.get::<Secret>(secret), None);
}
