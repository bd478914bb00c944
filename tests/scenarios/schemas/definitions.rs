//! Our definitions, made into custom resources by a real Crossplane, and what the API server then takes and refuses.

use c5c3_api::Generation;
use function_c5c3_fixtures::Site;
use kube::ResourceExt;
use kube::core::Request;
use lab::claims::{CLAIM_DEFINITION, KINDS, NAMESPACED_DEFINITION};
use lab::{
    Cluster, Context, Crossplane, DynamicObject, Etcd, Kind, Release, Result, bail, ensure,
    eventually, is, minutes,
};
use serde_json::{Value, json};

use super::fixtures::{Fixture, fixtures};
use super::policy;

/// Fine when the definitions are established, and the API server decides as the fixtures say.
pub fn decide(release: Release, generation: Generation) -> Result<()> {
    lab::on_a_bare_machine(async move |machine| {
        let etcd = Etcd::start(&machine)?;
        let management = Cluster::start(&machine, &etcd, "management").await?;
        let crossplane = Crossplane::start(&machine, &management, release).await?;
        let definitions = define(&crossplane, &management, generation).await?;
        explains(&management, &definitions).await?;
        management.install_our_kinds().await?;
        // From here on nobody but the API server has a say.
        machine.stop("crossplane")?;
        policy::is_enforced(&management, generation).await?;

        let mut faults = Vec::new();
        let fixtures = fixtures(generation)?;
        ensure!(fixtures.len() >= 80, "only {} fixtures", fixtures.len());
        for fixture in &fixtures {
            if let Err(fault) = apply_fixture(&management, fixture).await {
                faults.push(format!("{}: {fault:#}", fixture.name));
            }
        }
        for site in Site::examples().values() {
            for (document, call) in site.documents.iter().zip(site.calls(generation)) {
                let (_, outcome) = call.running();
                let mut document = document.clone();
                document["status"] = outcome.status;
                let document = serde_json::from_value(document)?;
                if let Err(fault) = write(&management, &document).await {
                    faults.push(format!("{fault:#}"));
                }
                management.remove(&document).await?;
            }
        }
        ensure!(faults.is_empty(), "{}", faults.join("\n"));
        Ok(())
    })
}

/// Installs the definitions, waits until their kinds are served, and answers with them.
async fn define(
    crossplane: &Crossplane,
    management: &Cluster,
    generation: Generation,
) -> Result<Vec<DynamicObject>> {
    let version = generation.version();
    let applied = management.apply_files(format!("xrds/{version}")).await?;
    let (definition, conditions): (Kind, &[&str]) = match generation {
        Generation::V1 => (CLAIM_DEFINITION, &["Established", "Offered"]),
        Generation::V2 => (NAMESPACED_DEFINITION, &["Established"]),
    };
    eventually("the definitions are established", minutes(1), async || {
        crossplane.check()?;
        let definitions = management.list(definition, "").await?;
        ensure!(
            definitions.len() == KINDS.len(),
            "{} definitions",
            definitions.len()
        );
        for (definition, condition) in definitions.iter().flat_map(|definition| {
            conditions
                .iter()
                .map(move |condition| (definition, condition))
        }) {
            is(definition, condition)?;
        }
        Ok(())
    })
    .await?;
    for kind in KINDS {
        management.list(kind, "").await?;
    }
    Ok(applied)
}

/// Fine when `kubectl explain` says of each field of a claim what our definitions say.
async fn explains(management: &Cluster, definitions: &[DynamicObject]) -> Result<()> {
    let ours = definitions
        .iter()
        .find(|definition| definition.name_any().ends_with("openstackclusters.c5c3.io"))
        .and_then(|definition| {
            definition
                .data
                .pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties")?
                .as_object()
        })
        .context("no definition of OpenStackCluster")?;
    ensure!(ours.len() >= 10, "only {} fields", ours.len());
    eventually("kubectl explains claims", minutes(1), async || {
        let request =
            Request::new("/openapi/v3/apis/c5c3.io").get("v1alpha1", &Default::default())?;
        let served: Value = management.client().request(request).await?;
        let fields = served
            .pointer(
                "/components/schemas/io.c5c3.v1alpha1.OpenStackCluster/properties/spec/properties",
            )
            .context("OpenStackCluster isn't in the OpenAPI yet")?;
        for (name, field) in ours {
            let said = field["description"]
                .as_str()
                .with_context(|| format!("spec.{name} has no description"))?;
            ensure!(
                fields[name]["description"] == said,
                "spec.{name} is explained as {}",
                fields[name]["description"]
            );
        }
        Ok(())
    })
    .await
}

/// Fine when each document is taken, but for the last of a refused fixture, of which the expected is said.
async fn apply_fixture(management: &Cluster, fixture: &Fixture) -> Result<()> {
    let (last, before) = fixture
        .documents
        .split_last()
        .context("there is no document")?;
    for document in before {
        write(management, document).await?;
    }
    match (write(management, last).await, &fixture.refused) {
        (Ok(()), None) => {}
        (Err(refusal), Some(expected)) => {
            let refusal = format!("{refusal:#}");
            ensure!(
                refusal.contains(expected),
                "it says {refusal:?}, not {expected:?}"
            );
        }
        (Ok(()), Some(expected)) => bail!("it is taken, and should say {expected:?}"),
        (Err(refusal), None) => return Err(refusal),
    }
    for document in &fixture.documents {
        management.remove(document).await?;
    }
    Ok(())
}

/// Writes a document into a namespace that is there.
async fn write(management: &Cluster, document: &DynamicObject) -> Result<()> {
    if let Some(namespace) = document.namespace() {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        management.apply(&namespace.to_string()).await?;
    }
    management.write(document).await
}
