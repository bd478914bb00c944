//! Users of databases and message buses, and how one replaces another while pods use both.
//!
//! The first user's Secret is, for instance, `glance-db-credentials`, the second's `glance-db-credentials-2`. A Secret is generated
//! when a CredentialRotation asks for it, and never changes. Pods get the newest user that can log in. An older one is deleted once
//! no pod or Job can have its password. All of it is read from the observed state, so a restart forgets nothing.

use c5c3_api::credential_rotation::RotationType;
use c5c3_kinds::{Manifest, Spec, mariadb, rabbitmq};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{
    DesiredState, Generated, Key, Live, Progress, Reason, Resource, ResourceKind, Retention,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::prerequisite::{Prerequisite, are_ready};
use crate::rotations::{Rotations, number, numbered};
use crate::service::{INSTANCE, Service};
use crate::succession::Succession;

mod retire;

pub(crate) use retire::retire;

/// What the objects of a user are called besides the first, before its number.
const SUFFIX: &str = "credentials";

/// A user, by its number.
pub(crate) struct User {
    pub(crate) number: u32,
    /// The Secret with its name and password.
    pub(crate) secret: String,
    /// The name of its objects in this cluster.
    pub(crate) object: String,
}

/// The users of one database or message bus.
pub(crate) struct Users<'a> {
    service: &'a Service<'a>,
    type_: RotationType,
    object: &'a str,
    secrets: Succession<'a>,
}

impl<'a> Users<'a> {
    /// Observes the users whose first has this Secret and these objects. An older Secret is kept as long as its user exists.
    ///
    /// # Errors
    /// The Secrets can't be read.
    pub(crate) fn of(
        (service, type_): (&'a Service<'a>, RotationType),
        (secret, object): (&'a str, &'a str),
        desired: &mut DesiredState,
    ) -> Prerequisite<Self> {
        let users = Self {
            service,
            type_,
            object,
            secrets: Succession::of(service.observed, service.namespace, secret)?,
        };
        let newest = users.secrets.newest();
        for number in users.secrets.generated() {
            let user = users.user(number);
            if number == newest || !service.observed.object(&users.key(&user)).is_missing() {
                users.secrets.keep(number, desired);
            }
        }
        Ok(users)
    }

    /// The newest user, which pods have or get.
    pub(crate) fn newest(&self) -> User {
        self.user(self.secrets.newest())
    }

    /// Returns the user that pods get for now, and its account: the newest user that is ready, or the newest of all, whose account is
    /// `account`, while none is. Keeps the objects of an older user, and reads its account.
    ///
    /// # Errors
    /// The Secret of an older user can't be read.
    pub(crate) fn in_use<A>(
        &self,
        account: A,
        read: impl Fn(&str) -> Prerequisite<A>,
        desired: &mut DesiredState,
    ) -> Prerequisite<(User, A)> {
        let newest = self.newest();
        let objects = |user: &User| own(self.service, self.type_, (self.object, &user.object));
        let is_ready = |user: &User| {
            // It is shown nowhere: a user that isn't ready is passed over.
            let reason = Reason::WaitingFor("User");
            are_ready(&objects(user), reason, self.service.observed).is_ok()
        };
        if newest.number == 1 || is_ready(&newest) {
            return Ok((newest, account));
        }
        let older = self.older().filter(is_ready);
        let Some(user) = older.max_by_key(|user| user.number) else {
            return Ok((newest, account));
        };
        desired.kept.extend(objects(&user));
        let account = read(&user.secret)?;
        Ok((user, account))
    }

    /// The users that the newest replaces.
    pub(crate) fn older(&self) -> impl Iterator<Item = User> + '_ {
        self.secrets.older().map(|number| self.user(number))
    }

    /// Generates the Secret of the next user if a rotation asks for it, and no other service has the `present` user: it would lose it.
    /// A condition says why it isn't generated. `usual` is the first user's usual name, and `key` that of the password in its Secret.
    pub(crate) fn generate(
        &self,
        (usual, key, present): (&str, &str, &str),
        desired: &mut DesiredState,
    ) {
        let next = match self.next(present) {
            Ok(Some(next)) => next,
            Ok(None) => return,
            Err(pending) => return desired.conditions.note(exclusive(self.type_), &pending),
        };
        let secret = Key::of::<Secret>(self.service.namespace, &self.secrets.secret(next));
        // Databases whose users have one Secret have the next one in common, too.
        if desired.generated.contains_key(&secret) {
            return;
        }
        // No database and no cell has a name with a dot.
        let mut generated = user_credentials(self.type_, &format!("{usual}.{next}"));
        if let Some(password) = generated.values.remove("password") {
            generated.values.insert(key.to_owned(), password);
        }
        generated.retention = Retention::WhileWanted;
        self.secrets.generate(next, generated, desired);
    }

    /// The number of the user that a rotation asks for.
    ///
    /// # Errors
    /// Another service has the `present` user too, or it isn't known whether one has.
    fn next(&self, present: &str) -> Prerequisite<Option<u32>> {
        let Service {
            namespace, name, ..
        } = *self.service;
        let rotations = Rotations::of(self.service.observed, namespace, name, self.type_);
        let next = rotations.map_err(Progress::unknown)?.next();
        let Some(next) = next.filter(|next| *next > self.newest().number) else {
            return Ok(None);
        };
        let other = match self.type_ {
            RotationType::MessagingUser => {
                self.other(present, |live| grantee(live.body.spec, self.service))
            }
            _ => self.other(present, |live| {
                let account: mariadb::Account = live.body.spec;
                Ok(account.name.or(Some(live.metadata.name)))
            }),
        };
        match other.map_err(Progress::unknown)? {
            None => Ok(Some(next)),
            Some(other) => Err(Progress::failed(
                Reason::UserShared,
                format!(
                    "{other} is of the user {present} too, which a rotation of {name} deletes: give it another user, and the \
                     rotation goes on; until then the present user stays in use"
                ),
            )),
        }
    }

    /// An object that isn't of this service, and is of the `present` user. `named` says which user an object is of.
    fn other<S: Spec + DeserializeOwned>(
        &self,
        present: &str,
        named: impl Fn(Live<Manifest<S>>) -> Result<Option<String>, String>,
    ) -> Result<Option<Key>, String> {
        let service = self.service;
        let all = service.list::<Manifest<S>>(&[]);
        for live in all.known()?.unwrap_or_default() {
            let instance = live.metadata.labels.get(INSTANCE);
            let is_other = instance.map(String::as_str) != Some(service.name);
            let key = Key::of::<Manifest<S>>(service.namespace, &live.metadata.name);
            if is_other && named(live)?.as_deref() == Some(present) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    fn user(&self, number: u32) -> User {
        User {
            number,
            secret: self.secrets.secret(number),
            object: match number {
                1 => self.object.to_owned(),
                _ => numbered(&format!("{}-{SUFFIX}", self.object), number),
            },
        }
    }

    fn key(&self, user: &User) -> Key {
        let [kind, _] = kinds(self.type_);
        Key::new(kind, self.service.namespace, &user.object)
    }
}

/// A Secret with the name and the password of a user that rotations of this type replace. It has the label by which the server's operator
/// finds it.
pub fn user_credentials(type_: RotationType, username: &str) -> Generated {
    let (label, value) = match type_ {
        RotationType::MessagingUser => rabbitmq::WATCH,
        _ => mariadb::WATCH,
    };
    Generated {
        labels: [(label.to_owned(), value.to_owned())].into(),
        is_immutable: true,
        ..Generated::credentials(username)
    }
}

/// The name in RabbitMQ of the user that a Permission is of; none while the User that the Permission refers to isn't created there.
///
/// # Errors
/// The User can't be read; the message says why.
fn grantee(grantee: rabbitmq::Grantee, service: &Service<'_>) -> Result<Option<String>, String> {
    let Some(reference) = grantee.user_reference else {
        return Ok(grantee.user);
    };
    let key = Key::of::<Manifest<rabbitmq::User>>(service.namespace, &reference.name);
    let user = service.observed.object(&key);
    Ok(user.known()?.and_then(|user| {
        let name = user.pointer("/status/username").and_then(Value::as_str);
        name.map(str::to_owned)
    }))
}

/// The condition of a service that says why a rotation of this type doesn't begin: another service may have its users.
pub const fn exclusive(type_: RotationType) -> &'static str {
    match type_ {
        RotationType::MessagingUser => "MessagingUsersExclusive",
        _ => "DatabaseUsersExclusive",
    }
}

/// The condition of a service that says what the former users of a rotation of this type stay for: a Job of a CronJob, pods of a former part,
/// or agents on hypervisors.
pub const fn replaced(type_: RotationType) -> &'static str {
    match type_ {
        RotationType::MessagingUser => "MessagingUsersReplaced",
        _ => "DatabaseUsersReplaced",
    }
}

/// The kinds that a user consists of in its server, first the user itself.
const fn kinds(type_: RotationType) -> [ResourceKind; 2] {
    match type_ {
        RotationType::MessagingUser => [
            Manifest::<rabbitmq::User>::KIND,
            Manifest::<rabbitmq::Permission>::KIND,
        ],
        _ => [
            Manifest::<mariadb::User>::KIND,
            Manifest::<mariadb::Grant>::KIND,
        ],
    }
}

/// The keys of a database or a virtual host, of its user, and of the user's grant or permission, in order of creation.
pub(crate) fn own(
    service: &Service<'_>,
    type_: RotationType,
    (place, user): (&str, &str),
) -> [Key; 3] {
    let place_kind = match type_ {
        RotationType::MessagingUser => Manifest::<rabbitmq::Vhost>::KIND,
        _ => Manifest::<mariadb::Database>::KIND,
    };
    let [user_kind, right] = kinds(type_);
    let all = [(place_kind, place), (user_kind, user), (right, user)];
    all.map(|(kind, name)| Key::new(kind, service.namespace, name))
}

/// Whether a user is kept: pods get another one than the newest, or it isn't known which one they have.
pub(crate) fn are_kept(desired: &DesiredState) -> bool {
    let all = [RotationType::DatabaseUser, RotationType::MessagingUser];
    let all = all.map(|type_| kinds(type_)[0]);
    desired.kept.iter().any(|key| all.contains(&key.kind))
}

/// The number of the user whose objects have this name.
fn number_of(object: &str) -> u32 {
    let last = object.rsplit_once('-');
    let first = last.and_then(|(first, _)| first.strip_suffix(SUFFIX));
    let number = first.and_then(|first| number(&format!("{first}{SUFFIX}"), object));
    number.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_a_user_is_that_in_the_name_of_its_objects() {
        let numbers = ["glance", "nova-cell-2", "nova-cell-2-credentials-13"].map(number_of);
        assert_eq!(numbers, [1, 1, 13]);
    }
}
