//! Which credentials a user or service should have, given those that there are.

use std::collections::BTreeSet;

use super::CredentialSet;

/// How many credentials a user has at most, however many Keystone has lost: its administrator may delete each new one there.
pub(crate) const MOST: usize = 4;

/// Which credentials a user should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Their numbers.
    pub(crate) wanted: BTreeSet<u32>,
    /// Number and ID of the one that the service gets, if there is one that can be used.
    pub(crate) handed_out: Option<(u32, String)>,
}

impl CredentialSet {
    /// Which credentials should exist, and which of them is handed out, when `next` is asked for and `named` are still
    /// spoken of. There are never more than two, unless `is_lost`: Keystone refuses the one that is handed out, so its successor is
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
                let mut wanted = wanted.iter();
                *next == base.successor()
                    && wanted.all(|other| [base.number, *next].contains(other))
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

#[cfg(test)]
pub(crate) mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::credentials::credential_set::{Credential, Used};

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
