//! What can't be planned, and what a claim's owner is told.

use c5c3_plan::{Compositions, Settings};
use rstest::rstest;

use crate::given::{assuming_ready, claim, condition, settings, written};

fn given(spec: &str) -> String {
    format!(
        "apiVersion: c5c3.io/v1alpha1\nkind: OpenStackCluster\nmetadata: {{name: c, namespace: t}}\nspec: {{{spec}}}\n"
    )
}

#[rstest]
#[case::size(
    "region: eu-de-1, size: huge, hypervisorClusters: [hv], storageClusters: [st]",
    "huge"
)]
#[case::no_pool(
    "region: eu-de-1, size: small, hypervisorClusters: [], storageClusters: [st]",
    "spec.hypervisorClusters is empty"
)]
#[case::a_pool_twice(
    "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st, st]",
    "names st twice"
)]
fn a_claim_that_cannot_be_composed_says_what_to_change(#[case] spec: &str, #[case] says: &str) {
    let plan = written(&given(spec), &assuming_ready()).unwrap();
    assert!(plan.has_failed());
    let claim = claim(&plan, "t/c");
    let fatal = claim.fatal.as_deref().unwrap();
    assert!(fatal.contains(says), "{fatal}");
    assert_eq!(condition(claim, "Synced"), ("False", "ReconcileError"));
    assert!(claim.composed.is_empty());
}

#[test]
fn one_claim_that_fails_leaves_the_others_alone() {
    let good = "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]";
    let bad = given(&good.replace("small", "huge"));
    let text = given(good).replace("name: c", "name: good") + "---\n" + &bad;
    let plan = written(&text, &assuming_ready()).unwrap();
    assert!(plan.has_failed());
    assert!(claim(&plan, "t/good").is_ready());
}

#[rstest]
#[case::yaml("a: 1\n---\nb: [1,\n", "document 2: ")]
#[case::no_object("kind: OpenStackCluster\n", "document 1: it has no apiVersion")]
#[case::no_name(
    "apiVersion: v1\nkind: Namespace\n",
    "document 1: it has no metadata.name"
)]
#[case::a_text("just words\n", "document 1: it has no apiVersion")]
#[case::nothing(
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n",
    "or CredentialRotation; "
)]
#[case::what_was_found(
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n",
    "document 1: Namespace ns is nothing that is planned by itself, and was left out"
)]
#[case::empty("---\n# only a comment\n", "nothing to plan")]
#[case::unknown_field(
    "apiVersion: c5c3.io/v1alpha1\nkind: OpenStackCluster\nmetadata: {name: c}\nspec: {sizes: small}\n",
    "document 1: OpenStackCluster default/c has the unknown field spec.sizes"
)]
fn a_file_that_cannot_be_used_is_named_with_the_document(#[case] text: &str, #[case] says: &str) {
    let text = text.replace("a: 1\n", "apiVersion: v1\nkind: A\nmetadata: {name: a}\n");
    let error = written(&text, &settings()).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn the_line_of_a_mistake_in_yaml_is_named() {
    let error = written("a: b\nc: [1,\n", &settings())
        .unwrap_err()
        .to_string();
    assert!(error.contains("given.yaml, document 1: "), "{error}");
    assert!(error.contains("line "), "{error}");
}

#[test]
fn one_name_given_twice_is_refused_unless_it_is_the_same() {
    let spec = "region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]";
    let twice = |other: &str| written(&(given(spec) + "---\n" + &given(other)), &settings());
    assert_eq!(twice(spec).unwrap().planned.len(), 1);
    let error = twice(&spec.replace("small", "large"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("document 2: OpenStackCluster t/c is also in"),
        "{error}"
    );
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
