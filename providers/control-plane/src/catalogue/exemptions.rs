//! Users of services are exempt from a site's rules for passwords and logins, which are made for people: whoever reaches Keystone could lock
//! such a user, and its password is neither used for months nor changed by its owner.

use std::collections::BTreeSet;

use c5c3_kinds::korc::{Made, User};
use provider_composer::{Progress, Reason};

use super::korc::Korc;
use super::users::UserCredentials;
use crate::credentials::keystone::{Answer, Change};

/// The section of Keystone's configuration with the rules.
const RULES: &str = "security_compliance";

/// The IDs of the users that must be exempt: none where the site has no rules.
pub(super) fn wanted(korc: &Korc<'_>, users: &[UserCredentials]) -> BTreeSet<String> {
    let services = korc.recipe.spec().services.as_ref();
    let has_rules = services.is_some_and(|services| {
        let mut given = services.keystone.service.overrides.given_options();
        given.any(|option| option.section == RULES)
    });
    if !has_rules {
        return BTreeSet::new();
    }
    let ids = users
        .iter()
        .map(|(user, _)| korc.id::<Made<User>>(user.name));
    ids.flatten().collect()
}

/// Exempts a user with an ID where it must be and isn't.
pub(super) fn exempt(
    korc: &mut Korc<'_>,
    answer: &Result<Answer, Progress>,
    name: &str,
    id: &str,
) -> Progress {
    match answer {
        Ok(answer) if answer.restricted.contains(id) => {
            korc.change(Change::Exempt {
                user: id.to_owned(),
            });
            Progress::waiting(
                Reason::WaitingFor("Keystone"),
                format!("waits for user {name} to be exempt from the rules of {RULES}"),
            )
        }
        Ok(_) => Progress::Ready,
        Err(progress) => progress.clone(),
    }
}
