//! CredentialRotation: the new credential is in use before the old one goes.
//!
//! A CredentialRotation composes nothing. It says in its status which application credential should be next, and the
//! control plane that keeps the service user makes it, hands it out, and drops what neither the status nor the service
//! speaks of any more. So nothing happens to a credential when its rotation is deleted.

mod step;

use std::time::Duration;

use c5c3_api::credential_rotation::{CredentialRotationSpec, CredentialRotationStatus};
use c5c3_api::parts::NamedRef;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{
    Composer, DesiredState, Failure, Key, Lookup, ObservedState, Progress, Reason, Resource,
    ResourceKind, Subject, Use,
};

use self::step::{Memory, Pace, Step, step};
use crate::credentials::{Rotations, ServiceUser, Standing, by_name, consumers, number, numbered};
use crate::manifest::korc::{ApplicationCredential, Managed, Observed, User};

/// Composes CredentialRotations.
pub struct CredentialRotationComposer;

impl Composer for CredentialRotationComposer {
    type Spec = CredentialRotationSpec;
    type Status = CredentialRotationStatus;
    const OPERATOR: &'static str = "c5c3-operator";

    fn uses(&self) -> Vec<Use> {
        let read = [
            Secret::KIND,
            User::KIND,
            ApplicationCredential::KIND,
            ResourceKind::of::<CredentialRotationSpec>(),
        ];
        read.into_iter()
            .chain(consumers())
            .map(Use::reads)
            .collect()
    }

    fn compose(
        &self,
        subject: &Subject<CredentialRotationSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<CredentialRotationStatus, Failure> {
        let found = pace(&subject.spec).and_then(|pace| Ok((pace, target(subject, observed)?)));
        let (pace, (user, standing)) = match found {
            Ok(found) => found,
            Err(progress) => {
                desired.conditions.set("RotationScheduled", &progress);
                return Ok(subject.status.clone());
            }
        };
        let before = remembered(&subject.status, user);
        let Step {
            memory,
            next_rotation,
            wake,
            progress,
        } = step(&standing, &before, pace, observed.now());
        desired
            .conditions
            .set("RotationScheduled", &Progress::Ready);
        let in_use = progress.worded(user.name);
        desired.conditions.set("CredentialInUse", &in_use);
        if let Some(moment) = wake {
            desired.requeue_at(moment);
        }
        let named = |number: Option<u32>| {
            number.map(|number| NamedRef {
                name: numbered(user.name, number),
            })
        };
        Ok(CredentialRotationStatus {
            conditions: Vec::new(),
            last_rotation: memory.rotated.map(written),
            next_rotation: next_rotation.map(written),
            current_credential_ref: named(memory.current),
            next_credential_ref: named(memory.next),
            previous_credential_ref: named(memory.previous),
        })
    }
}

/// The user whose credential is replaced, and how its credentials stand.
fn target(
    subject: &Subject<CredentialRotationSpec>,
    observed: &ObservedState<'_>,
) -> Result<(&'static ServiceUser, Standing), Progress> {
    let namespace = subject.namespace();
    let name = &subject.spec.target_service_user;
    let unknown = |message| Progress::Unknown { message };
    let missing = || {
        Progress::failed(
            Reason::UserNotFound,
            format!(
                "there is no service user {name} in this namespace: set targetServiceUser to a User of K-ORC that a control \
                 plane has made, for instance glance"
            ),
        )
    };
    let user = by_name(name).ok_or_else(missing)?;
    match observed.object(&Key::of::<Observed<User>>(namespace, name)) {
        Lookup::Found(_) => {}
        Lookup::Missing => return Err(missing()),
        Lookup::Unknown(message) => return Err(unknown(message)),
    }
    let rotations = Rotations::of(observed, namespace, name).map_err(unknown)?;
    match rotations.eldest() {
        Some(eldest) if eldest != subject.name() => {
            return Err(Progress::failed(
                Reason::AnotherRotation,
                format!(
                    "CredentialRotation {eldest} is of user {name} too, and is the elder: delete one of the two"
                ),
            ));
        }
        Some(_) | None => {}
    }
    let standing = Standing::of(observed, namespace, user).map_err(unknown)?;
    Ok((user, standing))
}

/// What the status has kept.
fn remembered(status: &CredentialRotationStatus, user: &ServiceUser) -> Memory {
    let numbered = |reference: &Option<NamedRef>| {
        let name = &reference.as_ref()?.name;
        number(user.name, name)
    };
    let rotated = status.last_rotation.as_deref();
    Memory {
        current: numbered(&status.current_credential_ref),
        next: numbered(&status.next_credential_ref),
        previous: numbered(&status.previous_credential_ref),
        rotated: rotated.and_then(|moment| moment.parse().ok()),
    }
}

fn pace(spec: &CredentialRotationSpec) -> Result<Pace, Progress> {
    let days = |days: u32| Duration::from_secs(u64::from(days) * 86_400);
    let moment = |written: &String| {
        written.parse().map_err(|error| {
            Progress::failed(
                Reason::Invalid,
                format!(
                    "replaceMadeBefore is {written:?} ({error}): write it as 2026-01-31T12:00:00Z"
                ),
            )
        })
    };
    Ok(Pace {
        interval: days(spec.schedule.interval_days),
        ahead: days(spec.schedule.pre_rotation_days),
        grace: days(spec.grace_period_days),
        replaced: spec.replace_made_before.as_ref().map(moment).transpose()?,
    })
}

/// A moment as Kubernetes writes it, to the second.
fn written(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
