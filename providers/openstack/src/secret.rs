//! Values of Secrets that somebody else made.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Lookup, ObservedState, Progress, Reason};

use crate::awaited::Awaited;

/// Where certificates of issuers are, as cert-manager writes them.
const AUTHORITY: &str = "ca.crt";

/// The values of one Secret. They are never shown.
#[derive(Clone)]
pub struct Values {
    name: String,
    uid: String,
    data: BTreeMap<String, Vec<u8>>,
}

impl Values {
    /// The Secret of this name. What it is needed for is said where it isn't there: "the database's password".
    ///
    /// # Errors
    /// It isn't there, or can't be read.
    pub fn read(
        observed: &ObservedState<'_>,
        namespace: &str,
        name: &str,
        purpose: &str,
    ) -> Awaited<Self> {
        match observed.get::<Secret>(namespace, name) {
            Lookup::Found(secret) => Ok(Self {
                name: name.to_owned(),
                uid: secret.metadata.uid.unwrap_or_default(),
                data: secret
                    .body
                    .data
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, value)| (key, value.0))
                    .collect(),
            }),
            Lookup::Missing => Err(Progress::waiting(
                Reason::WaitingFor("Secret"),
                format!("waits for Secret {name} with {purpose}"),
            )),
            Lookup::Unknown(message) => Err(Progress::Unknown { message }),
        }
    }

    /// The Secret's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Secret's uid: another one is another Secret. Empty in a plan.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// A value that may be left out.
    ///
    /// # Errors
    /// It is no text of one line.
    pub fn line(&self, key: &str) -> Awaited<Option<&str>> {
        let Some(value) = self.data.get(key).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        match std::str::from_utf8(value) {
            Ok(text) if !text.chars().any(char::is_control) => Ok(Some(text)),
            _ => Err(Progress::failed(
                Reason::InvalidSecret,
                format!(
                    "key {key} of Secret {} is no text of one line: write it again without a line break",
                    self.name
                ),
            )),
        }
    }

    /// The port of a server that it names.
    ///
    /// # Errors
    /// It is no number from 1 to 65535.
    pub fn port(&self) -> Awaited<Option<u16>> {
        let Some(port) = self.line("port")? else {
            return Ok(None);
        };
        port.parse().map(Some).map_err(|_| {
            Progress::failed(
                Reason::InvalidSecret,
                format!(
                    "key port of Secret {} is no port: write a number from 1 to 65535",
                    self.name
                ),
            )
        })
    }

    /// A value that has to be there.
    ///
    /// # Errors
    /// It isn't there, or is no text of one line.
    pub fn required(&self, key: &str) -> Awaited<&str> {
        self.line(key)?.ok_or_else(|| self.lacks(key))
    }

    /// A text of one or more lines that has to be there, a certificate for instance.
    ///
    /// # Errors
    /// It isn't there, or is no text.
    pub fn text(&self, key: &str) -> Awaited<&str> {
        let value = self.data.get(key).filter(|value| !value.is_empty());
        value
            .and_then(|value| std::str::from_utf8(value).ok())
            .ok_or_else(|| self.lacks(key))
    }

    /// Certificates of those who are to be trusted, under `ca.crt`; none where everybody trusts them.
    ///
    /// # Errors
    /// It is no text.
    pub fn authority(&self) -> Awaited<Option<&str>> {
        match self.data.get(AUTHORITY) {
            Some(value) if !value.is_empty() => self.text(AUTHORITY).map(Some),
            _ => Ok(None),
        }
    }

    fn lacks(&self, key: &str) -> Progress {
        Progress::failed(
            Reason::InvalidSecret,
            format!(
                "Secret {} has no value under the key {key}: put it in",
                self.name
            ),
        )
    }
}
