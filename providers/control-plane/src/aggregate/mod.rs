//! SecretAggregate: one Secret from keys of several.

use std::collections::BTreeMap;

use c5c3_api::secret_aggregate::{SecretAggregateSpec, SecretAggregateStatus, SecretSource};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{
    Composer, DesiredState, Failure, Key, Lookup, ObservedState, Owner, Progress, Reason, Resource,
    SecretValues, Subject, Use,
};
use provider_openstack::opaque;

/// Composes SecretAggregates.
pub struct SecretAggregateComposer;

impl Composer for SecretAggregateComposer {
    type Spec = SecretAggregateSpec;
    type Status = SecretAggregateStatus;
    const OPERATOR: &'static str = "c5c3-operator";

    fn uses(&self) -> Vec<Use> {
        vec![Use::composes(Secret::KIND)]
    }

    fn compose(
        &self,
        subject: &Subject<SecretAggregateSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<SecretAggregateStatus, Failure> {
        if subject.is_deleted() {
            return Ok(SecretAggregateStatus::default());
        }
        let namespace = subject.namespace();
        let target = &subject.spec.target.name;
        let joined = target_is_free(subject, observed).and_then(|()| join(subject, observed));
        let progress = match joined {
            Ok(values) => {
                let secret = opaque(ObjectMeta::default(), values);
                desired.apply(namespace, target, &secret);
                Progress::Ready
            }
            Err(progress) => {
                desired.keep(Key::of::<Secret>(namespace, target));
                progress
            }
        };
        desired.conditions.set("SourcesResolved", &progress);
        Ok(SecretAggregateStatus::default())
    }
}

/// A Secret of another owner is never overwritten.
fn target_is_free(
    subject: &Subject<SecretAggregateSpec>,
    observed: &ObservedState<'_>,
) -> Result<(), Progress> {
    let name = &subject.spec.target.name;
    let owner = Owner::of(Subject::<SecretAggregateSpec>::KIND, &subject.metadata);
    match observed.get::<SecretValues>(subject.namespace(), name) {
        Lookup::Missing => Ok(()),
        Lookup::Found(secret) => match Owner::from_labels(&secret.metadata.labels) {
            Some(found) if found == owner => Ok(()),
            other => Err(Progress::failed(
                Reason::NameTaken,
                format!(
                    "the Secret {name} exists and has another owner{}: name another target, or delete that Secret",
                    other.map_or_else(String::new, |other| format!(", {}", other.title()))
                ),
            )),
        },
        Lookup::Unknown(message) => Err(Progress::Unknown { message }),
    }
}

/// The values of all sources, the later ones over the earlier.
fn join(
    subject: &Subject<SecretAggregateSpec>,
    observed: &ObservedState<'_>,
) -> Result<BTreeMap<String, Vec<u8>>, Progress> {
    let mut joined = BTreeMap::new();
    for source in &subject.spec.sources {
        joined.extend(taken(source, subject.namespace(), observed)?);
    }
    Ok(joined)
}

/// What is taken of one source.
fn taken(
    source: &SecretSource,
    namespace: &str,
    observed: &ObservedState<'_>,
) -> Result<BTreeMap<String, Vec<u8>>, Progress> {
    let name = &source.secret_ref.name;
    let purpose = "values of the target: create it, or remove it from spec.sources";
    let mut values = SecretValues::read(observed, namespace, name, purpose)?.into_values();
    if source.keys.is_empty() {
        return Ok(values);
    }
    let pick = |key: &String| {
        let value = values.remove(key).ok_or_else(|| {
            let message =
                format!("Secret {name} has no key {key}: add it, or take it off spec.sources");
            Progress::failed(Reason::InvalidSecret, message)
        })?;
        Ok((key.clone(), value))
    };
    source.keys.iter().map(pick).collect()
}
