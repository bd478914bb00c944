//! The credentials of one user or service: which there are, which was handed out, which is in use.
//!
//! All of it is read from the observed state, so nothing is forgotten by a restart. An application credential is an
//! ApplicationCredential of K-ORC called `<user>-<number>`. The newest that was handed out is the one whose ID stands in the
//! Secret that was written; it has been taken up as soon as the service's resource says in `status.applicationCredential`
//! that all of its pods run with that ID.

use std::collections::BTreeSet;

use c5c3_api::parts::Users;
use c5c3_kinds::korc::{ApplicationCredential, Observed};
use jiff::Timestamp;
use provider_composer::{Key, ObservedState, Progress, Reason, SecretValues};
use provider_openstack::{Prerequisite, number, secret_of};
use serde::Deserialize;

use super::{ID, ServiceUser, delivery};

/// Label of an ApplicationCredential with the service user's name.
pub(crate) const SERVICE_USER: &str = "c5c3.io/service-user";

/// One credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credential {
    /// Counts a user's credentials.
    pub(crate) number: u32,
    /// Its ID in Keystone.
    pub(crate) id: Option<String>,
    /// Whether it can be used, as far as K-ORC knows.
    pub(crate) usable: bool,
    /// When its object was made.
    pub(crate) made: Option<Timestamp>,
    /// Whether it is going.
    pub(crate) leaves: bool,
}

impl Credential {
    /// The number of the only credential that may replace it.
    pub(crate) fn successor(&self) -> u32 {
        self.number + 1
    }
}

/// What a service runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Used {
    /// There is no such service.
    Nowhere,
    /// The service doesn't say.
    Unsaid,
    /// The application credential with this ID, in all pods.
    Id(String),
}

/// The credentials of one user or service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CredentialSet {
    /// Those that there are, by number.
    pub(crate) credentials: Vec<Credential>,
    /// The ID that was handed out.
    pub(crate) sent: Option<String>,
    /// The ID that has arrived.
    pub(crate) delivered: Option<String>,
    /// What the service runs with.
    pub(crate) used: Used,
}

impl CredentialSet {
    /// Returns the credentials of a user, or why they aren't known.
    pub(crate) fn of(
        observed: &ObservedState<'_>,
        namespace: &str,
        user: &ServiceUser,
    ) -> Result<Self, String> {
        // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
        let name = user.credentials();
        let delivered = id_in(observed, namespace, &name);
        let sent = id_in(observed, namespace, &delivery::source(&name));
        let used = used(observed, namespace, user);
        let label = [(SERVICE_USER, user.name)];
        let listed = observed.list::<Observed<ApplicationCredential>>(namespace, &label);
        let listed = listed.known()?.unwrap_or_default();
        let mut credentials = Vec::new();
        for live in listed {
            let Some(number) = number(user.name, &live.metadata.name) else {
                continue;
            };
            let key = Key::of::<Observed<ApplicationCredential>>(namespace, &live.metadata.name);
            let available = observed.condition(&key, "Available").known()?.flatten();
            let usable = available.is_some_and(|it| it.status == "True");
            let made = live.metadata.creation_timestamp.as_deref();
            credentials.push(Credential {
                number,
                id: live.body.id().map(str::to_owned),
                usable,
                made: made.and_then(|made| made.parse().ok()),
                leaves: live.metadata.deletion_timestamp.is_some(),
            });
        }
        credentials.sort_by_key(|credential| credential.number);
        let delivered = delivered?;
        Ok(Self {
            credentials,
            sent: sent?.or_else(|| delivered.clone()),
            delivered,
            used: used?,
        })
    }

    /// Returns the users of a service's databases or message buses: what its resource reports under `pointer`, with the numbers as IDs.
    /// `secret` is the Secret of the first.
    ///
    /// # Errors
    /// A Secret doesn't exist, so it isn't known how old its user is, or something can't be read.
    pub(crate) fn of_users(
        observed: &ObservedState<'_>,
        service: &Key,
        pointer: &str,
        secret: &str,
    ) -> Prerequisite<Self> {
        let object = observed.object(service).optional()?;
        let said = object.as_ref().and_then(|object| object.pointer(pointer));
        let said = said.map(Users::deserialize).transpose();
        let said = said.map_err(|error| Progress::Unknown {
            message: format!("the users that {service} reports can't be understood: {error}"),
        })?;
        let Users { numbers, in_use } = said.unwrap_or_default();
        let namespace = service.namespace.as_deref().unwrap_or_default();
        let numbers = numbers.into_iter().collect();
        Self::of_numbers(observed, namespace, numbers, in_use, |number| {
            secret_of(secret, number)
        })
    }

    /// Returns the credentials in Secrets with these numbers, of which one is in use. The newest is the one that was handed out.
    ///
    /// # Errors
    /// A Secret doesn't exist, so it isn't known how old its credential is, or can't be read.
    pub(crate) fn of_numbers(
        observed: &ObservedState<'_>,
        namespace: &str,
        numbers: BTreeSet<u32>,
        in_use: Option<u32>,
        secret: impl Fn(u32) -> String,
    ) -> Prerequisite<Self> {
        let credential = |number: &u32| {
            let secret = secret(*number);
            let live = observed.get::<SecretValues>(namespace, &secret);
            let live = live.required(|| {
                let message = format!(
                    "waits for Secret {secret}, whose age is that of the credential: a rotation needs the Secret under this name"
                );
                Progress::waiting(Reason::WaitingFor("Secret"), message)
            })?;
            let made = live.metadata.creation_timestamp;
            Ok(Credential {
                number: *number,
                id: Some(number.to_string()),
                usable: true,
                made: made.and_then(|made| made.parse().ok()),
                leaves: false,
            })
        };
        let newest = numbers.last().map(u32::to_string);
        // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
        let credentials: Vec<Prerequisite<Credential>> = numbers.iter().map(credential).collect();
        Ok(Self {
            credentials: credentials.into_iter().collect::<Prerequisite<_>>()?,
            sent: newest.clone(),
            delivered: newest,
            used: in_use.map_or(Used::Unsaid, |number| Used::Id(number.to_string())),
        })
    }

    /// The newest credential that was handed out.
    pub(crate) fn current(&self) -> Option<&Credential> {
        let sent = self.sent.as_ref()?;
        let mut newest = self.credentials.iter().rev();
        newest.find(|credential| credential.id.as_ref() == Some(sent))
    }

    /// Whether nobody needs another credential than this one any more.
    pub(crate) fn is_taken_up(&self, credential: &Credential) -> bool {
        let arrived = credential.id.is_some() && self.delivered == credential.id;
        arrived
            && match &self.used {
                Used::Nowhere => true,
                Used::Unsaid => false,
                Used::Id(id) => credential.id.as_ref() == Some(id),
            }
    }

    /// One of the credentials.
    pub(crate) fn get(&self, number: u32) -> Option<&Credential> {
        let mut all = self.credentials.iter();
        all.find(|credential| credential.number == number)
    }
}

fn id_in(
    observed: &ObservedState<'_>,
    namespace: &str,
    secret: &str,
) -> Result<Option<String>, String> {
    let values = observed.body::<SecretValues>(namespace, secret).known()?;
    Ok(values.and_then(|values| values.line(ID).ok().map(str::to_owned)))
}

fn used(observed: &ObservedState<'_>, namespace: &str, user: &ServiceUser) -> Result<Used, String> {
    let consumer = observed.object(&Key::new(user.consumer, namespace, user.name));
    Ok(consumer.known()?.map_or(Used::Nowhere, |object| {
        let id = object.pointer("/status/applicationCredential");
        let id = id.and_then(|id| id.as_str());
        id.map_or(Used::Unsaid, |id| Used::Id(id.to_owned()))
    }))
}
