//! The inputs of Compositions as objects of the kinds that the function's package defines, which Crossplane before 2.2 creates.

use std::collections::BTreeSet;

use function_c5c3_fixtures::text;
use kube::ResourceExt;
use lab::{Cluster, Context, Result, bail, ensure};
use serde_json::{Value, json};

/// Fine when a cluster with Crossplane's kinds serves the definitions, and takes the input of each Composition, but none with a mistake.
pub async fn are_taken(cluster: &Cluster) -> Result<()> {
    let definitions = cluster.apply_files("package/function-c5c3/input").await?;
    let mut kinds = BTreeSet::new();
    for composition in cluster.apply_files("compositions/v2").await? {
        let input = composition.data.pointer("/spec/pipeline/0/input");
        let mut input = input.context("a Composition without an input")?.clone();
        input["metadata"] = json!({"name": composition.name_any(), "namespace": "default"});
        cluster.would_apply(&input).await?;
        refuses_mistakes(cluster, &input).await?;
        kinds.insert(text(&input, "/kind"));
    }
    ensure!(
        kinds.len() == definitions.len(),
        "the inputs are of {kinds:?}"
    );
    Ok(())
}

/// Fine when an input is refused with a field that is misspelt, and with a number where a text belongs.
async fn refuses_mistakes(cluster: &Cluster, input: &Value) -> Result<()> {
    let (part, field) = match text(input, "/kind").as_str() {
        "ClusterPresets" => ("gardener", "project"),
        _ => ("secretStore", "name"),
    };
    for field in [format!("{field}s"), field.to_owned()] {
        let mut spoilt = input.clone();
        spoilt[part][&field] = json!(1);
        let mistake = format!("{part}.{field}");
        match cluster.would_apply(&spoilt).await {
            Ok(_) => bail!("{mistake} is taken in {spoilt}"),
            Err(refusal) => {
                let refusal = format!("{refusal:#}");
                ensure!(refusal.contains(&mistake), "{mistake}: {refusal}");
            }
        }
    }
    Ok(())
}
