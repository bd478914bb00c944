//! A Placement from its resource to a running API, in a small cluster in memory.

use c5c3_api::placement::PlacementSpec;
use provider_composer::Custom;
use provider_openstack_fixtures::{Cluster, assert_recovers, documents, shown};
use provider_placement::Placement;
use serde_json::{Value, json};

const PLACEMENT: Placement = Placement;

fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.put_document::<Custom<PlacementSpec>>(documents::PLACEMENT);
    cluster
}

#[test]
fn all_that_placement_is_made_of() {
    let mut cluster = given();
    cluster.keystone(true);
    let answer = cluster.settle(&PLACEMENT, "placement");
    assert_eq!(
        cluster.condition(&PLACEMENT, "placement", "Ready").0,
        "True"
    );
    insta::assert_yaml_snapshot!(shown(&answer));
}

#[test]
fn placement_starts_after_keystone_and_goes_on_without_it() {
    let mut cluster = given();
    cluster.keystone(false);
    cluster.settle(&PLACEMENT, "placement");
    let (status, reason, message) = cluster.condition(&PLACEMENT, "placement", "Ready");
    assert_eq!((&*status, &*reason), ("False", "WaitingForKeystone"));
    assert_eq!(message, "waits for Keystone keystone to be Ready");

    cluster.keystone(true);
    cluster.settle(&PLACEMENT, "placement");
    assert_eq!(
        cluster.condition(&PLACEMENT, "placement", "Ready").0,
        "True"
    );
    cluster.keystone(false);
    cluster.settle(&PLACEMENT, "placement");
    assert_eq!(
        cluster.condition(&PLACEMENT, "placement", "Ready").0,
        "True"
    );
}

#[test]
fn placement_recovers_from_kills_of_its_operator() {
    assert_recovers(&PLACEMENT, "placement", || {
        let mut cluster = given();
        cluster.keystone(true);
        cluster.change::<Custom<PlacementSpec>>("placement", |placement| {
            placement["spec"]["tls"] = json!({ "issuerRef": { "name": "ca" } });
        });
        cluster
    });
}

#[test]
fn a_new_application_credential_is_said_to_be_in_use_when_all_pods_have_it() {
    let mut cluster = given();
    cluster.keystone(true);
    let answer = cluster.settle(&PLACEMENT, "placement");
    assert_eq!(answer.status["applicationCredential"], "1f2e");
    cluster.secret(
        "placement-keystone-credentials",
        &[
            ("application_credential_id", "3d4c"),
            ("application_credential_secret", "new-s3cret"),
        ],
    );
    let answer = cluster.compose(&PLACEMENT, "placement").unwrap();
    assert_eq!(answer.status["applicationCredential"], "1f2e");
    let answer = cluster.compose(&PLACEMENT, "placement").unwrap();
    assert_eq!(
        answer.status["applicationCredential"],
        json!(null),
        "pods with either run"
    );
    let answer = cluster.settle(&PLACEMENT, "placement");
    assert_eq!(answer.status["applicationCredential"], "3d4c");
}

#[rstest::rstest]
#[case(
    json!({ "extraConfig": { "placement_database": { "max_pool_sise": "9" } } }),
    "InvalidConfiguration",
    "extraConfig sets [placement_database] max_pool_sise, and placement 2025.2 has no such option: did you mean max_pool_size?"
)]
#[case(
    json!({ "extraConfig": { "placement": { "randomise_allocation_candidates": "true" } } }),
    "InvalidConfiguration",
    "did you mean randomize_allocation_candidates?"
)]
#[case(
    json!({ "extraConfig": { "api": { "auth_strategy": "noauth2" } } }),
    "OwnedByOperator",
    "extraConfig sets [api] auth_strategy, and the operator owns it: use nothing: every request needs a token"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "placement:usages": "role:admin or" } } }),
    "InvalidPolicy",
    "the policy rule placement:usages can't be understood: a check is missing at the end"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "placement:usage": "@" } } }),
    "InvalidPolicy",
    "the policies have a rule placement:usage, and placement 2025.2 has no such rule: did you mean placement:usages?"
)]
fn a_mistake_is_told_with_what_to_do(
    #[case] mistake: Value,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let wrong = |placement: &mut Value| {
        for (field, value) in mistake.as_object().unwrap() {
            placement["spec"][field] = value.clone();
        }
    };
    let mut cluster = given();
    cluster.keystone(true);
    cluster.settle(&PLACEMENT, "placement");
    cluster.change::<Custom<PlacementSpec>>("placement", wrong);
    let failure = cluster.compose(&PLACEMENT, "placement").err().unwrap();
    assert_eq!(failure.reason().to_string(), reason);
    assert!(failure.to_string().contains(message), "{failure}");
    let (status, said, _) = cluster.condition(&PLACEMENT, "placement", "Ready");
    assert_eq!((status.as_str(), said.as_str()), ("False", reason));

    // The resource alone is enough to tell.
    let mut empty = Cluster::default();
    empty.put_document::<Custom<PlacementSpec>>(documents::PLACEMENT);
    empty.change::<Custom<PlacementSpec>>("placement", wrong);
    assert_eq!(empty.compose(&PLACEMENT, "placement").err(), Some(failure));
}

#[test]
fn objects_of_placement_carry_the_common_labels() {
    let mut cluster = given();
    cluster.keystone(true);
    cluster.change::<Custom<PlacementSpec>>("placement", |placement| {
        placement["metadata"]["labels"] = json!({ "app.kubernetes.io/part-of": "prod" });
    });
    let answer = cluster.settle(&PLACEMENT, "placement");
    let common = answer.desired.objects.iter().map(|(key, object)| {
        let labels = object["metadata"]["labels"].as_object().unwrap();
        let common = labels
            .iter()
            .filter_map(|(label, value)| {
                let name = label.strip_prefix("app.kubernetes.io/")?;
                Some(format!("{name}={}", value.as_str()?))
            })
            .collect::<std::collections::BTreeSet<_>>();
        (
            key.kind.kind,
            common.into_iter().collect::<Vec<_>>().join(" "),
        )
    });
    insta::assert_yaml_snapshot!(common.collect::<std::collections::BTreeMap<_, _>>());
}
