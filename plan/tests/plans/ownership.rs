//! Secrets that exist under the names of those that operators apply.

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use c5c3_plan::{CONTROL_PLANE, Manifest, Plan, Settings};
use rstest::rstest;
use serde_json::{Value, json};

use crate::given::{assuming_ready, planned, ready, root, written};

const EXAMPLE: &str = "examples/control-planes/production.yaml";

const CINDER: &str = "cinder.openstack.c5c3.io/v1alpha1";

/// The names of the Secrets that are composed for the example.
static SECRETS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let plan = ready(&[EXAMPLE]);
    let keys = plan.applied.iter().map(|applied| &applied.key);
    let secrets = keys.filter(|key| key.kind == "Secret");
    secrets.map(|key| key.name.clone()).collect()
});

/// The name of a Secret that is composed for the example.
fn secret(prefix: &str) -> &'static str {
    let mut names = SECRETS.iter();
    names.find(|name| name.starts_with(prefix)).unwrap()
}

/// Metadata that names an operator and the owner of an object, as the operator writes them.
fn labels(operator: &str, kind: &str, name: &str) -> String {
    format!(
        ", labels: {{app.kubernetes.io/managed-by: {operator}, c5c3.io/owner-kind: {kind}, \
         c5c3.io/owner-namespace: openstack, c5c3.io/owner-name: {name}}}"
    )
}

/// Metadata with a resource as the controller of an object.
fn controller(api_version: &str, name: &str) -> String {
    format!(
        ", ownerReferences: [{{apiVersion: {api_version}, kind: Cinder, name: {name}, \
         uid: 3f2b8a0e-6d1c-4a55-9a35-0c1f5b1f7a11, controller: true}}]"
    )
}

/// The plan of the example beside a Secret of a user.
fn beside(name: &str, metadata: &str) -> Plan {
    let text = fs::read_to_string(root(EXAMPLE)).unwrap();
    let secret = format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: openstack{metadata}}}\n\
         stringData: {{key: value}}\n"
    );
    written(&(text + &secret), &assuming_ready()).unwrap()
}

/// The operator that applies a Secret; none where the Secret is left alone.
fn operator(plan: &Plan, name: &str) -> Option<&'static str> {
    let mut applied = plan.applied.iter();
    let secret = applied.find(|applied| applied.key.kind == "Secret" && applied.key.name == name);
    secret?.operator
}

#[rstest]
#[case::of_a_user("Cinder", "cinder-config-", String::new(), "")]
#[case::of_a_user_with_labels(
    "Cinder",
    "cinder-config-",
    labels("cinder-operator", "Cinder", "cinder"),
    ""
)]
#[case::of_another_cinder(
    "Cinder",
    "cinder-config-",
    labels("cinder-operator", "Cinder", "cinder") + &controller(CINDER, "other"),
    ", Cinder other"
)]
#[case::of_another_kind(
    "Cinder",
    "cinder-config-",
    labels("cinder-operator", "Cinder", "cinder") + &controller("example.com/v1", "cinder"),
    ", Cinder cinder"
)]
#[case::of_a_service(
    "ControlPlane",
    "k-orc-clouds",
    labels("c5c3-operator", "ControlPlane", "production") + &controller(CINDER, "cinder"),
    ", Cinder cinder"
)]
fn secret_of_another_owner_is_left_alone(
    #[case] kind: &str,
    #[case] prefix: &str,
    #[case] metadata: String,
    #[case] owner: &str,
) {
    let name = secret(prefix);
    let plan = beside(name, &metadata);
    let operated = plan.operated();
    let mut subjects = operated.iter();
    let subject = subjects
        .find(|operated| operated.resource.kind() == kind)
        .unwrap();
    let mut conditions = subject.conditions.iter();
    let ready = conditions.find(|known| known.type_ == "Ready").unwrap();
    let message = format!(
        "Secret {name} in openstack exists and has another owner{owner}, so it is left alone: delete or rename it, or choose \
         another name here"
    );
    assert_eq!(
        [&ready.status, &ready.reason, &ready.message],
        ["False", "NameTaken", &message]
    );
    assert!(plan.has_failed());
    assert_eq!(operator(&plan, name), None);
}

#[test]
fn secret_in_a_file_belongs_to_its_controller() {
    let name = secret("cinder-config-");
    let plan = beside(name, &controller(CINDER, "cinder"));
    assert!(!plan.has_failed());
    assert_eq!(operator(&plan, name), Some("cinder-operator"));
}

#[rstest]
#[case::controlled(
    json!({ "ownerReferences": [{
        "apiVersion": CINDER, "kind": "Cinder", "name": "cinder", "uid": "5f0a4c1e", "controller": true,
    }] }),
    true
)]
#[case::applied_without_a_controller(
    json!({ "managedFields": [{ "manager": "cinder-operator", "operation": "Apply" }] }),
    true
)]
#[case::created_without_a_controller(
    json!({ "managedFields": [{ "manager": "cinder-operator", "operation": "Update" }] }),
    false
)]
fn secret_in_a_cluster_belongs_to_its_controller_or_the_operator_that_applied_it(
    #[case] metadata: Value,
    #[case] is_own: bool,
) {
    let name = secret("cinder-config-");
    let mut metadata = metadata;
    metadata["name"] = json!(name);
    metadata["namespace"] = json!("openstack");
    metadata["uid"] = json!("0c7b21a8");
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata });
    let secret = Manifest::try_from(secret).unwrap();
    let settings = Settings {
        present: BTreeMap::from([(CONTROL_PLANE.to_owned(), vec![secret])]),
        ..assuming_ready()
    };
    let plan = planned(&[EXAMPLE], &settings);
    assert_eq!(plan.has_failed(), !is_own);
    assert_eq!(operator(&plan, name), is_own.then_some("cinder-operator"));
}
