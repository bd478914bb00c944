//! The values of Secrets, as composers read them. No message has a value.

use std::collections::BTreeMap;
use std::num::NonZero;

use c5c3_api::Reason;
use c5c3_kinds::{Resource, ResourceKind};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde::Deserialize;

use crate::conditions::Progress;
use crate::observed::ObservedState;

/// The key of CA certificates, as cert-manager writes them.
const AUTHORITY: &str = "ca.crt";

/// The values of a Secret. They can't be printed. An empty value counts as none.
#[derive(Clone, Deserialize)]
pub struct SecretValues {
    #[serde(default)]
    metadata: Identity,
    data: Option<BTreeMap<String, ByteString>>,
    /// The operator that writes the Secret; none if users do.
    #[serde(skip)]
    operator: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Identity {
    name: String,
    uid: Option<String>,
}

impl Resource for SecretValues {
    const KIND: ResourceKind = <Secret as Resource>::KIND;
}

impl SecretValues {
    /// Reads a Secret. The message for a missing Secret names its purpose, for instance "the database's password".
    ///
    /// # Errors
    /// The Secret doesn't exist, or can't be read.
    pub fn read(
        observed: &ObservedState<'_>,
        namespace: &str,
        name: &str,
        purpose: &str,
    ) -> Result<Self, Progress> {
        observed.body::<Self>(namespace, name).required(|| {
            let message = format!("waits for Secret {name} with {purpose}");
            Progress::waiting(Reason::WaitingFor("Secret"), message)
        })
    }

    /// Sets the operator that writes the Secret. Messages refer to it, and not to what users can do.
    #[must_use]
    pub fn written_by(self, operator: String) -> Self {
        Self {
            operator: Some(operator),
            ..self
        }
    }

    /// The Secret's uid. Empty in a plan.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// All values, by key. They include empty ones.
    pub fn values(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let values = self.data.iter().flatten();
        values.map(|(key, value)| (key.as_str(), value.0.as_slice()))
    }

    /// All values, by key. They include empty ones.
    pub fn into_values(self) -> BTreeMap<String, Vec<u8>> {
        let values = self.data.into_iter().flatten();
        values.map(|(key, value)| (key, value.0)).collect()
    }

    /// A value.
    pub fn value(&self, key: &str) -> Option<&[u8]> {
        let value = self.data.as_ref()?.get(key)?.0.as_slice();
        Some(value).filter(|value| !value.is_empty())
    }

    /// A text of one or more lines, for instance a certificate.
    ///
    /// # Errors
    /// The value is missing or blank, or is not text.
    pub fn text(&self, key: &str) -> Result<&str, Progress> {
        let text = self.decoded(key)?.filter(|text| !is_blank(text));
        text.ok_or_else(|| self.lacks(key))
    }

    /// An optional text of one or more lines.
    ///
    /// # Errors
    /// The value is blank, or is not text.
    pub fn optional_text(&self, key: &str) -> Result<Option<&str>, Progress> {
        match self.decoded(key)? {
            Some(text) if is_blank(text) => {
                Err(self.invalid(key, "is blank", "write a value, or remove the key"))
            }
            text => Ok(text),
        }
    }

    fn decoded(&self, key: &str) -> Result<Option<&str>, Progress> {
        let text = self.value(key).map(std::str::from_utf8).transpose();
        text.map_err(|_| self.invalid(key, "is not text", "write it again in UTF-8"))
    }

    /// A single line of text, for instance a password.
    ///
    /// # Errors
    /// The value is missing or blank, or is not a single line of text.
    pub fn line(&self, key: &str) -> Result<&str, Progress> {
        self.single_line(key, self.text(key)?)
    }

    /// An optional single line of text.
    ///
    /// # Errors
    /// The value is blank, or is not a single line of text.
    pub fn optional_line(&self, key: &str) -> Result<Option<&str>, Progress> {
        let text = self.optional_text(key)?;
        text.map(|text| self.single_line(key, text)).transpose()
    }

    fn single_line<'a>(&self, key: &str, text: &'a str) -> Result<&'a str, Progress> {
        match text.contains(char::is_control) {
            true => Err(self.invalid(
                key,
                "is not a single line of text",
                "write it again without a line break, for instance with printf instead of echo",
            )),
            false => Ok(text),
        }
    }

    /// The port of a server.
    ///
    /// # Errors
    /// The value is not a number from 1 to 65535.
    pub fn port(&self) -> Result<Option<u16>, Progress> {
        const KEY: &str = "port";
        let Some(port) = self.optional_line(KEY)? else {
            return Ok(None);
        };
        let port = port.parse::<NonZero<u16>>();
        port.map(|port| Some(port.get()))
            .map_err(|_| self.invalid(KEY, "is not a valid port", "write a number from 1 to 65535"))
    }

    /// The CA certificates under `ca.crt`. `None` if public CAs are used.
    ///
    /// # Errors
    /// The value is blank, or is not text.
    pub fn authority(&self) -> Result<Option<&str>, Progress> {
        self.optional_text(AUTHORITY)
    }

    fn lacks(&self, key: &str) -> Progress {
        let fact = format!(
            "Secret {} has no value under the key {key}",
            self.metadata.name
        );
        self.failed(&fact, "add it")
    }

    fn invalid(&self, key: &str, problem: &str, correction: &str) -> Progress {
        let fact = format!("key {key} of Secret {} {problem}", self.metadata.name);
        self.failed(&fact, correction)
    }

    fn failed(&self, fact: &str, correction: &str) -> Progress {
        let message = match &self.operator {
            Some(operator) => format!("{fact}: see the {operator}, which writes the Secret"),
            None => format!("{fact}: {correction}"),
        };
        Progress::failed(Reason::InvalidSecret, message)
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(value: &[u8]) -> SecretValues {
        let value = ByteString(value.to_vec());
        let data = json!({ "password": value, "port": value, "ca.crt": value });
        let secret = json!({ "metadata": { "name": "nova-db" }, "data": data });
        SecretValues::deserialize(secret).unwrap()
    }

    fn why<T>(read: Result<T, Progress>) -> String {
        let Err(Progress::Failed {
            reason: Reason::InvalidSecret,
            message,
            is_stalled: true,
        }) = read
        else {
            unreachable!("the Secret is not valid");
        };
        message
    }

    #[test]
    fn secret_value_that_is_blank_is_named() {
        let lacks = "Secret nova-db has no value under the key password: add it";
        for blank in [b"".as_slice(), b" ", b"\n"] {
            assert_eq!(why(secret(blank).text("password")), lacks);
            assert_eq!(why(secret(blank).line("password")), lacks);
        }
        assert_eq!(
            why(secret(b"x").line("user")),
            "Secret nova-db has no value under the key user: add it"
        );
    }

    #[test]
    fn optional_secret_value_that_is_blank_is_to_be_written_or_removed() {
        assert_eq!(secret(b"").optional_line("password"), Ok(None));
        let blank = "key password of Secret nova-db is blank: write a value, or remove the key";
        for value in [b" ".as_slice(), b"\n"] {
            assert_eq!(why(secret(value).optional_text("password")), blank);
            assert_eq!(why(secret(value).optional_line("password")), blank);
        }
    }

    #[test]
    fn secret_value_that_is_not_text_is_named_without_it() {
        assert_eq!(
            why(secret(b"s3cret\xff").line("password")),
            "key password of Secret nova-db is not text: write it again in UTF-8"
        );
    }

    #[test]
    fn secret_value_with_a_line_break_is_a_text_but_not_a_line() {
        let broken = secret(b"s3cret\n");
        assert_eq!(broken.text("password"), Ok("s3cret\n"));
        assert_eq!(broken.authority(), Ok(Some("s3cret\n")));
        assert_eq!(
            why(broken.line("password")),
            "key password of Secret nova-db is not a single line of text: write it again without a line break, for instance with \
             printf instead of echo"
        );
        assert_eq!(secret(b" pass word ").line("password"), Ok(" pass word "));
    }

    #[test]
    fn secret_value_that_is_not_a_port_is_named() {
        assert_eq!(secret(b"3306").port(), Ok(Some(3306)));
        assert_eq!(secret(b"").port(), Ok(None));
        for port in [b"0".as_slice(), b"65536", b"many"] {
            assert_eq!(
                why(secret(port).port()),
                "key port of Secret nova-db is not a valid port: write a number from 1 to 65535"
            );
        }
    }

    #[test]
    fn secret_of_an_operator_refers_to_the_operator() {
        let secret = secret(b"").written_by("nova-operator".to_owned());
        assert_eq!(
            why(secret.text("clouds.yaml")),
            "Secret nova-db has no value under the key clouds.yaml: see the nova-operator, which writes the Secret"
        );
    }
}
