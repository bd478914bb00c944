//! Configuration of the agents: Secrets that the operators of OVN, Neutron and Nova write beside a control plane, and their
//! copies beside the agents.
//!
//! Where control plane and nodes are in different clusters, External Secrets bring the Secrets, and nothing is copied.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Lookup, ObservedState, Progress, Reason};
use provider_openstack::{Awaited, digest};

/// Label of a Secret with configuration of agents: whose operator wrote it.
const AGENTS: &str = "c5c3.io/agents";
/// Label of such a Secret of Nova: the cell.
const CELL: &str = "c5c3.io/cell";
/// Keys that name images, which are no files.
const IMAGES: [&str; 2] = ["image", "ovsImage"];

/// The configuration of the agents of OVN, Neutron or Nova.
#[derive(Clone)]
pub struct Configuration {
    /// The name of its copy.
    pub name: &'static str,
    values: BTreeMap<String, Vec<u8>>,
    source: String,
}

impl Configuration {
    /// The configuration that an operator, of `ovn`, `neutron` or `nova`, wrote in a namespace; for one cell, if one is given.
    ///
    /// # Errors
    /// There is none yet, or there are several, or it can't be read.
    pub fn find(
        name: &'static str,
        cell: Option<&str>,
        namespace: &str,
        observed: &ObservedState<'_>,
    ) -> Awaited<Self> {
        let mut labels = vec![(AGENTS, name)];
        labels.extend(cell.map(|cell| (CELL, cell)));
        let selector: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}={value}"))
            .collect();
        let selector = selector.join(",");
        let found = match observed.list::<Secret>(namespace, &labels) {
            Lookup::Found(found) => found,
            Lookup::Missing => Vec::new(),
            Lookup::Unknown(message) => return Err(Progress::Unknown { message }),
        };
        let mut found = found.into_iter();
        match (found.next(), found.len()) {
            (None, _) => Err(Progress::waiting(
                Reason::WaitingFor("Configuration"),
                format!(
                    "waits for a Secret with the labels {selector} in the namespace {namespace}, which the {name}-operator \
                     writes"
                ),
            )),
            (Some(secret), 0) => Ok(Self {
                name,
                source: secret.metadata.name,
                values: secret
                    .body
                    .data
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, value)| (key, value.0))
                    .collect(),
            }),
            (Some(_), _) => Err(Progress::failed(
                Reason::Ambiguous,
                format!(
                    "the namespace {namespace} has several Secrets with the labels {selector}: delete all but one of them"
                ),
            )),
        }
    }

    /// A value that must be one line of text.
    ///
    /// # Errors
    /// It isn't there, or isn't one line of text.
    pub fn line(&self, key: &str) -> Awaited<&str> {
        let text = self.values.get(key);
        let text = text.and_then(|value| std::str::from_utf8(value).ok());
        text.map(str::trim)
            .filter(|text| !text.is_empty() && !text.contains('\n'))
            .ok_or_else(|| {
                Progress::failed(
                    Reason::InvalidConfiguration,
                    format!(
                        "the Secret {} must have one line of text in its key {key}: see the {}-operator",
                        self.source, self.name
                    ),
                )
            })
    }

    /// Whether it has a key.
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Stands for the files that processes read only when they start. Certificates are read again when they change.
    pub fn digest(&self) -> String {
        let files = self.files().filter(|(key, _)| {
            let is_certificate = key.ends_with(".crt") || key.ends_with(".key");
            !is_certificate
        });
        let parts: Vec<String> = files
            .flat_map(|(key, value)| [key.clone(), String::from_utf8_lossy(value).into_owned()])
            .collect();
        digest(parts.iter().map(String::as_str))
    }

    fn files(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.values
            .iter()
            .filter(|(key, _)| !IMAGES.contains(&key.as_str()))
    }

    /// Copies its files into the agents' namespace.
    pub fn copy(&self, namespace: &str, desired: &mut DesiredState) {
        let data = self.files();
        let data = data.map(|(key, value)| (key.clone(), ByteString(value.clone())));
        let secret = Secret {
            data: Some(data.collect()),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        };
        desired.apply(namespace, self.name, &secret);
    }
}
