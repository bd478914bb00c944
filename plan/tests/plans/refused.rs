//! What can't be planned, and what a claim's owner is told.

use c5c3_plan::{Compositions, Settings};

use crate::given::{assuming_ready, claim, condition, settings, written};

fn given(spec: &str) -> String {
    format!(
        "apiVersion: c5c3.io/v1alpha1\nkind: OpenStackCluster\nmetadata: {{name: c, namespace: t}}\nspec: {{{spec}}}\n"
    )
}

#[test]
fn claim_with_more_copies_than_hosts_says_what_to_change() {
    let pool = "apiVersion: crossplane.c5c3.io/v1alpha1\nkind: StorageCluster\nmetadata: {name: st, namespace: infrastructure}\n\
                spec: {region: eu-de-1, name: st, workers: 2, ceph: {replicationFactor: 2}}\n---\n";
    let spec = "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]";
    let plan = written(&(pool.to_owned() + &given(spec)), &assuming_ready()).unwrap();
    assert!(plan.has_failed());
    let claim = claim(&plan, "t/c");
    assert_eq!(
        claim.fatal.as_deref(),
        Some(
            "spec.storage.ceph.volumePool.replication is 3, and storage pool st keeps each copy on a host of its own and \
             has 2; choose 2 to 2"
        )
    );
    assert_eq!(condition(claim, "Synced"), ("False", "ReconcileError"));
    assert!(claim.composed.is_empty());
}

#[test]
fn one_claim_that_fails_leaves_the_others_alone() {
    let good = "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]";
    let bad = given(&(good.to_owned() + ", compositionRef: {name: storage-pool}"));
    let text = given(good).replace("name: c", "name: good") + "---\n" + &bad;
    let plan = written(&text, &assuming_ready()).unwrap();
    assert!(plan.has_failed());
    assert!(claim(&plan, "t/good").is_ready());
}

#[test]
fn a_list_as_kubectl_writes_it_is_taken_apart() {
    let spec = "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]";
    let item = given(spec).trim_end().replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {item}\n");
    assert_eq!(written(&list, &settings()).unwrap().planned.len(), 1);
}

#[test]
fn a_composition_that_is_not_there_is_named_with_who_asks_for_it() {
    let settings = Settings {
        composition: Some("openstack-nowhere".to_owned()),
        ..settings()
    };
    let spec = "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]";
    let error = written(&given(spec), &settings).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "there is no composition openstack-nowhere, which OpenStackCluster t/c asks for"
        ),
        "{error}"
    );
}

#[test]
fn compositions_of_the_wrong_kind_are_a_fatal_result() {
    let settings = Settings {
        composition: Some("storage-pool".to_owned()),
        ..settings()
    };
    let spec = "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]";
    let plan = written(&given(spec), &settings).unwrap();
    let fatal = claim(&plan, "t/c").fatal.as_deref().unwrap();
    assert!(fatal.contains("OpenStackPresets"), "{fatal}");
}

#[test]
fn a_folder_without_compositions_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Compositions::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("there is no .yaml"), "{error}");

    std::fs::write(folder.path().join("a.yaml"), "kind: Composition\n").unwrap();
    let error = Compositions::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("neither a Composition with a c5c3.io/v1alpha1 input"),
        "{error}"
    );
}
