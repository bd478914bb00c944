//! Encryption of endpoints.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reference::NamedRef;
use crate::{pattern::NAME, rule::Rule};

pub(crate) const ONE_CERTIFICATE: Rule = Rule::new(
    "!has(self.issuerRef) || !has(self.certSecretRef)",
    "issuerRef and certSecretRef both give the certificate: give issuerRef for a new one, or certSecretRef for yours",
);

/// Encryption of endpoints.
///
/// With issuerRef the operator asks cert-manager for a certificate; with certSecretRef it uses yours. With neither it uses
/// the Secret `<name>-tls`.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_CERTIFICATE]))]
pub struct Tls {
    /// Whether endpoints are encrypted.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Cert-manager's issuer of the certificate, which is for names within the cluster only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_ref: Option<IssuerRef>,
    /// Secret of the type kubernetes.io/tls with certificate and key, in the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<NamedRef>,
}

/// Cert-manager's issuer of certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuerRef {
    /// Name of the issuer.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Kind of the issuer, of the API group cert-manager.io.
    #[serde(default)]
    pub kind: IssuerKind,
}

impl IssuerRef {
    /// Refers to an Issuer in the same namespace.
    pub fn issuer(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: IssuerKind::Issuer,
        }
    }

    /// Whether it signs in all namespaces, and so for others, too.
    pub fn is_shared(&self) -> bool {
        self.kind == IssuerKind::ClusterIssuer
    }
}

/// Where an issuer may be used (<https://cert-manager.io/docs/concepts/issuer/>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IssuerKind {
    /// In its own namespace.
    #[default]
    Issuer,
    /// In every namespace.
    ClusterIssuer,
}
