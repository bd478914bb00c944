//! The certificate of a service's API.

use c5c3_kinds::{Manifest, cert_manager};
use jiff::Timestamp;
use provider_composer::{DesiredState, Key, Lookup, ObservedState, Progress, Reason, SecretValues};

use crate::component::Component;
use crate::digest::digest;
use crate::prerequisite::Prerequisite;
use crate::service::Service;

/// The folder of the certificate in a pod.
pub const CERTIFICATE: &str = "/etc/tls";

/// The condition that certificates are renewed in time. It is only set, and False, while one isn't.
pub const CERTIFICATES_RENEWED: &str = "CertificatesRenewed";

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
        desired: &mut DesiredState,
    ) -> Prerequisite<Option<Self>> {
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
                issuer_ref: issuer.clone(),
                ..cert_manager::Certificate::default()
            };
            let certificate = component.manifest(spec);
            apply_certificate(namespace, &certificate, service.observed, desired);
        }
        read(service, secret).map(Some)
    }
}

fn read(service: &Service<'_>, secret: String) -> Prerequisite<Certificate> {
    let purpose = "the API's certificate";
    let values = issued(service.namespace, &secret, purpose, service.observed)?;
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
) -> Prerequisite<Option<String>> {
    let name = secret(object, tls);
    let purpose = format!("the certificate of {object}");
    let values = issued(namespace, &name, &purpose, observed)?;
    Ok(values.authority()?.map(str::to_owned))
}

/// Reads the Secret of a certificate. While it doesn't exist, the message has what cert-manager says of the Certificate of that
/// name.
///
/// # Errors
/// The Secret doesn't exist yet, or can't be read.
pub fn issued(
    namespace: &str,
    secret: &str,
    purpose: &str,
    observed: &ObservedState<'_>,
) -> Prerequisite<SecretValues> {
    SecretValues::read(observed, namespace, secret, purpose).map_err(|pending| match pending {
        Progress::Waiting { .. } => {
            let certificate = Key::of::<Manifest<cert_manager::Certificate>>(namespace, secret);
            let why = unissued(&certificate, observed).map(|why| format!(": {why}"));
            pending.explained(|message| message.to_owned() + &why.unwrap_or_default())
        }
        _ => pending,
    })
}

/// Whether cert-manager has issued a certificate into the Secret of its name, and renewed it for the present spec of the Certificate.
/// The message has cert-manager's reason.
pub fn issuance(
    namespace: &str,
    secret: &str,
    purpose: &str,
    observed: &ObservedState<'_>,
) -> Progress {
    if let Err(pending) = issued(namespace, secret, purpose, observed) {
        return pending;
    }
    let certificate = Key::of::<Manifest<cert_manager::Certificate>>(namespace, secret);
    let waits = |why: &str| {
        Progress::waiting(
            Reason::WaitingFor("Certificate"),
            format!("waits for cert-manager to renew {purpose} in Secret {secret}: {why}"),
        )
    };
    let ready = observed.condition(&certificate, "Ready");
    match (ready, unissued(&certificate, observed)) {
        (Lookup::Unknown(message), _) => Progress::Unknown { message },
        (_, Some(why)) => waits(&why),
        (Lookup::Found(Some(ready)), None) if ready.status == "True" => Progress::Ready,
        (Lookup::Found(_) | Lookup::Missing, None) => waits("it hasn't reconciled the Certificate"),
    }
}

/// Composes a certificate of cert-manager, whose name is that of its Secret, and reports it where it isn't renewed in time.
pub fn apply_certificate(
    namespace: &str,
    certificate: &Manifest<cert_manager::Certificate>,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) {
    let name = &certificate.spec.secret_name;
    desired.apply(namespace, name, certificate);
    if let Some(overdue) = overdue(namespace, name, observed, desired) {
        desired.conditions.note(CERTIFICATES_RENEWED, &overdue);
    }
}

/// The failure of a certificate that cert-manager hasn't renewed, once half of the time between its renewal and its expiry has passed.
/// Otherwise nobody would notice before clients refuse it, since no probe of Kubernetes verifies certificates: pods with an expired one
/// stay ready.
pub fn overdue(
    namespace: &str,
    certificate: &str,
    observed: &ObservedState<'_>,
    desired: &mut DesiredState,
) -> Option<Progress> {
    let key = Key::of::<Manifest<cert_manager::Certificate>>(namespace, certificate);
    let object = observed.object(&key).found()?;
    let time = |field: &str| -> Option<Timestamp> {
        let time = object.pointer(field)?.as_str()?;
        time.parse().ok()
    };
    let (due, end) = (time("/status/renewalTime")?, time("/status/notAfter")?);
    let overdue = due.checked_add(end.duration_since(due) / 2).unwrap_or(end);
    if overdue > observed.now() {
        desired.requeue_at(overdue);
        return None;
    }
    let why = unissued(&key, observed).map_or_else(String::new, |why| format!(": {why}"));
    let message = format!(
        "{key} was to be renewed at {due}, and clients refuse it from {end} on{why}; see `kubectl describe certificates -n {namespace} \
         {certificate}`, and correct its issuer"
    );
    Some(Progress::failing(Reason::CertificateNotRenewed, message))
}

/// Why cert-manager hasn't issued a certificate. `Issuing` is False after an issuer has refused; `Ready` then only repeats that the
/// Secret doesn't exist (<https://cert-manager.io/docs/usage/certificate/>).
pub fn unissued(certificate: &Key, observed: &ObservedState<'_>) -> Option<String> {
    let messages = ["Issuing", "Ready"].into_iter().map(|type_| {
        let Lookup::Found(condition) = observed.condition(certificate, type_) else {
            return None;
        };
        let condition = condition.filter(|condition| condition.status == "False")?;
        Some(condition.message).filter(|message| !message.is_empty())
    });
    messages.flatten().next()
}

/// The name of the Secret with the certificate of a component.
fn secret(name: &str, tls: &c5c3_api::parts::Tls) -> String {
    match &tls.cert_secret_ref {
        Some(reference) => reference.name.clone(),
        None => format!("{name}-tls"),
    }
}
