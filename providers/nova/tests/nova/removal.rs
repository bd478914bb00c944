//! What stays of a cell that is removed while it has hosts.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_openstack_fixtures::Cluster;
use serde_json::json;

use crate::{NOVA, add_cell2, change, running};

const CONDUCTOR: &str = "nova-cell2-conductor";

/// Removes the second cell, whose hosts Nova finds.
fn remove_cell2(cluster: &mut Cluster) {
    change(cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }]);
    });
    settle(cluster, &[]);
}

/// Reconciles until nothing changes any more, while Nova deletes no cell and the conductor of the second has these numbers of pods.
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
    #[case] alone: bool,
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
    assert_eq!(after.len() == before.len(), alone, "{before:?} {after:?}");
}
