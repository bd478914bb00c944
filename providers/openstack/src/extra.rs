//! What users add to a service's configuration: options that no field of its resource says.

use std::collections::BTreeMap;

use c5c3_api::parts::{Common, ExtraConfig};
use provider_composer::{Failure, Reason};

use crate::config::is_name;
use crate::mask::is_secret;
use crate::options::{Known, Options};
use crate::release::Release;
use crate::service::Service;

/// A section or an option that is the operator's alone, and what a user sets instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned<'a> {
    section: &'a str,
    option: Option<&'static str>,
    instead: &'static str,
}

const LOGS: &str = "nothing: logs go to standard error, where Kubernetes takes them";
/// What is the operator's in every service.
const OWNED: [Owned; 7] = [
    Owned::option("DEFAULT", "log_config_append", LOGS),
    Owned::option("DEFAULT", "log_dir", LOGS),
    Owned::option("DEFAULT", "log_file", LOGS),
    Owned::option("DEFAULT", "use_stderr", LOGS),
    Owned::option("oslo_policy", "policy_dirs", "policyOverrides"),
    Owned::option("oslo_policy", "policy_file", "policyOverrides"),
    Owned::section("keystone_authtoken", "keystone"),
];

/// Options that the service reads, with values that it takes.
pub struct Extra<'a> {
    pub(crate) options: Vec<Given<'a>>,
}

/// One of them.
#[derive(Clone)]
pub(crate) struct Given<'a> {
    /// The section that it is in now.
    pub section: &'a str,
    /// The name that it has now.
    pub name: &'a str,
    /// Its values: several where it may have several.
    pub lines: Vec<&'a str>,
    /// Whether nobody may see them.
    pub secret: bool,
    /// Whether they are numbers, truth values or choices, which name no program, file or host.
    is_plain: bool,
}

impl<'a> Owned<'a> {
    /// A whole section.
    pub const fn section(section: &'a str, instead: &'static str) -> Self {
        Self {
            section,
            option: None,
            instead,
        }
    }

    /// One option.
    pub const fn option(section: &'a str, option: &'static str, instead: &'static str) -> Self {
        Self {
            section,
            option: Some(option),
            instead,
        }
    }

    fn is(&self, section: &str, option: &str) -> bool {
        self.section == section && self.option.is_none_or(|own| own == option)
    }
}

impl<'a> Extra<'a> {
    /// What a resource gives. A value with several lines is an option with several values. An option that is called by a name
    /// of before counts as the one that it is now; where both are given, its name of now wins.
    ///
    /// # Errors
    /// An option can't be written, isn't one of the service's, doesn't take the value, or is the operator's own: the failure
    /// says what to do.
    pub fn of(
        service: &str,
        owned: &[Owned<'_>],
        release: Release,
        common: &'a Common,
    ) -> Result<Self, Failure> {
        let ExtraConfig(extra) = &common.extra_config;
        let sections = extra.iter();
        let sections = sections.map(|(section, given)| (section.as_str(), given));
        let by = Checks {
            field: "extraConfig",
            owned,
            // A fork may read what upstream doesn't.
            forked: common.image.fork.is_some(),
            known: Options::of(service, release),
            service,
        };
        by.read(&sections.collect())
    }

    /// What a field gives for a section whose name the user chooses. The service lists the options of such sections under another
    /// name.
    ///
    /// # Errors
    /// As [`Extra::of`].
    pub fn of_section(
        service: &Service<'_>,
        owned: &[Owned<'_>],
        (field, listed): (&str, &'a str),
        options: &'a BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        let name = service.definition.name;
        let by = Checks {
            field,
            owned,
            forked: service.common.image.fork.is_some(),
            known: Options::of(name, service.release),
            service: name,
        };
        by.read(&BTreeMap::from([(listed, options)]))
    }

    /// The first option of those that `wanted` names by section, name and whether its values are numbers, truth values or
    /// choices alone.
    pub fn find(&self, wanted: impl Fn(&str, &str, bool) -> bool) -> Option<(&str, &str)> {
        let mut options = self.options.iter();
        let found = options.find(|given| wanted(given.section, given.name, given.is_plain));
        found.map(|given| (given.section, given.name))
    }

    /// The options that a program takes, which `takes` says as for [`Extra::find`].
    pub fn part(&self, takes: impl Fn(&str, &str, bool) -> bool) -> Self {
        let options = self.options.iter();
        let taken = options.filter(|given| takes(given.section, given.name, given.is_plain));
        Self {
            options: taken.cloned().collect(),
        }
    }
}

/// Options by section, as a user gives them.
type Sections<'a> = BTreeMap<&'a str, &'a BTreeMap<String, String>>;

/// What options are checked by.
struct Checks<'c> {
    /// The field that they are in.
    field: &'c str,
    service: &'c str,
    owned: &'c [Owned<'c>],
    forked: bool,
    known: Option<Options>,
}

impl Checks<'_> {
    fn read<'a>(&self, extra: &Sections<'a>) -> Result<Extra<'a>, Failure> {
        let Self { field, .. } = self;
        let mut options = Vec::new();
        for (section, given) in extra {
            if !is_name(section) {
                return Err(invalid(format!(
                    "{field} has a section {section:?}, which is not a valid name of a section"
                )));
            }
            for (name, value) in *given {
                self.check(section, name, value)?;
                self.free(section, name)?;
                let given = Given {
                    section,
                    name,
                    lines: value.split('\n').map(str::trim).collect(),
                    secret: is_secret(self.service, section, name),
                    is_plain: false,
                };
                match self.known.map(|known| known.find(section, name)) {
                    None => options.push(given),
                    Some(Err(_)) if self.forked => options.push(given),
                    Some(Err(unknown)) => {
                        return Err(invalid(format!(
                            "{field} sets [{section}] {name}, and {unknown}"
                        )));
                    }
                    Some(Ok(known)) => {
                        self.free(known.section, known.name)?;
                        options.extend(self.known(given, known, extra)?);
                    }
                }
            }
        }
        Ok(Extra { options })
    }

    /// The option by its name of now, if it isn't given by that too.
    fn known<'a>(
        &self,
        given: Given<'a>,
        known: Known,
        extra: &Sections<'a>,
    ) -> Result<Option<Given<'a>>, Failure> {
        let field = self.field;
        let Given {
            section,
            name,
            lines,
            secret,
            ..
        } = given;
        if lines.len() > 1 && !known.is_many() {
            return Err(invalid(format!(
                "{field} gives [{section}] {name} several lines, and it takes one value: write it in one line"
            )));
        }
        for line in &lines {
            known.check(line).map_err(|takes| {
                invalid(format!(
                    "{field} gives [{section}] {name} something else than it takes: {takes}"
                ))
            })?;
        }
        let now = (known.section, known.name);
        let given = extra
            .get(now.0)
            .is_some_and(|options| options.contains_key(now.1));
        Ok((now == (section, name) || !given).then_some(Given {
            section: now.0,
            name: now.1,
            // A value that refers to another option isn't checked.
            is_plain: known.is_plain() && !lines.iter().any(|line| line.contains('$')),
            lines,
            secret,
        }))
    }

    /// Checks that an option and its value can be written at all.
    fn check(&self, section: &str, option: &str, value: &str) -> Result<(), Failure> {
        let field = self.field;
        if !is_name(option) {
            return Err(invalid(format!(
                "{field} has an option {option:?} in [{section}], which is not a valid name of an option"
            )));
        }
        let control = |character: char| character.is_control() && character != '\n';
        match value.chars().any(control) {
            true => Err(invalid(format!(
                "{field} gives [{section}] {option} a value with a control character: leave it out"
            ))),
            false => Ok(()),
        }
    }

    /// Checks that an option isn't the operator's own.
    fn free(&self, section: &str, option: &str) -> Result<(), Failure> {
        let field = self.field;
        let owned = OWNED.iter().chain(self.owned);
        match owned.into_iter().find(|owned| owned.is(section, option)) {
            None => Ok(()),
            Some(owned) => Err(Failure::new(
                Reason::OwnedByOperator,
                format!(
                    "{field} sets [{section}] {option}, and the operator owns it: use {}, and leave it out of {field}",
                    owned.instead
                ),
            )),
        }
    }
}

fn invalid(message: String) -> Failure {
    Failure::new(Reason::InvalidConfiguration, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[rstest::rstest]
    #[case("profiler", "hmac_keys", "hush", true)]
    #[case("profiler", "enabled", "true", false)]
    fn a_secret_that_a_user_adds_is_kept_as_one(
        #[case] section: &str,
        #[case] option: &str,
        #[case] value: &str,
        #[case] secret: bool,
    ) {
        let options = BTreeMap::from([(option.to_owned(), value.to_owned())]);
        let common = Common {
            extra_config: ExtraConfig(BTreeMap::from([(section.to_owned(), options)])),
            ..Common::default()
        };
        let extra = Extra::of("glance", &[], Release::new(2026, 1), &common);
        let mut config = Config::default();
        config.merge(&extra.unwrap_or_else(|failure| panic!("{failure}")));
        assert_eq!(config.is_secret(), secret);
        assert_eq!(config.masked().contains(value), !secret);
    }
}
