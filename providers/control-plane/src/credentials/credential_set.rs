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

/// How many credentials a user has at most, however many Keystone has lost: its administrator may delete each new one there.
pub(crate) const MOST: usize = 4;

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

    /// Which credentials should exist, and which of them is handed out, when `next` is asked for and `named` are still
    /// spoken of. There are never more than two, unless `is_lost`: Keystone doesn't have the one that is handed out, so its successor is
    /// created at once, up to [`MOST`] in all.
    pub(crate) fn plan(&self, next: Option<u32>, named: &BTreeSet<u32>, is_lost: bool) -> Plan {
        let newest_usable = || {
            let mut newest = self.credentials.iter().rev();
            newest.find(|credential| credential.usable && !credential.leaves)
        };
        let base = self
            .current()
            .or_else(newest_usable)
            .or(self.credentials.first());
        let Some(base) = base else {
            return Plan {
                wanted: [1].into(),
                handed_out: None,
            };
        };
        let mut wanted: BTreeSet<u32> = [base.number].into();
        let taken_up = self.is_taken_up(base);
        for other in &self.credentials {
            if !taken_up || named.contains(&other.number) {
                wanted.insert(other.number);
            }
        }
        let next = match is_lost {
            true => {
                Some(base.successor()).filter(|next| wanted.len() < MOST || wanted.contains(next))
            }
            false => next.filter(|next| {
                let room = wanted
                    .iter()
                    .all(|other| [base.number, *next].contains(other));
                room && *next == base.successor()
            }),
        };
        wanted.extend(next);
        let usable = |number: u32| self.get(number).filter(|next| next.usable);
        let handed_out = next.and_then(usable).or(Some(base));
        Plan {
            wanted,
            handed_out: handed_out
                .and_then(|credential| Some((credential.number, credential.id.clone()?))),
        }
    }
}

/// Which credentials a user should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Their numbers.
    pub(crate) wanted: BTreeSet<u32>,
    /// Number and ID of the one that the service gets, if there is one that can be used.
    pub(crate) handed_out: Option<(u32, String)>,
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn id(number: u32) -> String {
        format!("id-{number}")
    }

    /// Usable credentials by number, with the time at which each was made, of which one was handed out and has arrived, and one is used.
    pub(crate) fn usable_set(
        made: impl IntoIterator<Item = (u32, Option<Timestamp>)>,
        sent: u32,
        used: u32,
    ) -> CredentialSet {
        let credentials = made.into_iter().map(|(number, made)| Credential {
            number,
            id: Some(id(number)),
            usable: true,
            made,
            leaves: false,
        });
        CredentialSet {
            credentials: credentials.collect(),
            sent: Some(id(sent)),
            delivered: Some(id(sent)),
            used: Used::Id(id(used)),
        }
    }

    fn set(numbers: &[u32], sent: u32, used: u32) -> CredentialSet {
        usable_set(numbers.iter().map(|number| (*number, None)), sent, used)
    }

    fn wanted(set: &CredentialSet, next: Option<u32>, named: &[u32]) -> Vec<u32> {
        let named: BTreeSet<u32> = named.iter().copied().collect();
        let plan = set.plan(next, &named, false);
        plan.wanted.into_iter().collect()
    }

    fn handed_out(set: &CredentialSet, next: Option<u32>) -> Option<u32> {
        let (number, given) = set.plan(next, &BTreeSet::new(), false).handed_out?;
        assert_eq!(given, id(number));
        Some(number)
    }

    #[test]
    fn first_credential_is_planned_where_there_is_none() {
        let mut none = set(&[], 1, 1);
        none.sent = None;
        assert_eq!(wanted(&none, None, &[]), [1]);
        assert_eq!(handed_out(&none, None), None);
    }

    #[test]
    fn next_credential_is_handed_out_only_when_it_can_be_used() {
        let mut both = set(&[1, 2], 1, 1);
        both.credentials[1].usable = false;
        assert_eq!(wanted(&both, Some(2), &[1]), [1, 2]);
        assert_eq!(handed_out(&both, Some(2)), Some(1));
        both.credentials[1].usable = true;
        assert_eq!(handed_out(&both, Some(2)), Some(2));
    }

    #[test]
    fn old_credential_stays_until_the_new_one_has_arrived_and_is_used() {
        let arrived_and_used = set(&[1, 2], 2, 2);
        assert_eq!(wanted(&arrived_and_used, None, &[]), [2]);
        let nobody_to_use_it = CredentialSet {
            used: Used::Nowhere,
            ..arrived_and_used.clone()
        };
        assert_eq!(wanted(&nobody_to_use_it, None, &[]), [2]);
        let not_arrived = CredentialSet {
            delivered: Some(id(1)),
            ..arrived_and_used.clone()
        };
        let unsaid = CredentialSet {
            used: Used::Unsaid,
            ..arrived_and_used.clone()
        };
        for set in [not_arrived, unsaid, set(&[1, 2], 2, 1)] {
            assert_eq!(wanted(&set, None, &[]), [1, 2], "{set:?}");
        }
    }

    #[test]
    fn named_credential_stays() {
        assert_eq!(wanted(&set(&[1, 2], 2, 2), None, &[1]), [1, 2]);
    }

    #[test]
    fn credentials_are_never_more_than_two() {
        let named = set(&[1, 2], 2, 2);
        assert_eq!(wanted(&named, Some(3), &[1]), [1, 2]);
        let in_use = set(&[1, 2], 2, 1);
        assert_eq!(wanted(&in_use, Some(3), &[]), [1, 2]);
        assert_eq!(wanted(&set(&[1, 2], 2, 2), Some(3), &[]), [2, 3]);
    }

    #[test]
    fn lost_credential_is_replaced_while_others_stay() {
        let mut all = set(&[1, 2], 2, 1);
        let plan = |set: &CredentialSet| {
            let Plan { wanted, handed_out } = set.plan(None, &BTreeSet::from([1]), true);
            (wanted.into_iter().collect::<Vec<u32>>(), handed_out)
        };
        assert_eq!(plan(&all), (vec![1, 2, 3], Some((2, id(2)))));
        all.credentials.extend(set(&[3], 2, 1).credentials);
        assert_eq!(plan(&all), (vec![1, 2, 3], Some((3, id(3)))));
        for newest in [3, 4, 4] {
            let (wanted, _) = plan(&all);
            assert_eq!(wanted.last(), Some(&newest));
            all = set(&wanted, newest, 1);
        }
    }

    #[test]
    fn next_credential_has_only_the_next_number() {
        for next in [0, 1, 3, 7] {
            assert_eq!(wanted(&set(&[1], 1, 1), Some(next), &[]), [1], "{next}");
        }
    }

    #[test]
    fn newest_usable_credential_is_handed_out_where_none_was() {
        let mut all = set(&[1, 2, 3, 4], 9, 9);
        all.sent = None;
        all.credentials[3].usable = false;
        all.credentials[2].leaves = true;
        assert_eq!(handed_out(&all, None), Some(2));
    }

    #[test]
    fn current_credential_stays_handed_out_until_another_is_requested() {
        let both = set(&[1, 2], 1, 1);
        assert_eq!(handed_out(&both, None), Some(1));
        assert_eq!(wanted(&both, None, &[]), [1]);
    }
}
