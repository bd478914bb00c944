//! The certificate authority of a control plane, for names within the cluster.

use c5c3_api::parts::{IssuerKind, IssuerRef};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::DesiredState;
use provider_openstack::manifest::Manifest;
use provider_openstack::manifest::cert_manager::{Certificate, Issuer, PrivateKey};

use crate::recipe::Recipe;

/// The authority: its Issuer, its Certificate, and the Secret with both certificate and key.
const AUTHORITY: &str = "openstack-ca";
/// The Issuer of the authority's own certificate.
const ROOT: &str = "openstack-ca-root";
/// Ten years.
const VALID: &str = "87600h";

impl Recipe<'_> {
    /// The issuer of certificates for names within the cluster: the one given, else the control plane's own authority. None
    /// where each service has its Secret from elsewhere.
    pub(crate) fn internal_issuer(&self) -> Option<IssuerRef> {
        let tls = &self.spec().global.tls;
        let own = tls.issuer_ref.as_ref().map(|_| issuer(AUTHORITY));
        let issuer = tls.internal_issuer_ref.clone().or(own);
        issuer.filter(|_| tls.enabled)
    }

    /// Composes the control plane's own authority, if it issues certificates.
    pub(crate) fn authority(&self, desired: &mut DesiredState) {
        if self.internal_issuer() != Some(issuer(AUTHORITY)) {
            return;
        }
        let root = manifest(Issuer::SelfSigned {});
        desired.apply(self.namespace(), ROOT, &root);
        let certificate = Certificate {
            is_ca: Some(true),
            common_name: Some("OpenStack control plane".to_owned()),
            duration: Some(VALID.to_owned()),
            secret_name: AUTHORITY.to_owned(),
            usages: vec!["cert sign".to_owned(), "crl sign".to_owned()],
            // With another key, certificates that are in use would no longer be trusted.
            private_key: key("Never"),
            issuer_ref: issuer(ROOT),
            ..Certificate::default()
        };
        desired.apply(self.namespace(), AUTHORITY, &manifest(certificate));
        let own = Issuer::Ca {
            secret_name: AUTHORITY.to_owned(),
        };
        desired.apply(self.namespace(), AUTHORITY, &manifest(own));
    }
}

fn issuer(name: &str) -> IssuerRef {
    IssuerRef {
        name: name.to_owned(),
        kind: IssuerKind::Issuer,
    }
}

/// A key of the curve P-256, and whether it changes with each renewal.
pub(crate) fn key(rotation_policy: &str) -> PrivateKey {
    PrivateKey {
        algorithm: "ECDSA".to_owned(),
        size: 256,
        rotation_policy: rotation_policy.to_owned(),
    }
}

/// An object without labels of its own.
pub(crate) fn manifest<S>(spec: S) -> Manifest<S> {
    Manifest {
        metadata: ObjectMeta::default(),
        spec,
    }
}
