//! Configuration files of OpenStack services, as oslo.config reads them.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use crate::extra::Extra;
use crate::mask::STARS;

/// A configuration file: options by section, in a stable order. An option may have several values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Config {
    sections: BTreeMap<String, Section>,
}

/// One section of a configuration file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Section {
    options: BTreeMap<String, Values>,
}

#[derive(Clone, PartialEq, Eq)]
struct Values {
    texts: Vec<String>,
    secret: bool,
}

impl Config {
    /// A configuration with what is the same for all services.
    pub fn base() -> Self {
        let mut config = Self::default();
        config.section("DEFAULT").set("use_stderr", true);
        config
            .section("oslo_middleware")
            .set("enable_proxy_headers_parsing", true);
        config
    }

    /// A section, made where there is none of that name.
    pub fn section(&mut self, name: &str) -> &mut Section {
        self.sections.entry(name.to_owned()).or_default()
    }

    /// Whether any value is a secret: then the file may stand in a Secret only.
    pub fn is_secret(&self) -> bool {
        let mut options = self
            .sections
            .values()
            .flat_map(|section| section.options.values());
        options.any(|values| values.secret)
    }

    /// The value of an option as a number, where it has one.
    pub fn number(&self, section: &str, option: &str) -> Option<u32> {
        let values = self.sections.get(section)?.options.get(option)?;
        values.texts.last()?.trim().parse().ok()
    }

    /// Puts in what the user adds, over what is there.
    pub fn merge(&mut self, extra: &Extra<'_>) {
        for given in &extra.options {
            let texts = given.lines.iter().map(|line| (*line).to_owned()).collect();
            self.section(given.section)
                .put(given.name, texts, given.secret);
        }
    }

    /// The file as the service reads it, with its secrets.
    pub fn text(&self) -> String {
        self.written(|_, text| text.to_owned())
    }

    /// The file as it may be shown: secrets are stars.
    pub fn masked(&self) -> String {
        self.written(|values, text| match values.secret {
            true => STARS.to_owned(),
            false => text.to_owned(),
        })
    }

    fn written(&self, show: impl Fn(&Values, &str) -> String) -> String {
        let mut file = String::new();
        for (name, section) in self
            .sections
            .iter()
            .filter(|(_, section)| !section.options.is_empty())
        {
            if !file.is_empty() {
                file.push('\n');
            }
            file.push_str(&format!("[{name}]\n"));
            for (option, values) in &section.options {
                for text in &values.texts {
                    file.push_str(format!("{option} = {}", show(values, text)).trim_end());
                    file.push('\n');
                }
            }
        }
        file
    }
}

/// A Config is never shown with its secrets.
impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.masked())
    }
}

impl Section {
    /// Sets an option.
    pub fn set(&mut self, option: &str, value: impl Display) -> &mut Self {
        self.put(option, vec![written(&value.to_string())], false)
    }

    /// Sets an option whose value nobody may see.
    pub fn secret(&mut self, option: &str, value: &str) -> &mut Self {
        self.put(option, vec![written(value)], true)
    }

    /// Sets an option to a list, which stands in one line.
    pub fn list<T: Display>(
        &mut self,
        option: &str,
        values: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
        self.set(option, values.join(","))
    }

    /// Sets an option to several values, each in a line of its own.
    pub fn each<T: Display>(
        &mut self,
        option: &str,
        values: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        let values = values
            .into_iter()
            .map(|value| written(&value.to_string()))
            .collect();
        self.put(option, values, false)
    }

    fn put(&mut self, option: &str, texts: Vec<String>, secret: bool) -> &mut Self {
        self.options
            .insert(option.to_owned(), Values { texts, secret });
        self
    }
}

/// A value so that oslo.config reads it as it is meant: a dollar begins a reference to another option, and quotes around
/// the whole are taken off (<https://docs.openstack.org/oslo.config/latest/reference/configopts.html>).
fn written(value: &str) -> String {
    let value = value.replace('$', "$$");
    let quoted = ['"', '\'']
        .iter()
        .any(|quote| value.starts_with(*quote) && value.ends_with(*quote));
    match quoted || value.trim() != value {
        true => format!("\"{value}\""),
        false => value,
    }
}
