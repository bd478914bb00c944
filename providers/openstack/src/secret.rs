//! Values of Secrets that are managed externally.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{ObservedState, Progress, Reason, Resource, ResourceKind};
use serde::Deserialize;

use crate::prerequisite::Prerequisite;

/// The key of CA certificates, as cert-manager writes them.
const AUTHORITY: &str = "ca.crt";

/// What is read of a Secret.
#[derive(Deserialize)]
struct Seen {
    metadata: Identity,
    data: Option<BTreeMap<String, ByteString>>,
}

#[derive(Deserialize)]
struct Identity {
    uid: Option<String>,
}

impl Resource for Seen {
    const KIND: ResourceKind = Secret::KIND;
}

/// The values of a Secret. They are never shown.
#[derive(Clone)]
pub struct Values {
    name: String,
    uid: String,
    data: BTreeMap<String, ByteString>,
}

impl Values {
    /// Reads a Secret. The message for a missing Secret names its purpose, for instance "the database's password".
    ///
    /// # Errors
    /// The Secret doesn't exist, or can't be read.
    pub fn read(
        observed: &ObservedState<'_>,
        namespace: &str,
        name: &str,
        purpose: &str,
    ) -> Prerequisite<Self> {
        let secret = observed.body::<Seen>(namespace, name).required(|| {
            Progress::waiting(
                Reason::WaitingFor("Secret"),
                format!("waits for Secret {name} with {purpose}"),
            )
        })?;
        Ok(Self {
            name: name.to_owned(),
            uid: secret.metadata.uid.unwrap_or_default(),
            data: secret.data.unwrap_or_default(),
        })
    }

    /// The Secret's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Secret's uid. Empty in a plan.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// An optional value.
    ///
    /// # Errors
    /// The value is not a single line of text.
    pub fn line(&self, key: &str) -> Prerequisite<Option<&str>> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match std::str::from_utf8(value) {
            Ok(text) if !text.chars().any(char::is_control) => Ok(Some(text)),
            _ => Err(Progress::failed(
                Reason::InvalidSecret,
                format!(
                    "key {key} of Secret {} is not a single line of text: write it again without a line break",
                    self.name
                ),
            )),
        }
    }

    /// The port of a server.
    ///
    /// # Errors
    /// The value is not a number from 1 to 65535.
    pub fn port(&self) -> Prerequisite<Option<u16>> {
        let Some(port) = self.line("port")? else {
            return Ok(None);
        };
        port.parse().map(Some).map_err(|_| {
            Progress::failed(
                Reason::InvalidSecret,
                format!(
                    "key port of Secret {} is not a valid port: write a number from 1 to 65535",
                    self.name
                ),
            )
        })
    }

    /// A required value.
    ///
    /// # Errors
    /// The value is missing, or is not a single line of text.
    pub fn required(&self, key: &str) -> Prerequisite<&str> {
        self.line(key)?.ok_or_else(|| self.lacks(key))
    }

    /// A required text of one or more lines, for instance a certificate.
    ///
    /// # Errors
    /// The value is missing, or is not text.
    pub fn text(&self, key: &str) -> Prerequisite<&str> {
        self.value(key)
            .and_then(|value| std::str::from_utf8(value).ok())
            .ok_or_else(|| self.lacks(key))
    }

    /// The CA certificates under `ca.crt`. `None` if public CAs are used.
    ///
    /// # Errors
    /// The value is not text.
    pub fn authority(&self) -> Prerequisite<Option<&str>> {
        match self.value(AUTHORITY) {
            Some(_) => self.text(AUTHORITY).map(Some),
            None => Ok(None),
        }
    }

    /// A value that isn't empty.
    fn value(&self, key: &str) -> Option<&[u8]> {
        let value = self.data.get(key)?.0.as_slice();
        Some(value).filter(|value| !value.is_empty())
    }

    fn lacks(&self, key: &str) -> Progress {
        Progress::failed(
            Reason::InvalidSecret,
            format!(
                "Secret {} has no value under the key {key}: add it",
                self.name
            ),
        )
    }
}
