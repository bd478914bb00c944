//! What users add to a service's configuration: options that no field of its resource says.

use std::collections::BTreeMap;

use c5c3_api::parts::{Common, ExtraConfig, SecretOption};
use provider_composer::{Failure, ObservedState, Progress, Reason, SecretValues};

use crate::mask::is_secret;
use crate::options::{Known, Options};
use crate::oslo_config::{is_name, written};
use crate::prerequisite::Prerequisite;
use crate::release::Release;

/// A section or an option that is the operator's alone, and what a user sets instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned<'a> {
    section: &'a str,
    option: Option<&'static str>,
    instead: &'static str,
}

/// Writes an array of [`Owned`] as rows of `section, option => what users set instead;`. A row without an option stands for a whole section.
#[macro_export]
macro_rules! owned_options {
    (@row $section:tt, $instead:expr) => {
        $crate::Owned::section($section, $instead)
    };
    (@row $section:tt, $option:tt, $instead:expr) => {
        $crate::Owned::option($section, $option, $instead)
    };
    ($($section:tt $(, $option:tt)? => $instead:expr;)+) => {
        [$($crate::owned_options!(@row $section $(, $option)?, $instead)),+]
    };
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
pub struct Extra {
    pub(crate) options: Vec<Given>,
    /// What is waited for, if the value of one isn't there.
    pub(crate) pending: Option<Progress>,
}

/// One of them.
#[derive(Clone)]
pub(crate) struct Given {
    /// The section that it is in now.
    pub section: String,
    /// The name that it has now.
    pub name: String,
    /// Its values: several where it may have several.
    pub lines: Vec<String>,
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

impl Extra {
    /// What a resource gives. A value with several lines is an option with several values; blank lines count for nothing. An option that
    /// is called by a name of before counts as the one that it is now; where both are given, its name of now wins. `secrets` are options
    /// whose values are in Secrets.
    ///
    /// # Errors
    /// An option can't be written, isn't one of the service's, doesn't take the value, or is the operator's own: the failure
    /// says what to do.
    pub fn of(
        service: &str,
        owned: &[Owned<'_>],
        release: Release,
        common: &Common,
        secrets: Prerequisite<Secrets>,
    ) -> Result<Self, Failure> {
        let ExtraConfig(extra) = &common.extra_config;
        let sections = extra.iter();
        let sections = sections.map(|(section, given)| (section.as_str(), given));
        let by = |field| Checks {
            field,
            owned,
            // A fork may read what upstream doesn't.
            forked: common.image.fork.is_some(),
            known: Options::of(service, release),
            service,
        };
        let mut options = by("extraConfig").read(&sections.collect())?;
        let pending = match secrets {
            Ok(secrets) => {
                let sections = secrets.iter();
                let sections = sections.map(|(section, given)| (section.as_str(), given));
                let secrets = by("extraConfigSecrets").read(&sections.collect())?;
                options.extend(secrets.into_iter().map(Given::hidden));
                None
            }
            Err(pending) => Some(pending),
        };
        Ok(Self { options, pending })
    }

    /// What a field gives for a section whose name the user chooses. The service lists the options of such sections under another
    /// name.
    ///
    /// # Errors
    /// As [`Extra::of`].
    pub fn of_section(
        service: &str,
        owned: &[Owned<'_>],
        release: Release,
        common: &Common,
        (field, listed): (&str, &str),
        options: &BTreeMap<String, String>,
    ) -> Result<Self, Failure> {
        let by = Checks {
            field,
            owned,
            forked: common.image.fork.is_some(),
            known: Options::of(service, release),
            service,
        };
        Ok(Self {
            options: by.read(&BTreeMap::from([(listed, options)]))?,
            pending: None,
        })
    }

    /// The first option of those that `wanted` names by section, name and whether its values are numbers, truth values or
    /// choices alone.
    pub fn find(&self, wanted: impl Fn(&str, &str, bool) -> bool) -> Option<(&str, &str)> {
        let mut options = self.options.iter();
        let found = options.find(|given| wanted(&given.section, &given.name, given.is_plain));
        found.map(|given| (given.section.as_str(), given.name.as_str()))
    }

    /// The options that a program takes, which `takes` says as for [`Extra::find`].
    pub fn part(&self, takes: impl Fn(&str, &str, bool) -> bool) -> Self {
        let options = self.options.iter();
        let taken = options.filter(|given| takes(&given.section, &given.name, given.is_plain));
        Self {
            options: taken.cloned().collect(),
            pending: self.pending.clone(),
        }
    }
}

/// Options whose values are in Secrets, by section.
pub(crate) type Secrets = BTreeMap<String, BTreeMap<String, String>>;

/// Reads the options whose values are in Secrets.
///
/// # Errors
/// `extraConfig` gives one of them, too.
pub(crate) fn secrets(
    common: &Common,
    namespace: &str,
    observed: &ObservedState<'_>,
) -> Result<Prerequisite<Secrets>, Failure> {
    let ExtraConfig(extra) = &common.extra_config;
    let mut given = Ok(Secrets::new());
    for SecretOption {
        section,
        option,
        secret_key_ref,
    } in &common.extra_config_secrets
    {
        if extra
            .get(section)
            .is_some_and(|own| own.contains_key(option))
        {
            return Err(invalid(format!(
                "extraConfig and extraConfigSecrets both give [{section}] {option}: leave it out of extraConfig"
            )));
        }
        let (name, key) = (&secret_key_ref.name, &secret_key_ref.key);
        let purpose = format!("[{section}] {option} under the key {key}");
        let value = SecretValues::read(observed, namespace, name, &purpose);
        let value = value.and_then(|values| values.line(key).map(str::to_owned));
        given = given.and_then(|mut secrets: Secrets| {
            let options = secrets.entry(section.clone()).or_default();
            options.insert(option.clone(), value?);
            Ok(secrets)
        });
    }
    Ok(given)
}

impl Given {
    /// The same as a secret, whose value is no reference to another option.
    fn hidden(self) -> Self {
        Self {
            lines: self.lines.into_iter().map(written).collect(),
            secret: true,
            is_plain: false,
            ..self
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
    fn read(&self, extra: &Sections<'_>) -> Result<Vec<Given>, Failure> {
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
                    section: (*section).to_owned(),
                    name: name.clone(),
                    lines: lines(value),
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
        Ok(options)
    }

    /// The option by its name of now, if it isn't given by that too.
    fn known(
        &self,
        given: Given,
        known: Known,
        extra: &Sections<'_>,
    ) -> Result<Option<Given>, Failure> {
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
                    "{field} sets [{section}] {name} to an invalid value; valid: {takes}"
                ))
            })?;
        }
        let now = (known.section, known.name);
        let is_now = now == (section.as_str(), name.as_str());
        let given = extra
            .get(now.0)
            .is_some_and(|options| options.contains_key(now.1));
        Ok((is_now || !given).then_some(Given {
            section: now.0.to_owned(),
            name: now.1.to_owned(),
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

/// The values of an option. A block of YAML ends with a line break, and so do many values of Secrets, but services refuse an empty
/// value beside others.
fn lines(value: &str) -> Vec<String> {
    let lines = value.split('\n').map(|line| line.trim().to_owned());
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => vec![String::new()],
        false => lines,
    }
}

fn invalid(message: String) -> Failure {
    Failure::new(Reason::InvalidConfiguration, message)
}

#[cfg(test)]
mod tests;
