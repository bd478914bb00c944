//! Kinds of cert-manager, cert-manager.io/v1.

use c5c3_api::parts::IssuerRef;
use educe::Educe;
use serde::{Deserialize, Serialize};

use crate::Spec;
use crate::kind::kinds;

kinds! { Spec "cert-manager.io" "v1":
    Certificate "Certificate" "certificates",
    Issuer "Issuer" "issuers",
}

/// A certificate that cert-manager renews before it expires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// Whether it may sign other certificates.
    #[serde(default, rename = "isCA", skip_serializing_if = "Option::is_none")]
    pub is_ca: Option<bool>,
    /// Its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_name: Option<String>,
    /// Its validity, for instance 87600h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// The Secret that it is stored in.
    pub secret_name: String,
    /// Its DNS names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_names: Vec<String>,
    /// Its IP addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses: Vec<String>,
    /// Its key usages.
    pub usages: Vec<String>,
    /// Its key.
    pub private_key: PrivateKey,
    /// Its issuer.
    pub issuer_ref: IssuerRef,
}

/// An issuer of certificates in its namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Issuer {
    /// Signs each certificate with the certificate's own key.
    SelfSigned {},
    /// Signs with the certificate and key of a Secret.
    #[serde(rename_all = "camelCase")]
    Ca {
        /// The Secret.
        secret_name: String,
    },
}

/// The key of a certificate, by default of the curve P-256 and replaced by each renewal.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize)]
#[educe(Default)]
#[serde(rename_all = "camelCase")]
pub struct PrivateKey {
    /// Algorithm.
    #[educe(Default = "ECDSA")]
    pub algorithm: String,
    /// Size in bits.
    #[educe(Default = 256)]
    pub size: u16,
    /// Whether each renewal replaces it.
    #[educe(Default = "Always")]
    pub rotation_policy: String,
}

impl PrivateKey {
    /// A key of the curve P-256 that no renewal replaces.
    pub fn permanent() -> Self {
        Self {
            rotation_policy: "Never".to_owned(),
            ..Self::default()
        }
    }
}
