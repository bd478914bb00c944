//! Kinds of cert-manager, cert-manager.io/v1.

use c5c3_api::parts::IssuerRef;
use provider_composer::ResourceKind;
use serde::{Deserialize, Serialize};

use super::Kind;

/// A certificate that is renewed before it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// Secret that it is written to.
    pub secret_name: String,
    /// Names that it is for.
    pub dns_names: Vec<String>,
    /// What it may be used for.
    pub usages: Vec<String>,
    /// Its key.
    pub private_key: PrivateKey,
    /// Who issues it.
    pub issuer_ref: IssuerRef,
}

impl Kind for Certificate {
    const KIND: ResourceKind =
        ResourceKind::namespaced("cert-manager.io", "v1", "Certificate", "certificates");
}

/// The key of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrivateKey {
    /// Algorithm.
    pub algorithm: String,
    /// Size in bits.
    pub size: u16,
    /// Whether it changes with each renewal.
    pub rotation_policy: String,
}
