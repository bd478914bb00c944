//! What each claim and pool of examples/ composes, at first and once everything is well, asked of whoever has to take it; and the
//! inputs of Compositions.

use c5c3_api::Generation;
use function_c5c3_fixtures::{Outcome, Site, text};
use lab::{Garden, Machine, Result, ensure};
use serde_json::{Value, json};

use super::consumers::Consumers;
use super::inputs;

/// Every kind that the examples compose, in the cluster that gets it.
const KINDS: [(&str, &str); 27] = [
    ("control-plane", "c5c3.io/v1alpha1 ControlPlane"),
    ("control-plane", "external-secrets.io/v1 ExternalSecret"),
    ("control-plane", "external-secrets.io/v1alpha1 PushSecret"),
    ("control-plane", "v1 LimitRange"),
    ("control-plane", "v1 Namespace"),
    ("control-plane", "v1 ResourceQuota"),
    ("hypervisor", "external-secrets.io/v1 ExternalSecret"),
    ("hypervisor", "hypervisor.c5c3.io/v1alpha1 HypervisorPool"),
    ("hypervisor", "hypervisor.c5c3.io/v1alpha1 HypervisorShare"),
    ("hypervisor", "v1 Namespace"),
    (
        "management-1.20",
        "apiextensions.crossplane.io/v1beta1 Usage",
    ),
    (
        "management-1.20",
        "kubernetes.crossplane.io/v1alpha1 ProviderConfig",
    ),
    (
        "management-1.20",
        "kubernetes.crossplane.io/v1alpha2 Object",
    ),
    (
        "management-2.4",
        "apiextensions.crossplane.io/v1beta1 Usage",
    ),
    ("management-2.4", "core.gardener.cloud/v1beta1 Shoot"),
    (
        "management-2.4",
        "kubernetes.crossplane.io/v1alpha1 ProviderConfig",
    ),
    ("management-2.4", "kubernetes.crossplane.io/v1alpha2 Object"),
    (
        "management-2.4",
        "kubernetes.m.crossplane.io/v1alpha1 ClusterProviderConfig",
    ),
    (
        "management-2.4",
        "kubernetes.m.crossplane.io/v1alpha1 Object",
    ),
    ("management-2.4", "protection.crossplane.io/v1beta1 Usage"),
    ("storage", "ceph.rook.io/v1 CephBlockPool"),
    ("storage", "ceph.rook.io/v1 CephClient"),
    ("storage", "ceph.rook.io/v1 CephCluster"),
    ("storage", "ceph.rook.io/v1 CephFilesystem"),
    ("storage", "ceph.rook.io/v1 CephObjectStore"),
    ("storage", "ceph.rook.io/v1 CephObjectStoreUser"),
    ("storage", "external-secrets.io/v1alpha1 PushSecret"),
];

/// Fine when every object and input would be applied as it is, and none with a misspelt field.
pub async fn is_taken(machine: &Machine, garden: Garden) -> Result<()> {
    let mut consumers = Consumers::start(machine, garden).await?;
    inputs::are_taken(&consumers.namespaced).await?;
    for generation in Generation::ALL {
        for (name, site) in sites() {
            for call in site.calls(generation) {
                let by = format!(
                    "{} {} of {name}, {generation:?}",
                    text(&call.composite, "/kind"),
                    text(&call.composite, "/metadata/name")
                );
                let composite = call.composite.clone();
                let first = call.run();
                let (_, settled) = call.running();
                for outcome in [first, settled] {
                    ensure!(outcome.fatal.is_none(), "{by}: {:?}", outcome.fatal);
                    ensure!(!outcome.desired.is_empty(), "{by}: nothing is composed");
                    ask(&mut consumers, generation, &by, &composite, &outcome).await?;
                }
            }
        }
    }
    consumers.refuse_what_is_misspelt().await?;
    ensure!(
        consumers.faults().is_empty(),
        "{}",
        consumers.faults().join("\n")
    );
    assert_eq!(consumers.kinds(), KINDS.into());
    Ok(())
}

/// The sites of examples/, and one with a storage pool that is stretched over two zones, which no example has.
fn sites() -> Vec<(String, Site)> {
    let mut sites: Vec<(String, Site)> = Site::examples().into_iter().collect();
    let mut stretched = Site::examples();
    let claims = stretched.remove("claims").map(|mut site| {
        for pool in &mut site.documents {
            if pool["metadata"]["name"] == "st-pool-a" {
                pool["spec"]["arbiterCluster"] = json!("eu-de-1-control-plane");
            }
        }
        ("stretched".to_owned(), site)
    });
    sites.extend(claims);
    sites
}

async fn ask(
    consumers: &mut Consumers,
    generation: Generation,
    by: &str,
    composite: &Value,
    outcome: &Outcome,
) -> Result<()> {
    for (name, desired) in &outcome.desired {
        let by = format!("{by}: {name}");
        let resource = as_applied(desired, name, composite);
        if generation == Generation::V1 {
            let management = consumers.claims.clone();
            consumers.ask(&management, &by, &resource).await?;
        }
        let management = consumers.namespaced.clone();
        consumers.ask(&management, &by, &resource).await?;
        if let Some(manifest) = desired.pointer("/spec/forProvider/manifest") {
            let target = consumers.target(&text(desired, "/spec/providerConfigRef/name"))?;
            consumers.ask(&target, &by, manifest).await?;
        }
    }
    Ok(())
}

/// A desired resource with the metadata that Crossplane gives it.
fn as_applied(desired: &Value, name: &str, composite: &Value) -> Value {
    let mut resource = desired.clone();
    let owner = text(composite, "/metadata/name");
    let metadata = &mut resource["metadata"];
    if metadata["name"].is_null() {
        metadata["name"] = json!(format!("{owner}-{name}"));
    }
    if let Some(namespace) = composite["metadata"]["namespace"].as_str() {
        metadata["namespace"] = json!(namespace);
    }
    metadata["labels"]["crossplane.io/composite"] = json!(owner);
    metadata["annotations"]["crossplane.io/composition-resource-name"] = json!(name);
    resource
}
