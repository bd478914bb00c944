//! The policy that keeps tenants from fields of Crossplane, decided by a real API server.

use c5c3_api::Generation;
use lab::claims::{OPENSTACK, tenant};
use lab::{Cluster, Result, bail, ensure, eventually, minutes};
use serde_json::{Value, json};

const TENANT: &str = "tenant-customer-a";
const PLACE: &str = "tenant-customer-a/policed";
/// The annotations that say when Crossplane reconciles.
const SCHEDULE: [(&str, &str); 2] = [
    ("crossplane.io/paused", "true"),
    ("crossplane.io/poll-interval", "1s"),
];
/// The finalizer without which the composite resource of a claim outlives it.
const CROSSPLANE: &str = "finalizer.apiextensions.crossplane.io";
const OTHER: &str = "example.com/other";

/// Fine when a tenant can neither set, change nor remove any of the fields nor Crossplane's finalizers, nor add finalizers, nor say when
/// Crossplane reconciles, and keeps all its other rights.
pub async fn is_enforced(management: &Cluster, generation: Generation) -> Result<()> {
    management.apply_files("package/policies").await?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TENANT}});
    management.apply(&namespace.to_string()).await?;
    let tenant = tenant(management, TENANT).await?;
    let fields = fields(generation);
    for (field, value) in &fields {
        let chosen = claim(generation, &json!({(*field): value}));
        // The API server learns of a policy a moment later.
        eventually("the policy is in effect", minutes(1), async || {
            refused(field, tenant.would_apply(&chosen).await)
        })
        .await?;
    }
    let plain = claim(generation, &json!({"compositionUpdatePolicy": "Automatic"}));
    tenant.apply(&plain.to_string()).await?;

    let all: Value = fields.iter().cloned().collect();
    let all = json!({"spec": machinery(generation, &all)});
    management.edit(OPENSTACK, PLACE, all).await?;
    let label = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": "medium"}});
    tenant.edit(OPENSTACK, PLACE, label).await?;
    for (field, _) in &fields {
        for value in [other(field), Value::Null] {
            let change = json!({"spec": machinery(generation, &json!({(*field): value}))});
            refused(field, tenant.edit(OPENSTACK, PLACE, change).await)?;
        }
    }

    for (annotation, value) in SCHEDULE {
        let change = json!({"metadata": {"annotations": {annotation: value}}});
        refused(annotation, tenant.edit(OPENSTACK, PLACE, change).await)?;
    }
    let finalizers = |all: &[&str]| json!({"metadata": {"finalizers": all}});
    management
        .edit(OPENSTACK, PLACE, finalizers(&[CROSSPLANE, OTHER]))
        .await?;
    let changed: [&[&str]; 4] = [
        &[],
        &[OTHER],
        &[CROSSPLANE, OTHER, "orphan"],
        &[CROSSPLANE, OTHER, "example.com/kept"],
    ];
    for left in changed {
        let change = tenant.edit(OPENSTACK, PLACE, finalizers(left)).await;
        refused("metadata.finalizers", change)?;
    }
    tenant
        .edit(OPENSTACK, PLACE, finalizers(&[CROSSPLANE]))
        .await?;
    management.edit(OPENSTACK, PLACE, finalizers(&[])).await?;
    eventually(
        "the policy of deletions is in effect",
        minutes(1),
        async || {
            let orphaned = tenant.would_orphan(OPENSTACK, PLACE).await;
            let refusal = "delete it without --cascade=orphan";
            ensure!(
                orphaned.is_err_and(|error| error.to_string().contains(refusal)),
                "a tenant may delete a claim without what was composed for it"
            );
            Ok(())
        },
    )
    .await?;
    tenant.delete(OPENSTACK, PLACE).await
}

fn refused<T>(field: &str, response: Result<T>) -> Result<()> {
    let expected = format!("sets or changes {field}: remove it");
    match response {
        Ok(_) => bail!("a tenant may choose {field}"),
        Err(error) => ensure!(error.to_string().contains(&expected), "{field}: {error}"),
    }
    Ok(())
}

/// The fields, each with a value.
fn fields(generation: Generation) -> Vec<(&'static str, Value)> {
    let labels = json!({"matchLabels": {"c5c3.io/environment": "staging"}});
    let reference =
        json!({"apiVersion": "c5c3.io/v1alpha1", "kind": "XOpenStackCluster", "name": "a"});
    let of_generation = match generation {
        Generation::V1 => vec![
            ("resourceRef", reference),
            ("compositeDeletePolicy", json!("Background")),
        ],
        Generation::V2 => vec![("resourceRefs", json!([reference]))],
    };
    let of_both = vec![
        ("compositionRef", json!({"name": "openstack-development"})),
        ("compositionSelector", labels.clone()),
        (
            "compositionRevisionRef",
            json!({"name": "openstack-production-1"}),
        ),
        ("compositionRevisionSelector", labels),
        ("compositionUpdatePolicy", json!("Manual")),
    ];
    of_both.into_iter().chain(of_generation).collect()
}

/// Another value than that of the fields above.
fn other(field: &str) -> Value {
    match field {
        "compositionUpdatePolicy" => json!("Automatic"),
        "compositeDeletePolicy" => json!("Foreground"),
        "resourceRefs" => json!([]),
        "compositionSelector" | "compositionRevisionSelector" => {
            json!({"matchLabels": {"c5c3.io/environment": "production"}})
        }
        _ => json!({"name": "another"}),
    }
}

/// Where the fields are in a spec.
fn machinery(generation: Generation, fields: &Value) -> Value {
    match generation {
        Generation::V1 => fields.clone(),
        Generation::V2 => json!({"crossplane": fields}),
    }
}

fn claim(generation: Generation, fields: &Value) -> Value {
    let (namespace, name) = PLACE.split_once('/').unwrap_or_default();
    let mut spec = machinery(generation, fields);
    spec["region"] = json!("eu-de-1");
    spec["size"] = json!("small");
    spec["hypervisorClusters"] = json!(["hv-pool-a"]);
    spec["storageClusters"] = json!(["st-pool-a"]);
    json!({
        "apiVersion": OPENSTACK.api_version, "kind": OPENSTACK.kind,
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}
