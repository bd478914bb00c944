//! Resources that claim one name, in a plan and in a cluster.

use c5c3_plan::{Manifest, defaulted};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Key, Operator, Resource};
use provider_composer_testing::Cluster;
use provider_operators::control_plane_operators;
use rstest::rstest;
use serde_json::Value;

use crate::given::{settings, written};

const NAMESPACE: &str = "openstack";

/// A Glance and a Placement of one name.
const SERVICES: &str = "
apiVersion: glance.openstack.c5c3.io/v1alpha1
kind: Glance
metadata: {name: api, namespace: openstack}
spec:
  release: '2025.2'
  database: {secretRef: {name: glance-db-credentials}, database: glance}
  keystone:
    authUrl: https://keystone.example.com/v3
    appCredentialRef: {secretName: glance-keystone-credentials}
  storage: {backend: file, file: {size: 100Gi, storageClass: shared}}
---
apiVersion: placement.openstack.c5c3.io/v1alpha1
kind: Placement
metadata: {name: api, namespace: openstack}
spec:
  release: '2025.2'
  database: {secretRef: {name: placement-db-credentials}, database: placement}
  keystone:
    authUrl: https://keystone.example.com/v3
    appCredentialRef: {secretName: placement-keystone-credentials}
";

/// A SecretAggregate and its source.
fn aggregate(name: &str) -> String {
    format!(
        "---
apiVersion: c5c3.io/v1alpha1
kind: SecretAggregate
metadata: {{name: {name}, namespace: openstack}}
spec:
  sources: [{{secretRef: {{name: source-of-{name}}}}}]
  target: {{name: sum}}
---
apiVersion: v1
kind: Secret
metadata: {{name: source-of-{name}, namespace: openstack}}
data: {{key: dmFsdWU=}}
"
    )
}

/// Two ControlPlanes of one namespace.
const CONTROL_PLANES: &str = "
apiVersion: c5c3.io/v1alpha1
kind: ControlPlane
metadata: {name: second, namespace: openstack}
spec: {openStackRelease: '2025.2'}
---
apiVersion: c5c3.io/v1alpha1
kind: ControlPlane
metadata: {name: first, namespace: openstack}
spec: {openStackRelease: '2025.2'}
";

/// The resources of a plan whose names, or whose namespace, another resource has, each with its message.
fn in_a_plan(documents: &str) -> Vec<String> {
    let plan = written(documents, &settings()).unwrap();
    let operated = plan.operated().into_iter();
    let resources = operated.map(|operated| operated.resource.value().clone());
    taken(resources.collect())
}

/// Such resources of a cluster in memory, after operators have reconciled until nothing changes.
fn in_a_cluster(documents: &str) -> Vec<String> {
    let operators = control_plane_operators();
    let mut cluster = Cluster::default();
    let documents: Vec<Value> = serde_saphyr::from_multiple(documents).unwrap();
    for document in documents {
        let manifest = Manifest::try_from(document).unwrap();
        let manifest = defaulted(&manifest).unwrap_or(manifest);
        let mut kinds = operators.iter().map(|operator| operator.subject());
        let kind = kinds.find(|kind| kind.kind == manifest.kind());
        let key = Key::new(kind.unwrap_or(Secret::KIND), NAMESPACE, manifest.name());
        cluster.put(&key, manifest.value());
    }
    let subjects = |cluster: &Cluster, operator: &dyn Operator| -> Vec<Key> {
        let keys = cluster.objects().keys();
        let subjects = keys.filter(|key| key.kind == operator.subject());
        subjects.cloned().collect()
    };
    let mut writes = None;
    while writes != Some(cluster.writes()) {
        writes = Some(cluster.writes());
        for operator in &operators {
            for subject in subjects(&cluster, operator.as_ref()) {
                // A failure is in the status.
                let _ = cluster.reconcile(operator.as_ref(), &subject);
            }
        }
    }
    let operators = operators.iter();
    let subjects = operators.flat_map(|operator| subjects(&cluster, operator.as_ref()));
    let resources = subjects.map(|key| cluster.get(&key).unwrap().clone());
    taken(resources.collect())
}

/// Selects the resources whose condition Ready has the reason NameTaken or AnotherControlPlane, and returns each with its message.
fn taken(resources: Vec<Value>) -> Vec<String> {
    let taken = resources.iter().filter_map(|resource| {
        let mut conditions = resource["status"]["conditions"].as_array()?.iter();
        let ready = conditions.find(|condition| condition["type"] == "Ready")?;
        let message = ready["message"].as_str()?;
        let (kind, name) = (&resource["kind"], &resource["metadata"]["name"]);
        let shown = format!("{} {}: {message}", kind.as_str()?, name.as_str()?);
        let reason = ready["reason"].as_str()?;
        ["NameTaken", "AnotherControlPlane"]
            .contains(&reason)
            .then_some(shown)
    });
    let mut taken: Vec<String> = taken.collect();
    taken.sort();
    taken
}

/// The Glance of [`SERVICES`].
fn glance() -> &'static str {
    SERVICES.split("---").next().unwrap()
}

#[rstest]
#[case::two_resources_of_one_kind(
    aggregate("first") + &aggregate("second"),
    &["SecretAggregate second: the Secret sum exists and has another owner, SecretAggregate first: "]
)]
#[case::two_control_planes(
    CONTROL_PLANES.to_owned(),
    &["ControlPlane second: ControlPlane first is in this namespace already, and one namespace holds one control plane: delete this \
       one, and create it in another namespace"]
)]
#[case::two_services(SERVICES.to_owned(), &["Placement api: "])]
#[case::two_kinds_without_a_common_object(glance().to_owned() + &aggregate("api"), &[])]
fn name_is_taken_in_a_plan_as_in_a_cluster(#[case] documents: String, #[case] expected: &[&str]) {
    let planned = in_a_plan(&documents);
    assert_eq!(planned, in_a_cluster(&documents));
    assert_eq!(planned.len(), expected.len(), "{planned:?}");
    for (planned, expected) in planned.iter().zip(expected) {
        assert!(planned.starts_with(expected), "{planned}");
    }
}
