//! What tools that use kstatus read of a claim: Reconciling, Stalled and the observed generation.

use lab::claims::{Generation, OPENSTACK, Site};
use lab::{DynamicObject, Result, ensure};
use serde_json::{Value, json};

/// The conditions of kstatus besides Ready.
const ACTIVITY: [&str; 2] = ["Reconciling", "Stalled"];

/// Waits until a claim has this condition, by type and reason, or none of the two, and a status that is about its present spec.
pub async fn shows(site: &Site<'_>, name: &str, expected: Option<(&str, &str)>) -> Result<()> {
    site.until(&format!("{name} shows {expected:?}"), async || {
        let claim = site.get(OPENSTACK, name).await?;
        has(&claim, expected)?;
        let generation = match site.generation {
            Generation::Namespaced => json!(claim.metadata.generation),
            // Crossplane copies the status of the composite resource, whose generation is another.
            Generation::Claims => Value::Null,
        };
        let observed = &claim.data["status"]["observedGeneration"];
        ensure!(
            *observed == generation,
            "observedGeneration is {observed}, not {generation}"
        );
        Ok(())
    })
    .await
}

/// Waits until a claim is Stalled because the function refuses its present spec. Its status stays that of the spec before, and Synced has
/// the present generation.
pub async fn refused(site: &Site<'_>, name: &str) -> Result<()> {
    site.until(&format!("{name} is refused"), async || {
        let claim = site.get(OPENSTACK, name).await?;
        has(&claim, Some(("Stalled", "Invalid")))?;
        if site.generation == Generation::Namespaced {
            let (status, generation) = (&claim.data["status"], json!(claim.metadata.generation));
            let is_current = conditions(&claim).any(|condition| {
                condition["type"] == "Synced"
                    && condition["status"] == "False"
                    && condition["observedGeneration"] == generation
            });
            ensure!(
                is_current && status["observedGeneration"] != generation,
                "generation {generation}: {status}"
            );
        }
        Ok(())
    })
    .await
}

/// Fine when a claim has this condition, or none of the two.
fn has(claim: &DynamicObject, expected: Option<(&str, &str)>) -> Result<()> {
    let active = active(claim).filter_map(|condition| {
        let (type_, reason) = (&condition["type"], &condition["reason"]);
        Some((type_.as_str()?, reason.as_str()?))
    });
    ensure!(active.eq(expected), "{}", claim.data["status"]);
    Ok(())
}

/// Those of the two conditions that are True.
fn active(claim: &DynamicObject) -> impl Iterator<Item = &Value> {
    conditions(claim).filter(|condition| {
        condition["status"] == "True" && ACTIVITY.iter().any(|type_| condition["type"] == *type_)
    })
}

fn conditions(claim: &DynamicObject) -> impl Iterator<Item = &Value> {
    let conditions = claim.data["status"]["conditions"].as_array();
    conditions.into_iter().flatten()
}
