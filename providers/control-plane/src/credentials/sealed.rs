//! Values of Secrets, which nobody can print.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{
    Lookup, Metadata, ObservedState, Progress, Reason, Resource, ResourceKind,
};
use serde::Deserialize;

/// A secret text of one line.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Line(String);

impl Line {
    /// The text itself, to be put into another Secret and nowhere else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// What is read of a Secret, besides its metadata.
#[derive(Deserialize)]
struct Seen {
    data: Option<BTreeMap<String, ByteString>>,
}

impl Resource for Seen {
    const KIND: ResourceKind = Secret::KIND;
}

/// A Secret that was read.
pub(crate) struct Sealed {
    name: String,
    pub(crate) metadata: Metadata,
    values: BTreeMap<String, ByteString>,
}

impl Sealed {
    /// A Secret that may be missing.
    pub(crate) fn look(observed: &ObservedState<'_>, namespace: &str, name: &str) -> Lookup<Self> {
        observed.get::<Seen>(namespace, name).map(|live| Self {
            name: name.to_owned(),
            metadata: live.metadata,
            values: live.body.data.unwrap_or_default(),
        })
    }

    /// A Secret that has to be there, else how far it has come. `origin` says who makes it.
    pub(crate) fn read(
        observed: &ObservedState<'_>,
        namespace: &str,
        name: &str,
        origin: &str,
    ) -> Result<Self, Progress> {
        Self::look(observed, namespace, name).required(|| {
            Progress::waiting(
                Reason::WaitingFor("Secret"),
                format!("waits for Secret {name}, {origin}"),
            )
        })
    }

    /// One value, if the key is there.
    pub(crate) fn get(&self, key: &str) -> Option<&[u8]> {
        self.values.get(key).map(|value| value.0.as_slice())
    }

    /// One text, of as many lines as it has.
    pub(crate) fn text(&self, key: &str) -> Result<&str, Progress> {
        let name = &self.name;
        let value = self.get(key).ok_or_else(|| {
            Progress::failed(
                Reason::InvalidSecret,
                format!("Secret {name} has no key {key}: add it"),
            )
        })?;
        match std::str::from_utf8(value) {
            Ok(text) if !text.trim().is_empty() => Ok(text),
            Ok(_) => Err(Progress::failed(
                Reason::InvalidSecret,
                format!("{key} of Secret {name} is empty: give it a value"),
            )),
            Err(_) => Err(Progress::failed(
                Reason::InvalidSecret,
                format!("{key} of Secret {name} is not valid UTF-8: write it again"),
            )),
        }
    }

    /// One text of one line.
    pub(crate) fn line(&self, key: &str) -> Result<Line, Progress> {
        let text = self.text(key)?;
        if text.contains(|letter: char| letter.is_control()) {
            return Err(Progress::failed(
                Reason::InvalidSecret,
                format!(
                    "{key} of Secret {} has a line break or another control character in it: write it without, for \
                     instance with printf instead of echo",
                    self.name
                ),
            ));
        }
        Ok(Line(text.to_owned()))
    }

    /// All values, by key.
    pub(crate) fn into_values(self) -> BTreeMap<String, Vec<u8>> {
        let values = self.values.into_iter();
        values.map(|(key, value)| (key, value.0)).collect()
    }
}
