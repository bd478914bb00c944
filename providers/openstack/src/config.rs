//! Configuration files of OpenStack services in oslo.config's format.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use provider_composer::{Failure, Reason};

use crate::extra::{Extra, Given};
use crate::mask::STARS;
use crate::oslo_config::{is_name, written};

/// The name of a section or an option.
type Name = Cow<'static, str>;

/// A configuration file: options by section, sorted. An option may have several values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Config {
    sections: BTreeMap<Name, Section>,
}

/// One section of a configuration file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Section {
    options: BTreeMap<Name, Values>,
    /// Options whose name or value no file can hold.
    refused: BTreeSet<Name>,
}

/// The values of an option.
#[derive(Clone, PartialEq, Eq)]
struct Values {
    /// A line for each.
    lines: String,
    secret: bool,
}

/// Returns the line of a value, if it has no control characters, so that it can't start another option or section.
fn line(value: String) -> Option<String> {
    (!value.contains(char::is_control)).then_some(value)
}

/// Returns the lines of several values, if each has one.
fn lines(values: impl IntoIterator<Item = String>) -> Option<String> {
    let lines: Option<Vec<String>> = values.into_iter().map(line).collect();
    lines.map(|lines| lines.join("\n"))
}

impl Config {
    /// A configuration with the options that all services have.
    pub fn base() -> Self {
        let mut config = Self::default();
        config.section("DEFAULT").set("use_stderr", true);
        config
            .section("oslo_middleware")
            .set("enable_proxy_headers_parsing", true);
        config
    }

    /// Returns a section, and adds it if it doesn't exist.
    pub fn section(&mut self, name: impl Into<Name>) -> &mut Section {
        self.sections.entry(name.into()).or_default()
    }

    /// Whether any value is a secret. Such a file must be in a Secret.
    pub fn is_secret(&self) -> bool {
        let mut options = self
            .sections
            .values()
            .flat_map(|section| section.options.values());
        options.any(|values| values.secret)
    }

    /// The value of an option, if it is a number.
    pub fn number(&self, section: &str, option: &str) -> Option<u32> {
        let values = self.sections.get(section)?.options.get(option)?;
        values.lines.rsplit('\n').next()?.trim().parse().ok()
    }

    /// Adds the user's options. They replace those that are set.
    pub fn merge(&mut self, extra: &Extra) {
        for given in &extra.options {
            self.section(given.section.clone()).add(given);
        }
    }

    /// Returns the file as the service reads it, with secrets.
    ///
    /// # Errors
    /// A value has a control character, or the name of a section or an option isn't valid.
    pub fn text(&self) -> Result<String, Failure> {
        for (name, section) in &self.sections {
            let unnamed = Some(name).filter(|name| !is_name(name));
            if let Some(option) = section.refused.first().or(unnamed) {
                let message = format!(
                    "[{}] {option:?} would have a line break or another control character, in its value or its name: \
                     remove it from the field of the resource, or the key of the Secret, that the value comes from",
                    name.escape_debug()
                );
                return Err(Failure::new(Reason::InvalidConfiguration, message));
            }
        }
        Ok(self.written(|_, line| line))
    }

    /// Returns the file with secrets masked.
    pub fn masked(&self) -> String {
        self.written(|values, line| if values.secret { STARS } else { line })
    }

    fn written<'c>(&'c self, show: impl Fn(&Values, &'c str) -> &'c str) -> String {
        let mut file = String::new();
        for (name, section) in self
            .sections
            .iter()
            .filter(|(_, section)| !section.options.is_empty())
        {
            if !file.is_empty() {
                file.push('\n');
            }
            file.push('[');
            file.push_str(name);
            file.push_str("]\n");
            for (option, values) in &section.options {
                for line in values.lines.split('\n') {
                    file.push_str(option);
                    file.push_str(" =");
                    let value = show(values, line).trim_end();
                    if !value.is_empty() {
                        file.push(' ');
                        file.push_str(value);
                    }
                    file.push('\n');
                }
            }
        }
        file
    }
}

/// Masks secrets.
impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.masked())
    }
}

impl Section {
    /// Sets an option.
    pub fn set(&mut self, option: impl Into<Name>, value: impl Display) -> &mut Self {
        self.put(option, line(written(value.to_string())), false)
    }

    /// Sets an option whose value is a secret.
    pub fn secret(&mut self, option: impl Into<Name>, value: &str) -> &mut Self {
        self.put(option, line(written(value.to_owned())), true)
    }

    /// Sets an option to a reference to an option of DEFAULT, which another file may set.
    pub fn same_as(&mut self, option: impl Into<Name>, other: &str) -> &mut Self {
        self.put(option, line(format!("${other}")), false)
    }

    /// Sets an option to a list, separated by commas.
    pub fn list<T: Display>(
        &mut self,
        option: impl Into<Name>,
        values: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
        self.set(option, values.join(","))
    }

    /// Sets an option to several values, one per line. Without values, it stays as it is.
    pub fn each<T: Display>(
        &mut self,
        option: impl Into<Name>,
        values: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        let values = values.into_iter().map(|value| written(value.to_string()));
        let mut values = values.peekable();
        match values.peek() {
            Some(_) => self.put(option, lines(values), false),
            None => self,
        }
    }

    /// Adds the user's options, whatever the name is under which the service lists the section.
    pub fn merge(&mut self, extra: &Extra) {
        for given in &extra.options {
            self.add(given);
        }
    }

    fn add(&mut self, given: &Given) {
        self.put(given.name.clone(), lines(given.lines.clone()), given.secret);
    }

    fn put(&mut self, option: impl Into<Name>, lines: Option<String>, secret: bool) -> &mut Self {
        let option = option.into();
        match lines.filter(|_| is_name(&option)) {
            Some(lines) => {
                self.refused.remove(&option);
                self.options.insert(option, Values { lines, secret });
            }
            None => {
                self.refused.insert(option);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses a file into section, option and value, as `oslo_config/iniparser.py` does.
    fn read(file: &str) -> Vec<(String, String, String)> {
        let mut section = String::new();
        let mut read = Vec::new();
        for line in file.split(['\n', '\r']).filter(|line| !line.is_empty()) {
            match line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'))
            {
                Some(name) => section = name.to_owned(),
                None => {
                    let (option, value) = line.split_once('=').unwrap_or((line, ""));
                    let trimmed = |text: &str| text.trim().to_owned();
                    read.push((section.clone(), trimmed(option), trimmed(value)));
                }
            }
        }
        read
    }

    #[test]
    fn option_without_values_is_not_written() {
        let mut config = Config::default();
        config.section("federation").each("none", [""; 0]);
        config.section("federation").each("two", ["a", "b"]);
        let file = config.text().unwrap();
        assert_eq!(file, "[federation]\ntwo = a\ntwo = b\n");
    }

    #[test]
    fn region_with_newline_is_refused_with_the_option_that_it_would_be() {
        let mut config = Config::base();
        config.section("keystone_authtoken").set(
            "region_name",
            "RegionOne\n[oslo_policy]\npolicy_file = evil.yaml",
        );
        let refused = config.text().err().map(|failure| failure.to_string());
        assert_eq!(
            refused.as_deref(),
            Some(
                "[keystone_authtoken] \"region_name\" would have a line break or another control character, in its value or \
                 its name: remove it from the field of the resource, or the key of the Secret, that the value comes from"
            )
        );
    }

    proptest! {
        /// The file has exactly one option, whatever its value.
        #[test]
        fn no_value_begins_an_option_or_a_section(value in any::<String>(), secret in any::<bool>()) {
            let mut config = Config::default();
            let section = config.section("section");
            match secret {
                true => section.secret("option", &value),
                false => section.each("option", [&value]),
            };
            match config.text() {
                Ok(file) => {
                    let options = read(&file);
                    let options: Vec<_> = options
                        .iter()
                        .map(|(section, option, _)| (section.as_str(), option.as_str()))
                        .collect();
                    prop_assert_eq!(options, [("section", "option")]);
                }
                Err(_) => prop_assert!(value.contains(char::is_control)),
            }
        }

        /// Users choose the names of some sections, for instance of stores.
        #[test]
        fn no_section_name_begins_an_option(name in any::<String>()) {
            let mut config = Config::default();
            config.section(name.clone()).set("option", "value");
            if let Ok(file) = config.text() {
                prop_assert_eq!(read(&file), [(name, "option".to_owned(), "value".to_owned())]);
            }
        }
    }
}
