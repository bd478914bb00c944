//! The certificate of a service's API.

use provider_composer::{Composition, World};

use crate::awaited::Awaited;
use crate::digest::digest;
use crate::manifest::cert_manager::{self, PrivateKey};
use crate::secret::Values;
use crate::service::{API, Service};

/// The certificate of a service's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Secret with certificate and key.
    pub secret: String,
    /// Stands for the certificate: a renewed one has another.
    pub digest: String,
    /// Certificate of its issuer, where the Secret has it.
    pub authority: Option<String>,
}

impl Certificate {
    /// The certificate of a service, if its API is encrypted. Cert-manager makes and renews it where there is an issuer.
    pub fn resolve(
        service: &Service<'_>,
        world: &World<'_>,
        composition: &mut Composition,
    ) -> Awaited<Option<Self>> {
        let tls = &service.common.tls;
        if !tls.enabled {
            return Ok(None);
        }
        let secret = secret(service.name, tls);
        if let Some(issuer) = &tls.issuer_ref {
            let (name, namespace) = (service.name, service.namespace);
            let spec = cert_manager::Certificate {
                secret_name: secret.clone(),
                dns_names: vec![
                    service.host(),
                    format!("{name}.{namespace}.svc"),
                    format!("{name}.{namespace}"),
                    name.to_owned(),
                ],
                usages: vec!["server auth".to_owned()],
                private_key: PrivateKey {
                    algorithm: "ECDSA".to_owned(),
                    size: 256,
                    rotation_policy: "Always".to_owned(),
                },
                issuer_ref: issuer.clone(),
            };
            composition.apply(namespace, &secret, &service.manifest(API, spec));
        }
        read(service, secret, world).map(Some)
    }
}

fn read(service: &Service<'_>, secret: String, world: &World<'_>) -> Awaited<Certificate> {
    let values = Values::read(world, service.namespace, &secret, "the API's certificate")?;
    values.text("tls.key")?;
    let digest = digest([values.text("tls.crt")?]);
    let authority = values.authority()?.map(str::to_owned);
    Ok(Certificate {
        secret,
        digest,
        authority,
    })
}

/// Name of the Secret with the certificate of a resource that is called so.
pub(crate) fn secret(name: &str, tls: &c5c3_api::parts::Tls) -> String {
    match &tls.cert_secret_ref {
        Some(reference) => reference.name.clone(),
        None => format!("{name}-tls"),
    }
}
