//! Options of users that a release renames, removes or deprecates.

use std::iter;

use c5c3_api::parts::{Common, GivenOption};

use crate::image;
use crate::options::{Known, Options};
use crate::registry::ServiceDefinition;
use crate::release::Release;
use crate::release::table::RELEASES;

/// Returns what to change about the options that a user gives a service, a sentence for each: of those that the service has by another
/// name now, of those that a release which it can be upgraded to has by another name, or not at all, and of those that it or such a
/// release deprecates for removal. The options of a fork aren't known.
pub fn outdated_options(service: &ServiceDefinition, common: &Common) -> Vec<String> {
    let release = image::release(service, common).ok();
    let service = service.name;
    let release = release.filter(|_| common.image.fork.is_none());
    let Some((release, options)) =
        release.and_then(|release| Some((release, Options::of(service, release)?)))
    else {
        return Vec::new();
    };
    let all = RELEASES.iter().map(|tags| tags.release);
    let next = all.filter(|other| *other > release && release.may_become(*other).is_ok());
    let next: Vec<(Release, Options)> = next
        .filter_map(|next| Some((next, Options::of(service, next)?)))
        .collect();
    let change = |option: GivenOption<'_>| {
        let GivenOption {
            field,
            section,
            name,
        } = option;
        let given = format!("{field} sets [{section}] {name}");
        // One that isn't known is refused.
        let known = options.find(section, name).ok()?;
        if let Some(other) = other_name(known, section, name) {
            return Some(format!(
                "{given}, which is {other} in {service} {release}: rename it"
            ));
        }
        let changed = next
            .iter()
            .find_map(|(next, options)| match options.find(section, name) {
                Ok(known) => other_name(known, section, name).map(|other| {
                    format!("{given}, which is {other} from {service} {next} on: rename it after the upgrade")
                }),
                Err(_) => Some(format!(
                    "{given}, which {service} {next} doesn't have: leave it out before the upgrade, which is refused otherwise"
                )),
            });
        changed.or_else(|| {
            // A later release can take a deprecation back, as Glance did.
            let last = next.last().map_or(options, |(_, last)| *last);
            if !last.is_deprecated(section, name) {
                return None;
            }
            let mut releases = iter::once((release, options)).chain(next.iter().copied());
            let (release, _) =
                releases.find(|(_, options)| options.is_deprecated(section, name))?;
            Some(format!(
                "{given}, which is deprecated in {service} {release}: replace it or leave it out before a later release removes it"
            ))
        })
    };
    common.given_options().filter_map(change).collect()
}

/// The section and name of an option that was asked for by others.
fn other_name(known: Known, section: &str, name: &str) -> Option<String> {
    let is_other = (known.section, known.name) != (section, name);
    is_other.then(|| format!("[{}] {}", known.section, known.name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::{GLANCE, KEYSTONE, NOVA};

    fn outdated(release: &str, section: &str, option: &str) -> Vec<String> {
        let common = json!({ "release": release, "extraConfig": { section: { option: "1" } } });
        outdated_options(&KEYSTONE, &serde_json::from_value(common).unwrap())
    }

    #[rstest::rstest]
    #[case::has_another_name(
        "2026.1",
        "cache",
        "dead_timeout",
        "extraConfig sets [cache] dead_timeout, which is [cache] hashclient_dead_timeout in keystone 2026.1: rename it"
    )]
    #[case::gets_another_name(
        "2025.2",
        "cache",
        "dead_timeout",
        "extraConfig sets [cache] dead_timeout, which is [cache] hashclient_dead_timeout from keystone 2026.1 on: rename it \
         after the upgrade"
    )]
    #[case::is_removed(
        "2025.2",
        "DEFAULT",
        "watch_log_file",
        "extraConfig sets [DEFAULT] watch_log_file, which keystone 2026.1 doesn't have: leave it out before the upgrade, which \
         is refused otherwise"
    )]
    #[case::is_removed_after_a_release_that_can_be_skipped(
        "2025.1",
        "DEFAULT",
        "watch_log_file",
        "extraConfig sets [DEFAULT] watch_log_file, which keystone 2026.1 doesn't have: leave it out before the upgrade, which \
         is refused otherwise"
    )]
    #[case::is_deprecated(
        "2026.1",
        "token",
        "cache_on_issue",
        "extraConfig sets [token] cache_on_issue, which is deprecated in keystone 2026.1: replace it or leave it out before a \
         later release removes it"
    )]
    #[case::will_be_deprecated(
        "2026.1",
        "profiler_jaeger",
        "process_tags",
        "extraConfig sets [profiler_jaeger] process_tags, which is deprecated in keystone 2026.2: replace it or leave it out \
         before a later release removes it"
    )]
    fn option_that_changes_is_named_once_with_where_it_went(
        #[case] release: &str,
        #[case] section: &str,
        #[case] option: &str,
        #[case] message: &str,
    ) {
        assert_eq!(outdated(release, section, option), [message]);
    }

    #[rstest::rstest]
    #[case::stays("2025.2", "token", "expiration")]
    #[case::is_removed_in_no_release_that_is_next("2025.2", "auth", "ban_ec2credential_tokens")]
    #[case::is_deprecated_in_no_release_that_is_next("2025.2", "profiler_jaeger", "process_tags")]
    #[case::is_not_known("2025.2", "token", "colour")]
    #[case::is_of_an_unknown_release("2019.1", "DEFAULT", "watch_log_file")]
    fn option_is_not_outdated(#[case] release: &str, #[case] section: &str, #[case] option: &str) {
        assert!(outdated(release, section, option).is_empty());
    }

    #[test]
    fn option_whose_deprecation_was_taken_back_is_not_outdated() {
        let extra = json!({ "DEFAULT": { "delayed_delete": "true" } });
        let common = json!({ "release": "2025.1", "extraConfig": extra });
        let common = serde_json::from_value(common).unwrap();
        let options = Options::of("glance", RELEASES[0].release).unwrap();
        assert!(options.is_deprecated("DEFAULT", "delayed_delete"));
        assert!(outdated_options(&GLANCE, &common).is_empty());
    }

    #[test]
    fn options_of_a_fork_are_not_known() {
        let extra = json!({ "DEFAULT": { "watch_log_file": "true" } });
        let mut common: Common =
            serde_json::from_value(json!({ "release": "2025.2", "extraConfig": extra })).unwrap();
        assert_eq!(outdated_options(&NOVA, &common).len(), 1);
        common.image = serde_json::from_value(json!({ "fork": "sap", "tag": "2025.2" })).unwrap();
        assert!(outdated_options(&NOVA, &common).is_empty());
    }

    #[test]
    fn option_in_a_secret_is_named_with_its_field() {
        let secret = json!({ "section": "cache", "option": "memcache_password", "secretKeyRef": { "name": "a", "key": "b" } });
        let common = json!({ "release": "2025.2", "extraConfigSecrets": [secret] });
        let outdated = outdated_options(&KEYSTONE, &serde_json::from_value(common).unwrap());
        let begins = "extraConfigSecrets sets [cache] memcache_password, which is [cache] password from keystone 2026.1 on";
        assert!(outdated[0].starts_with(begins), "{outdated:?}");
    }
}
