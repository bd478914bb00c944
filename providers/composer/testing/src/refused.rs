//! What the API server, webhooks and foreign operators refuse to change.

use std::cmp::Ordering;

use c5c3_api::parts::Quantity;
use provider_composer::Key;
use serde_json::Value;

use crate::api_server::Refusal;
use crate::stored::is_deleted;

/// What can't be changed of objects of a kind.
struct Rules {
    kind: &'static str,
    /// Fields that stay.
    fixed: &'static [&'static str],
    /// Numbers and quantities that never fall.
    rising: &'static [&'static str],
}

impl Rules {
    const fn fixed(kind: &'static str, fixed: &'static [&'static str]) -> Self {
        Self {
            kind,
            fixed,
            rising: &[],
        }
    }
}

/// The field of a claim's size.
const CLAIMED: &str = "/spec/resources/requests/storage";

/// The field of a claim's class.
const CLASS: &str = "/spec/storageClassName";

/// The field of the size of RabbitMQ's volumes.
const PERSISTED: &str = "/spec/persistence/storage";

/// What decides beside the object itself.
#[derive(Clone, Copy, Default)]
pub struct Around<'a> {
    /// Whether volumes of a claim's StorageClass can grow.
    pub expands: bool,
    /// The claim of RabbitMQ's first member while there is no StatefulSet, with which its operator would compare.
    pub claim: Option<&'a Value>,
}

static RULES: [Rules; 11] = [
    // <https://kubernetes.io/docs/concepts/workloads/controllers/job/>: how many pods run and for how long may change.
    Rules::fixed(
        "Job",
        &[
            "/spec/completionMode",
            "/spec/completions",
            "/spec/selector",
            "/spec/template",
        ],
    ),
    Rules::fixed("Deployment", &["/spec/selector"]),
    Rules::fixed("DaemonSet", &["/spec/selector"]),
    Rules::fixed(
        "StatefulSet",
        &[
            "/spec/podManagementPolicy",
            "/spec/selector",
            "/spec/serviceName",
            "/spec/volumeClaimTemplates",
        ],
    ),
    Rules::fixed("Secret", &["/type"]),
    Rules::fixed("ClusterRoleBinding", &["/roleRef"]),
    Rules::fixed("RoleBinding", &["/roleRef"]),
    // <https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims>
    Rules::fixed("PersistentVolumeClaim", &[CLASS, "/spec/accessModes"]),
    // The webhook of mariadb-operator 0.38, and that it can't follow a change between a single member and a Galera cluster.
    Rules {
        kind: "MariaDB",
        fixed: &[
            "/spec/galera/enabled",
            "/spec/imagePullSecrets",
            "/spec/rootPasswordSecretKeyRef",
            "/spec/storage/storageClassName",
        ],
        rising: &["/spec/storage/size"],
    },
    Rules::fixed(
        "Backup",
        &[
            "/spec/imagePullSecrets",
            "/spec/mariaDbRef",
            "/spec/maxRetention",
            "/spec/priorityClassName",
            "/spec/storage",
        ],
    ),
    // RabbitMQ's cluster operator 2.16, which then stops to reconcile; the class it never changes.
    Rules {
        kind: "RabbitmqCluster",
        fixed: &["/spec/persistence/storageClassName"],
        rising: &["/spec/replicas", PERSISTED],
    },
];

/// Checks a change of an object.
///
/// # Errors
/// It is refused.
pub fn check(key: &Key, live: &Value, wanted: &Value, around: Around<'_>) -> Result<(), Refusal> {
    let refused = refused(key, live, wanted, around)
        .or_else(|| immutable(live, wanted))
        .or_else(|| finalized(live, wanted));
    match refused {
        None => Ok(()),
        Some(change) => {
            let message = format!("{key} can't be changed: {change}");
            Err(Refusal::new("Invalid", message))
        }
    }
}

/// Returns which change of an immutable ConfigMap or Secret is refused.
fn immutable(live: &Value, wanted: &Value) -> Option<String> {
    let fields = ["immutable", "data", "binaryData", "stringData"];
    let mut changed = fields
        .iter()
        .filter(|field| live.get(field) != wanted.get(field));
    let changed = changed.next().filter(|_| live["immutable"] == true)?;
    Some(format!("it is immutable, and {changed} differs"))
}

/// Returns which finalizer is added to an object that is being deleted.
fn finalized(live: &Value, wanted: &Value) -> Option<String> {
    let [were, are] = [live, wanted].map(|it| it["metadata"]["finalizers"].as_array());
    let is_old = |finalizer: &&Value| were.is_some_and(|were| were.contains(finalizer));
    let mut added = are.into_iter().flatten().filter(|it| !is_old(it));
    let added = added.next().filter(|_| is_deleted(live))?;
    Some(format!("it is being deleted, and finalizer {added} is new"))
}

/// Returns which change of an object is refused for its kind; none where all are accepted.
fn refused(key: &Key, live: &Value, wanted: &Value, around: Around<'_>) -> Option<String> {
    let rules = RULES.iter().find(|rules| rules.kind == key.kind.kind)?;
    let was = |field: &str| match around.claim {
        Some(claim) if field == PERSISTED => claim.pointer(CLAIMED),
        _ => live.pointer(field),
    };
    let is = |field: &str| wanted.pointer(field);
    let mut fixed = rules.fixed.iter().copied();
    // A class may be set, but not changed.
    let is_set = |field: &str| field == CLASS && was(field).is_none();
    let same = |field: &str| match (was(field), is(field)) {
        (None, Some(value)) | (Some(value), None) if field == "/type" => *value == "Opaque",
        (was, is) => was == is,
    };
    let fixed = fixed.find(|field| !same(field) && !is_set(field));
    let mut rising = rules.rising.iter().copied();
    let fallen = rising.find(|field| amount(is(field)) < amount(was(field)));
    let resized = Some(CLAIMED).filter(|_| !resizes(live, wanted, around.expands));
    let field = fixed.or(fallen).or(resized)?;
    let shown = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
    Some(format!(
        "{field} from {} to {}",
        shown(was(field)),
        shown(is(field))
    ))
}

/// Whether a claim may get its size: a bound one grows where its class allows it, and an expansion that hasn't been done may end at a
/// lower size (Kubernetes 1.32, <https://kubernetes.io/docs/concepts/storage/persistent-volumes/>).
fn resizes(live: &Value, wanted: &Value, expands: bool) -> bool {
    let (was, is) = (
        amount(live.pointer(CLAIMED)),
        amount(wanted.pointer(CLAIMED)),
    );
    let is_bound = live["status"]["phase"] == "Bound";
    let expansion = live.pointer("/status/allocatedResourceStatuses/storage");
    let capacity = amount(live.pointer("/status/capacity/storage"));
    match is.partial_cmp(&was) {
        Some(Ordering::Greater) => is_bound && expands,
        Some(Ordering::Less) => is_bound && expansion.is_some() && is > capacity,
        _ => true,
    }
}

fn amount(value: Option<&Value>) -> Option<f64> {
    let value = value?;
    value.as_f64().or_else(|| {
        let quantity: Quantity = value.as_str()?.parse().ok()?;
        Some(quantity.amount())
    })
}

#[cfg(test)]
mod tests {
    use provider_composer::ResourceKind;
    use serde_json::json;

    use super::*;

    fn key(kind: &'static str) -> Key {
        let kind = ResourceKind::namespaced("test", "v1", kind, "things");
        Key::new(kind, "openstack", "thing")
    }

    /// What is refused of a change of an object, which has the status of a bound claim of 1Gi.
    fn change(kind: &'static str, before: &Value, after: &Value, expands: bool) -> Option<String> {
        let status = json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } });
        let live = json!({ "spec": before, "status": status });
        let around = Around {
            expands,
            ..Around::default()
        };
        refused(&key(kind), &live, &json!({ "spec": after }), around)
    }

    fn claim(size: &str, class: &str) -> Value {
        json!({ "storageClassName": class, "resources": { "requests": { "storage": size } } })
    }

    #[test]
    fn claim_only_grows_and_only_where_its_class_allows_it() {
        let claimed = |after: Value, expands| {
            change("PersistentVolumeClaim", &claim("2Gi", "a"), &after, expands)
        };
        assert_eq!(claimed(claim("3Gi", "a"), true), None);
        assert_eq!(claimed(claim("2048Mi", "a"), false), None);
        let size = "/spec/resources/requests/storage from \"2Gi\" to";
        let grown = claimed(claim("3Gi", "a"), false);
        assert_eq!(grown, Some(format!("{size} \"3Gi\"")));
        let shrunk = claimed(claim("1Gi", "a"), true);
        assert_eq!(shrunk, Some(format!("{size} \"1Gi\"")));
        let moved = claimed(claim("2Gi", "b"), true);
        assert_eq!(
            moved.as_deref(),
            Some("/spec/storageClassName from \"a\" to \"b\"")
        );
        let defaulted = claimed(json!({}), true);
        assert_eq!(
            defaulted.as_deref(),
            Some("/spec/storageClassName from \"a\" to nothing")
        );
        let without = json!({ "resources": { "requests": { "storage": "2Gi" } } });
        let named = change("PersistentVolumeClaim", &without, &claim("2Gi", "a"), false);
        assert_eq!(named, None, "it had none");
    }

    #[test]
    fn claim_changes_its_size_only_while_it_is_bound_and_falls_only_to_more_than_it_has() {
        let resized = |after: &str, status: &Value| {
            let live = json!({ "spec": claim("3Gi", "a"), "status": status });
            let around = Around {
                expands: true,
                ..Around::default()
            };
            let wanted = json!({ "spec": claim(after, "a") });
            refused(&key("PersistentVolumeClaim"), &live, &wanted, around).is_none()
        };
        let pending = json!({ "phase": "Pending" });
        assert!(!resized("4Gi", &pending) && !resized("2Gi", &pending));
        let mut bound = json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } });
        assert!(resized("4Gi", &bound) && !resized("2Gi", &bound));
        bound["allocatedResourceStatuses"] = json!({ "storage": "ControllerResizeInfeasible" });
        assert!(resized("2Gi", &bound) && !resized("1Gi", &bound));
    }

    #[test]
    fn volumes_of_rabbitmq_fall_to_their_claims_without_a_stateful_set() {
        let cluster =
            |size: &str| json!({ "spec": { "replicas": 1, "persistence": { "storage": size } } });
        let claim = json!({ "spec": claim("10Gi", "a") });
        let fallen = |size: &str, claim: Option<&Value>| {
            let around = Around {
                expands: false,
                claim,
            };
            let key = key("RabbitmqCluster");
            refused(&key, &cluster("20Gi"), &cluster(size), around).is_some()
        };
        assert!(fallen("10Gi", None) && fallen("9Gi", Some(&claim)));
        assert!(!fallen("10Gi", Some(&claim)));
    }

    #[test]
    fn mariadb_keeps_its_topology_and_rabbitmq_its_members() {
        let mariadb = |after: &Value| {
            let before = json!({ "replicas": 3, "galera": { "enabled": true } });
            change("MariaDB", &before, after, true)
        };
        assert_eq!(
            mariadb(&json!({ "replicas": 5, "galera": { "enabled": true } })),
            None
        );
        assert_eq!(
            mariadb(&json!({ "replicas": 1 })).as_deref(),
            Some("/spec/galera/enabled from true to nothing")
        );
        let rabbitmq = |after: u32| {
            let cluster = |replicas: u32| json!({ "replicas": replicas });
            change("RabbitmqCluster", &cluster(3), &cluster(after), true)
        };
        assert_eq!(rabbitmq(5), None);
        assert_eq!(rabbitmq(1).as_deref(), Some("/spec/replicas from 3 to 1"));
        let other = change(
            "Thing",
            &json!({ "replicas": 3 }),
            &json!({ "replicas": 1 }),
            true,
        );
        assert_eq!(other, None);
    }
}
