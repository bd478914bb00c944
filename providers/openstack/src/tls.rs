//! The certificate of a service's API.

use provider_composer::{DesiredState, ObservedState};

use crate::awaited::Awaited;
use crate::component::Component;
use crate::digest::digest;
use crate::manifest::cert_manager::{self, PrivateKey};
use crate::secret::Values;
use crate::service::Service;

/// The certificate of a service's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Secret with certificate and key.
    pub secret: String,
    /// The digest of the certificate, which changes with each renewal.
    pub digest: String,
    /// The CA certificate, if the Secret has it.
    pub authority: Option<String>,
}

impl Certificate {
    /// Resolves the certificate of a component, if its endpoint is encrypted. With an issuer, cert-manager creates and renews it.
    pub fn resolve(
        component: &Component<'_>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Awaited<Option<Self>> {
        let service = component.service;
        let tls = &service.common.tls;
        if !tls.enabled || component.definition.port().is_none() {
            return Ok(None);
        }
        let secret = secret(&component.object, tls);
        if let Some(issuer) = &tls.issuer_ref {
            let (name, namespace) = (&component.object, service.namespace);
            let spec = cert_manager::Certificate {
                secret_name: secret.clone(),
                // Shorter names are ambiguous: what they resolve to depends on the client's namespace.
                dns_names: vec![component.host(), format!("{name}.{namespace}.svc")],
                usages: vec!["server auth".to_owned()],
                private_key: PrivateKey {
                    algorithm: "ECDSA".to_owned(),
                    size: 256,
                    rotation_policy: "Always".to_owned(),
                },
                issuer_ref: issuer.clone(),
                ..cert_manager::Certificate::default()
            };
            desired.apply(namespace, &secret, &component.manifest(spec));
        }
        read(service, secret, observed).map(Some)
    }
}

fn read(
    service: &Service<'_>,
    secret: String,
    observed: &ObservedState<'_>,
) -> Awaited<Certificate> {
    let values = Values::read(
        observed,
        service.namespace,
        &secret,
        "the API's certificate",
    )?;
    values.text("tls.key")?;
    let digest = digest([values.text("tls.crt")?]);
    let authority = values.authority()?.map(str::to_owned);
    Ok(Certificate {
        secret,
        digest,
        authority,
    })
}

/// Returns the CA certificate of an endpoint, if the endpoint's Secret has it. The endpoint is that of the component whose objects
/// have this name.
///
/// # Errors
/// The Secret doesn't exist yet, or can't be read.
pub fn authority(
    namespace: &str,
    object: &str,
    tls: &c5c3_api::parts::Tls,
    observed: &ObservedState<'_>,
) -> Awaited<Option<String>> {
    let name = secret(object, tls);
    let values = Values::read(
        observed,
        namespace,
        &name,
        &format!("the certificate of {object}"),
    )?;
    Ok(values.authority()?.map(str::to_owned))
}

/// The name of the Secret with the certificate of a component.
fn secret(name: &str, tls: &c5c3_api::parts::Tls) -> String {
    match &tls.cert_secret_ref {
        Some(reference) => reference.name.clone(),
        None => format!("{name}-tls"),
    }
}
