//! The Secret with the kubeconfig. What it was requested for, and when, is in its annotations: they are written with the kubeconfig, so
//! that an operator that starts anew knows both.

use std::collections::BTreeMap;

use c5c3_api::shoot_kubeconfig::ShootKubeconfigSpec;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::reconcile::taken;
use provider_composer::{
    Failure, Key, Live, Lookup, ObservedState, Owner, Reason, Resource, Subject,
};
use sha2::{Digest, Sha256};

use crate::life::Life;

/// Annotation with what the kubeconfig was requested for.
const REQUEST: &str = "gardener.c5c3.io/request";
/// Annotation with when it was requested, RFC 3339.
const ISSUED: &str = "gardener.c5c3.io/issued";
/// Annotation with when it expires, RFC 3339.
const EXPIRES: &str = "gardener.c5c3.io/expires";
/// Annotation with the SHA-256 of the kubeconfig.
const DIGEST: &str = "gardener.c5c3.io/sha256";

/// A kubeconfig that the Secret has.
pub(crate) struct Held {
    pub(crate) life: Life,
    /// Whether it is what is requested now.
    pub(crate) is_wanted: bool,
}

impl Held {
    /// Looks the kubeconfig up; none where the Secret is missing, or its kubeconfig isn't the one that was issued, or the times of it
    /// are missing.
    ///
    /// # Errors
    /// The Secret has another owner, or can't be read.
    pub(crate) fn observe(
        subject: &Subject<ShootKubeconfigSpec>,
        observed: &ObservedState<'_>,
    ) -> Result<Option<Self>, Failure> {
        let spec = &subject.spec;
        let owner = Owner::of(Subject::<ShootKubeconfigSpec>::KIND, &subject.metadata);
        match observed.get::<Secret>(subject.namespace(), &spec.target.name) {
            Lookup::Missing => Ok(None),
            Lookup::Unknown(why) => Err(Failure::transient(Reason::LookupFailed, why)),
            Lookup::Found(secret) => match Owner::from_labels(&secret.metadata.labels) {
                Some(found) if found == owner => Ok(Self::read(&secret, spec)),
                other => {
                    let other = other.map(|other| other.title());
                    Err(taken(&key(subject), other.as_deref()))
                }
            },
        }
    }

    fn read(secret: &Live<Secret>, spec: &ShootKubeconfigSpec) -> Option<Self> {
        let kubeconfig = secret.body.data.as_ref()?.get(&spec.target.key)?;
        let annotations = &secret.metadata.annotations;
        if annotations.get(DIGEST) != Some(&digest(&kubeconfig.0)) {
            return None;
        }
        let moment = |annotation: &str| annotations.get(annotation)?.parse::<Timestamp>().ok();
        Some(Self {
            life: Life::of(moment(ISSUED)?, moment(EXPIRES)?, spec.expiration_seconds),
            is_wanted: annotations.get(REQUEST) == Some(&request(spec)),
        })
    }
}

/// The Secret's key.
pub(crate) fn key(subject: &Subject<ShootKubeconfigSpec>) -> Key {
    Key::of::<Secret>(subject.namespace(), &subject.spec.target.name)
}

/// The Secret with a kubeconfig.
pub(crate) fn secret(spec: &ShootKubeconfigSpec, kubeconfig: String, life: Life) -> Secret {
    let annotations = [
        (REQUEST, request(spec)),
        (ISSUED, life.issued.to_string()),
        (EXPIRES, life.expires.to_string()),
        (DIGEST, digest(kubeconfig.as_bytes())),
    ];
    let annotations = annotations.map(|(annotation, value)| (annotation.to_owned(), value));
    Secret {
        metadata: ObjectMeta {
            annotations: Some(BTreeMap::from(annotations)),
            ..ObjectMeta::default()
        },
        data: Some([(spec.target.key.clone(), ByteString(kubeconfig.into_bytes()))].into()),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

/// What is requested, for a person to read and for the operator to see that it has changed.
fn request(spec: &ShootKubeconfigSpec) -> String {
    let (shoot, seconds) = (&spec.shoot, spec.expiration_seconds);
    let (namespace, name, role) = (&shoot.namespace, &shoot.name, spec.role);
    format!("{role:?} of {namespace}/{name} for {seconds} s")
}

/// The SHA-256 of a kubeconfig, which tells one that was issued from one that was written by hand.
fn digest(kubeconfig: &[u8]) -> String {
    let digest = Sha256::digest(kubeconfig);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
