//! What services read: the options and policy rules that each release of them has, and the options that it deprecates, made from their
//! own option objects.

mod kind;
mod near;
mod table;

use std::fmt;

use crate::definition::OptionTables;
use crate::registry::SERVICES;
use crate::release::Release;
use table::Line;

/// The options and policy rules that one release of a service has.
#[derive(Clone, Copy)]
pub struct Options {
    service: &'static str,
    tables: OptionTables,
    release: Release,
}

/// An option that a service reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its section.
    pub section: &'static str,
    /// Its name: the one that it has now, whatever it was asked for by.
    pub name: &'static str,
    /// What its values are, as the tables have it: `int(1..)` or `many:text`.
    pub kind: &'static str,
    /// Whether nobody may see its values.
    pub secret: bool,
}

/// A service has no such thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    what: String,
    /// What may have been meant.
    near: Option<String>,
}

/// An option of a service in every release that has it, by its name or by one that it had before.
pub fn in_any_release(service: &str, section: &str, name: &str) -> impl Iterator<Item = Known> {
    let services = SERVICES.iter().filter(move |known| known.name == service);
    let tables = services.filter_map(|known| known.options);
    let lines = tables.flat_map(|tables| table::all(tables.options));
    lines
        .filter(move |(of, line)| {
            (*of, line.name) == (section, name) || line.was(of, section, name)
        })
        .map(|(of, line)| Known::of(of, line))
}

impl Options {
    /// What a release of a service has. None where nobody has written it down.
    pub fn of(service: &str, release: Release) -> Option<Self> {
        let known = SERVICES.iter().find(|known| known.name == service)?;
        Some(Self {
            service: known.name,
            tables: known.options?,
            release,
        })
    }

    /// Every option, by section and name.
    pub fn all(&self) -> impl Iterator<Item = Known> {
        self.lines().map(|(section, line)| Known::of(section, line))
    }

    /// An option by its name, or by one that it had before.
    ///
    /// # Errors
    /// The service reads no such option.
    pub fn find(&self, section: &str, name: &str) -> Result<Known, Unknown> {
        let now = self
            .all()
            .find(|known| (known.section, known.name) == (section, name));
        if let Some(known) = now {
            return Ok(known);
        }
        let before = self.lines().find(|(of, line)| line.was(of, section, name));
        if let Some((section, line)) = before {
            return Ok(Known::of(section, line));
        }
        Err(self.unknown(section, name))
    }

    /// Whether the release deprecates an option for removal, by the name that the option has in it.
    pub fn is_deprecated(&self, section: &str, name: &str) -> bool {
        let option = format!("[{section}] {name}");
        table::names(self.tables.deprecated, self.release).any(|deprecated| deprecated == option)
    }

    /// Checks that there is a policy rule of this name.
    ///
    /// # Errors
    /// The service has no such rule.
    pub fn rule(&self, name: &str) -> Result<(), Unknown> {
        let rules = || table::names(self.tables.rules, self.release);
        match rules().any(|rule| rule == name) {
            true => Ok(()),
            false => Err(Unknown {
                what: format!("{} {} has no such rule", self.service, self.release),
                near: near::near(name, rules()).map(str::to_owned),
            }),
        }
    }

    fn lines(&self) -> impl Iterator<Item = (&'static str, Line)> {
        table::lines(self.tables.options, self.release)
    }

    /// What may have been meant: an option of the same section, the same option of another one, or another section.
    fn unknown(&self, section: &str, name: &str) -> Unknown {
        let (service, release) = (self.service, self.release);
        let here = || {
            let here = self.all().filter(|known| known.section == section);
            here.map(|known| known.name)
        };
        let mut elsewhere = self.all().filter(|known| known.name == name);
        if here().next().is_none() {
            let near = near::near(section, self.all().map(|known| known.section));
            return Unknown {
                what: format!("{service} {release} has no section [{section}]"),
                near: match (near, elsewhere.next(), elsewhere.next()) {
                    (None, Some(only), None) => Some(format!("[{}] {name}", only.section)),
                    (near, ..) => near.map(|near| format!("[{near}]")),
                },
            };
        }
        let near = near::near(name, here());
        Unknown {
            what: format!("{service} {release} has no such option"),
            near: match (near, elsewhere.next(), elsewhere.next()) {
                (_, Some(only), None) => Some(format!("[{}] {name}", only.section)),
                (near, ..) => near.map(str::to_owned),
            },
        }
    }
}

impl Known {
    fn of(section: &'static str, line: Line) -> Self {
        Self {
            section,
            name: line.name,
            kind: line.kind,
            secret: line.secret,
        }
    }

    /// Whether it may have several values, each in a line of its own.
    pub fn is_many(&self) -> bool {
        self.kind.starts_with(kind::MANY)
    }

    /// Whether its value is a number, a truth value or one of given words.
    pub fn is_plain(&self) -> bool {
        kind::is_plain(self.kind)
    }

    /// Checks one value, as it stands in a file.
    ///
    /// # Errors
    /// The service wouldn't start with it: the text says what it takes. The value, which may be a secret, isn't shown.
    pub fn check(&self, value: &str) -> Result<(), String> {
        kind::check(
            self.kind.strip_prefix(kind::MANY).unwrap_or(self.kind),
            value,
        )
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)?;
        match &self.near {
            Some(near) => write!(out, ": did you mean {near}?"),
            None => out.write_str(": leave it out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keystone(release: Release) -> Options {
        Options::of("keystone", release).unwrap()
    }

    const R2025_2: Release = Release::new(2025, 2);
    const R2026_1: Release = Release::new(2026, 1);

    #[test]
    fn an_option_is_found_in_the_releases_that_have_it() {
        let known = keystone(R2025_2).find("cache", "dead_timeout").unwrap();
        assert_eq!((known.name, known.kind), ("dead_timeout", "float"));
        let known = keystone(R2026_1).find("cache", "dead_timeout").unwrap();
        assert_eq!(known.name, "hashclient_dead_timeout", "it was renamed");
        assert!(
            keystone(R2025_2)
                .find("cache", "hashclient_dead_timeout")
                .is_err()
        );
    }

    #[test]
    fn an_option_is_found_by_the_section_that_it_once_was_in() {
        let known = keystone(R2026_1).find("assignment", "list_limit").unwrap();
        assert_eq!((known.section, known.name), ("resource", "list_limit"));
    }

    #[test]
    fn an_option_is_known_as_a_secret() {
        let known = keystone(R2026_1).find("database", "connection").unwrap();
        assert_eq!((known.kind, known.secret), ("text", true));
        let known = keystone(R2026_1).find("token", "expiration").unwrap();
        assert!(!known.secret);
        let before = in_any_release("keystone", "cache", "dead_timeout");
        assert_eq!(before.count(), 2, "one by its name of now");
    }

    #[rstest::rstest]
    #[case(
        "token",
        "experation",
        "keystone 2026.1 has no such option: did you mean expiration?"
    )]
    #[case(
        "DEFAULT",
        "max_pool_size",
        "keystone 2026.1 has no such option: did you mean [database] max_pool_size?"
    )]
    #[case(
        "tokn",
        "expiration",
        "keystone 2026.1 has no section [tokn]: did you mean [token]?"
    )]
    #[case(
        "elsewhere",
        "max_pool_size",
        "keystone 2026.1 has no section [elsewhere]: did you mean [database] max_pool_size?"
    )]
    #[case("token", "colour", "keystone 2026.1 has no such option: leave it out")]
    fn the_nearest_name_is_told(#[case] section: &str, #[case] name: &str, #[case] message: &str) {
        let unknown = keystone(R2026_1).find(section, name).unwrap_err();
        assert_eq!(unknown.to_string(), message);
    }

    #[test]
    fn a_rule_is_known_by_its_name() {
        assert_eq!(keystone(R2026_1).rule("identity:create_project"), Ok(()));
        let unknown = keystone(R2026_1)
            .rule("identity:create_projet")
            .unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "keystone 2026.1 has no such rule: did you mean identity:create_project?"
        );
    }

    #[test]
    fn every_known_release_of_every_service_has_options_and_rules() {
        for service in SERVICES.map(|service| service.name) {
            for tags in crate::release::table::RELEASES {
                let options = Options::of(service, tags.release).unwrap();
                assert!(options.all().count() > 100, "{service} {}", tags.release);
                assert!(
                    table::names(options.tables.rules, tags.release).count() > 30,
                    "{service} {}",
                    tags.release
                );
            }
        }
        assert!(Options::of("tempest", R2026_1).is_none());
    }

    #[rstest::rstest]
    #[case::in_every_release("token", "cache_on_issue", [true, true])]
    #[case::until_it_is_removed("DEFAULT", "watch_log_file", [true, false])]
    #[case::from_a_release_on("cache", "enforce_fips_mode", [false, true])]
    #[case::in_none("token", "expiration", [false, false])]
    #[case::in_another_section("DEFAULT", "cache_on_issue", [false, false])]
    fn option_is_deprecated_in_the_releases_that_say_so(
        #[case] section: &str,
        #[case] name: &str,
        #[case] expected: [bool; 2],
    ) {
        let is_deprecated = |release| keystone(release).is_deprecated(section, name);
        assert_eq!([R2025_2, R2026_1].map(is_deprecated), expected);
    }

    #[test]
    fn every_deprecated_option_is_an_option_of_the_release() {
        for service in SERVICES.map(|service| service.name) {
            for tags in crate::release::table::RELEASES {
                let options = Options::of(service, tags.release).unwrap();
                let known: Vec<String> = options
                    .all()
                    .map(|known| format!("[{}] {}", known.section, known.name))
                    .collect();
                let deprecated: Vec<&str> =
                    table::names(options.tables.deprecated, tags.release).collect();
                assert!(!deprecated.is_empty(), "{service} {}", tags.release);
                for option in deprecated {
                    let is_known = known.iter().any(|known| known == option);
                    assert!(is_known, "{service} {}: {option}", tags.release);
                }
            }
        }
    }
}
