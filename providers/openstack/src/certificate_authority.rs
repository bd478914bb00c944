//! Certificate authorities.

use c5c3_api::parts::IssuerRef;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::{Certificate, Issuer, PrivateKey};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::DesiredState;

/// Ten years.
const VALID: &str = "87600h";

/// A certificate authority that cert-manager keeps.
#[derive(Clone, Copy, Debug)]
pub struct CertificateAuthority<'a> {
    /// Name of its Issuer, its Certificate, and the Secret with both certificate and key.
    pub name: &'a str,
    /// Name of the Issuer of its own certificate, which signs itself.
    pub root: &'a str,
    /// The subject of its certificate.
    pub common_name: &'a str,
}

impl CertificateAuthority<'_> {
    /// Composes the authority in a namespace, with this metadata, and returns its Issuer.
    pub fn compose(
        &self,
        namespace: &str,
        metadata: &ObjectMeta,
        desired: &mut DesiredState,
    ) -> IssuerRef {
        let certificate = Certificate {
            is_ca: Some(true),
            common_name: Some(self.common_name.to_owned()),
            duration: Some(VALID.to_owned()),
            secret_name: self.name.to_owned(),
            usages: vec!["cert sign".to_owned(), "crl sign".to_owned()],
            // With another key, certificates that are in use would no longer be trusted.
            private_key: PrivateKey::permanent(),
            issuer_ref: IssuerRef::issuer(self.root),
            ..Certificate::default()
        };
        let issuer = Issuer::Ca {
            secret_name: self.name.to_owned(),
        };
        let self_signed = manifest(metadata, Issuer::SelfSigned {});
        desired.apply(namespace, self.root, &self_signed);
        desired.apply(namespace, self.name, &manifest(metadata, certificate));
        desired.apply(namespace, self.name, &manifest(metadata, issuer));
        IssuerRef::issuer(self.name)
    }
}

fn manifest<S>(metadata: &ObjectMeta, spec: S) -> Manifest<S> {
    Manifest {
        metadata: metadata.clone(),
        spec,
    }
}
