//! What cert-manager does: whoever asks for a certificate has one of the machine's authority at once.

use anyhow::Result;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::unreported::unreported;
use crate::cluster::Cluster;
use crate::objects::{Kind, kind};
use crate::pki::Authority;

const CERTIFICATE: Kind = kind("cert-manager.io/v1", "Certificate");

/// Signs what isn't signed yet.
pub(super) async fn work(cluster: &Cluster, authority: &Authority) -> Result<()> {
    for certificate in unreported(cluster, CERTIFICATE, "conditions").await? {
        let secret = signed(&certificate, authority)?;
        cluster.apply(&secret.to_string()).await?;
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "Ready",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": certificate.metadata.generation,
        });
        let status = json!({"conditions": [ready]});
        cluster.report(CERTIFICATE, &certificate, status).await?;
    }
    Ok(())
}

/// The Secret with a certificate.
fn signed(certificate: &DynamicObject, authority: &Authority) -> Result<Value> {
    let spec = &certificate.data["spec"];
    let names = spec["dnsNames"].as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    let identity = authority.server(&names)?;
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": spec["secretName"], "namespace": certificate.namespace()},
        "type": "kubernetes.io/tls",
        "stringData": {
            "tls.crt": identity.certificate,
            "tls.key": identity.key,
            "ca.crt": authority.certificate(),
        },
    }))
}
