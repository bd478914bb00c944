//! What cert-manager does: whoever asks for a certificate has one of the machine's authority at once.

use anyhow::Result;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::text;
use super::unreported::unreported;
use crate::cluster::Cluster;
use crate::objects::{Kind, kind};
use crate::pki::Authority;

const CERTIFICATE: Kind = kind("cert-manager.io/v1", "Certificate");

/// Signs what isn't signed yet.
pub(super) async fn work(cluster: &Cluster, authority: &Authority) -> Result<()> {
    for certificate in unreported(cluster, CERTIFICATE, "conditions").await? {
        let spec = &certificate.data["spec"];
        let names = spec["dnsNames"].as_array().into_iter().flatten();
        let names: Vec<&str> = names.filter_map(Value::as_str).collect();
        let identity = authority.server(&names)?;
        let namespace = certificate.namespace().unwrap_or_default();
        let place = format!("{namespace}/{}", text(spec, "/secretName"));
        cluster
            .put_certificate(&place, &identity, Some(authority))
            .await?;
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
