//! CredentialRotation: the new credential is in use before the old one goes.
//!
//! A CredentialRotation composes nothing. It says in its status which credential should be next. The control plane creates an
//! application credential, hands it out, and drops what neither the status nor the service speaks of any more; the operator of a service
//! does so with the users of its databases and message buses. So nothing happens to a credential when its rotation is deleted.

mod step;

use std::time::Duration;

use c5c3_api::Condition;
use c5c3_api::credential_rotation::{
    CredentialRotationSpec, CredentialRotationStatus, RotationType,
};
use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::parts::NamedRef;
use c5c3_kinds::korc::{ApplicationCredential, Managed, Observed, User};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{
    Composer, DesiredState, Failure, Key, Lookup, ObservedState, Progress, Reason, Resource,
    ResourceKind, Subject, Use, second,
};
use provider_openstack::{
    COMPUTES_CONFIGURED, Prerequisite, Rotations, SERVICES, exclusive, number, numbered, replaced,
};

use self::step::{Memory, Schedule, Stage, Step, step};
use crate::catalogue::{TENANT, TENANT_PASSWORD};
use crate::credentials::{ADMIN, CredentialSet, Password, by_name, consumers};

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
            ResourceKind::of::<KeystoneSpec>(),
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
        let found =
            schedule(&subject.spec).and_then(|schedule| Ok((schedule, target(subject, observed)?)));
        let (schedule, (user, set)) = match found {
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
        } = step(&set, &before, schedule, observed.now());
        desired
            .conditions
            .set("RotationScheduled", &Progress::Ready);
        let type_ = subject.spec.rotation_type;
        let mut in_use = progress.describe(user, type_);
        if let Stage::TakingUp(_) = progress
            && let Some(what) = blocking(subject.namespace(), user, type_, observed)
        {
            in_use = in_use.explained(|message| format!("{message}; {user} {what}"));
        }
        desired.conditions.set("CredentialInUse", &in_use);
        if let Some(moment) = wake {
            desired.requeue_at(moment);
        }
        let named = |number: Option<u32>| {
            number.map(|number| NamedRef {
                name: numbered(user, number),
            })
        };
        Ok(CredentialRotationStatus {
            conditions: Vec::new(),
            last_rotation: memory.rotated.map(second),
            next_rotation: next_rotation.map(second),
            current_credential_ref: named(memory.current),
            next_credential_ref: named(memory.next),
            previous_credential_ref: named(memory.previous),
        })
    }
}

/// The user or service whose credential is replaced, and its credentials.
fn target<'s>(
    subject: &'s Subject<CredentialRotationSpec>,
    observed: &ObservedState<'_>,
) -> Prerequisite<(&'s str, CredentialSet)> {
    let namespace = subject.namespace();
    let (name, type_) = (
        subject.spec.target_service_user.as_str(),
        subject.spec.rotation_type,
    );
    let set = match type_ {
        RotationType::ApplicationCredential => of_user(namespace, name, observed)?,
        RotationType::DatabaseUser | RotationType::MessagingUser => {
            of_service(namespace, name, type_, observed)?
        }
        RotationType::UserPassword => of_password(namespace, name, observed)?,
    };
    let rotations = Rotations::of(observed, namespace, name, type_).map_err(Progress::unknown)?;
    match rotations.eldest() {
        Some(eldest) if eldest != subject.name() => Err(Progress::failed(
            Reason::AnotherRotation,
            format!(
                "CredentialRotation {eldest} is of user {name} too, and is older: delete one of the two"
            ),
        )),
        Some(_) | None => Ok((name, set)),
    }
}

/// Returns the application credentials of a user, or why they aren't known.
fn of_user(
    namespace: &str,
    name: &str,
    observed: &ObservedState<'_>,
) -> Prerequisite<CredentialSet> {
    let user = by_name(name).ok_or_else(|| no_user(name))?;
    let observed_user = observed.object(&Key::of::<Observed<User>>(namespace, name));
    observed_user.required(|| no_user(name))?;
    CredentialSet::of(observed, namespace, user).map_err(Progress::unknown)
}

fn no_user(name: &str) -> Progress {
    let message = format!(
        "there is no service user {name} in this namespace: set targetServiceUser to a User of K-ORC that a control plane has \
         made, for instance glance"
    );
    Progress::failed(Reason::UserNotFound, message)
}

/// Returns the passwords of a user in Keystone, or why they aren't known.
fn of_password(
    namespace: &str,
    name: &str,
    observed: &ObservedState<'_>,
) -> Prerequisite<CredentialSet> {
    let first = match (name, by_name(name)) {
        (ADMIN, _) => return Password::of_admin(observed, namespace)?.credential_set(observed),
        (TENANT, _) => TENANT_PASSWORD.to_owned(),
        (_, Some(user)) => user.password(),
        (_, None) => return Err(no_user(name)),
    };
    let password = Password::of(observed, namespace, name, &first);
    let user = observed.object(&Key::of::<Observed<User>>(namespace, name));
    user.required(|| no_user(name))?;
    password?.credential_set(observed)
}

/// Returns the users of a service's databases or message buses, or why they aren't known or can't be replaced.
fn of_service(
    namespace: &str,
    name: &str,
    type_: RotationType,
    observed: &ObservedState<'_>,
) -> Prerequisite<CredentialSet> {
    let found = SERVICES.iter().find(|service| service.name == name);
    let found = found.and_then(|service| {
        let secret = match type_ {
            RotationType::MessagingUser => service.bus_credentials(service.buses.first()?),
            _ => service.database_credentials(service.databases.first()?),
        };
        Some((service.kind, secret))
    });
    let Some((kind, secret)) = found else {
        return Err(Progress::failed(
            Reason::UserNotFound,
            format!(
                "no service {name} has such users: set targetServiceUser to a service with databases or message buses, for \
                 instance nova"
            ),
        ));
    };
    let pointer = match type_ {
        RotationType::MessagingUser => "/status/messagingUsers",
        _ => "/status/databaseUsers",
    };
    let key = Key::new(kind, namespace, name);
    match observed.condition(&key, exclusive(type_)) {
        Lookup::Found(Some(condition)) => Err(reported(condition)),
        Lookup::Found(None) | Lookup::Missing => {
            CredentialSet::of_users(observed, &key, pointer, &secret)
        }
        Lookup::Unknown(message) => Err(Progress::Unknown { message }),
    }
}

/// What the former credentials of a service stay for, as its condition says.
fn blocking(
    namespace: &str,
    name: &str,
    type_: RotationType,
    observed: &ObservedState<'_>,
) -> Option<String> {
    let service = SERVICES.iter().find(|service| service.name == name)?;
    let condition = match type_ {
        RotationType::DatabaseUser | RotationType::MessagingUser => replaced(type_),
        RotationType::ApplicationCredential => COMPUTES_CONFIGURED,
        RotationType::UserPassword => return None,
    };
    let key = Key::new(service.kind, namespace, name);
    let condition = observed.condition(&key, condition).found().flatten()?;
    (condition.status == "False").then_some(condition.message)
}

/// A condition of the service that isn't True, as it is repeated here.
fn reported(condition: Condition) -> Progress {
    match &*condition.status {
        "False" => Progress::failed(Reason::reported(&condition.reason), condition.message),
        _ => Progress::Unknown {
            message: condition.message,
        },
    }
}

/// What the status has kept.
fn remembered(status: &CredentialRotationStatus, user: &str) -> Memory {
    let numbered = |reference: &Option<NamedRef>| {
        let name = &reference.as_ref()?.name;
        number(user, name)
    };
    let rotated = status.last_rotation.as_deref();
    Memory {
        current: numbered(&status.current_credential_ref),
        next: numbered(&status.next_credential_ref),
        previous: numbered(&status.previous_credential_ref),
        rotated: rotated.and_then(|moment| moment.parse().ok()),
    }
}

fn schedule(spec: &CredentialRotationSpec) -> Result<Schedule, Progress> {
    let days = |days: u32| Duration::from_secs(u64::from(days) * 86_400);
    let moment = |written: &String| {
        written.parse().map_err(|error| {
            let message = format!(
                "replaceMadeBefore is {written:?} ({error}): write it as 2026-01-31T12:00:00Z"
            );
            Progress::failed(Reason::Invalid, message)
        })
    };
    Ok(Schedule {
        interval: days(spec.schedule.interval_days),
        ahead: days(spec.schedule.pre_rotation_days),
        grace: days(spec.grace_period_days),
        replaced: spec.replace_made_before.as_ref().map(moment).transpose()?,
    })
}
