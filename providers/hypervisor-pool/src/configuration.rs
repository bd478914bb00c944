//! Configuration of the agents: Secrets that the operators of OVN, Neutron, Nova and Cinder write beside a control plane, and
//! their copies beside the agents.
//!
//! Where control plane and nodes are in different clusters, External Secrets bring the Secrets, and nothing is copied.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::cinder::CinderSpec;
use c5c3_api::hypervisor::{
    AGENTS, CELL, CEPH_KEY, CLOUDS_AUTHORITY, CLOUDS_FILE, CONSOLE_AUTHORITY, CONSOLE_CERTIFICATE,
    CONSOLE_KEY, HypervisorShareSpec, MIGRATION_KEY,
};
use c5c3_api::neutron::NeutronSpec;
use c5c3_api::nova::NovaSpec;
use c5c3_api::ovn_cluster::OvnClusterSpec;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{
    Custom, DesiredState, Key, Metadata, ObservedState, Owner, Progress, Reason, Resource,
    ResourceKind, SecretValues,
};
use provider_openstack::{Prerequisite, digest, opaque};

/// The key with the release, which is no file.
pub const RELEASE: &str = "release";

/// The kinds whose operators write such Secrets, by the label's value.
pub const OWNERS: [(&str, ResourceKind); 4] = [
    ("ovn", Custom::<OvnClusterSpec>::KIND),
    ("neutron", Custom::<NeutronSpec>::KIND),
    ("nova", Custom::<NovaSpec>::KIND),
    ("cinder", Custom::<CinderSpec>::KIND),
];

/// Secrets with keys of Ceph's users, which libvirt sees, if they exist.
pub const CEPH_KEYS: [&str; 2] = ["ceph-nova", "ceph-cinder"];

/// The Secret with QEMU's certificate of consoles, which libvirt sees, if it exists.
pub const CONSOLES: &str = "consoles";
/// What is in it, each by its key there and the one in Nova's Secret.
const CONSOLE_FILES: [(&str, &str); 3] = [
    ("ca.crt", CONSOLE_AUTHORITY),
    ("tls.crt", CONSOLE_CERTIFICATE),
    ("tls.key", CONSOLE_KEY),
];

/// The configuration of the agents of OVN, Neutron or Nova, and keys of Ceph's users.
#[derive(Clone)]
pub struct Configuration {
    /// The name of its copy.
    pub name: &'static str,
    /// Its values.
    pub values: SecretValues,
    source: String,
}

impl Configuration {
    /// The configuration that an operator, of `ovn`, `neutron`, `nova` or `cinder`, wrote in a namespace; for one cell, if one is
    /// given.
    ///
    /// # Errors
    /// There is none yet, or there are several, or it can't be read.
    pub fn find(
        name: &'static str,
        cell: Option<&str>,
        share: &HypervisorShareSpec,
        observed: &ObservedState<'_>,
    ) -> Prerequisite<Self> {
        let namespace = &share.control_plane_namespace();
        let mut labels = vec![(AGENTS, name)];
        labels.extend(cell.map(|cell| (CELL, cell)));
        let selector: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}={value}"))
            .collect();
        let selector = selector.join(",");
        let found = observed
            .list::<SecretValues>(namespace, &labels)
            .or_default()?;
        // There, nobody but the platform team writes in this namespace, and none of these operators runs.
        let in_another_cluster = !share.endpoints.is_empty();
        let mut composed = Vec::new();
        for secret in found {
            if in_another_cluster || is_composed(&secret.metadata, name, namespace, observed)? {
                composed.push(secret);
            }
        }
        let mut found = composed.into_iter();
        match (found.next(), found.len()) {
            (None, _) => Err(Progress::waiting(
                Reason::WaitingFor("Configuration"),
                format!(
                    "waits for a Secret with the labels {selector} in the namespace {namespace}, which the {name}-operator \
                     writes; others are ignored{}",
                    cell.map_or_else(String::new, |_| others(name, namespace, observed))
                ),
            )),
            (Some(secret), 0) => Ok(Self {
                name,
                source: secret.metadata.name,
                values: secret.body.written_by(format!("{name}-operator")),
            }),
            (Some(_), _) => Err(Progress::failed(
                Reason::Ambiguous,
                format!(
                    "the namespace {namespace} has several Secrets with the labels {selector}: delete all but one of them"
                ),
            )),
        }
    }

    /// A line of text, without blanks and line breaks around it: a Secret that is copied from another cluster by hand often has them.
    ///
    /// # Errors
    /// The value is missing or blank, or is not a single line of text.
    pub fn line(&self, key: &str) -> Prerequisite<&str> {
        let line = self.values.text(key)?.trim();
        match line.contains(char::is_control) {
            true => self.values.line(key),
            false => Ok(line),
        }
    }

    /// Stands for the files that processes read only when they start. Certificates are read again when they change.
    pub fn digest(&self) -> String {
        let files = self.files().filter(|(key, _)| {
            let is_certificate = key.ends_with(".crt") || key.ends_with(".key");
            !is_certificate
        });
        let parts: Vec<String> = files
            .flat_map(|(key, value)| [key.to_owned(), String::from_utf8_lossy(value).into_owned()])
            .collect();
        digest(parts.iter().map(String::as_str))
    }

    fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let is_file = |key: &str| {
            let is_of_console = CONSOLE_FILES.iter().any(|(_, console)| *console == key);
            ![RELEASE, CLOUDS_FILE, CLOUDS_AUTHORITY, MIGRATION_KEY].contains(&key)
                && !key.starts_with(CEPH_KEY)
                && !is_of_console
        };
        self.values.values().filter(move |(key, _)| is_file(key))
    }

    /// The SSH key of the hosts of Nova's cell. An earlier nova-operator publishes none.
    pub fn migration_key(&self) -> Option<&[u8]> {
        self.values.value(MIGRATION_KEY)
    }

    /// Whether consoles open: QEMU has a certificate for them.
    pub fn consoles(&self) -> Progress {
        match self.console_files() {
            Some(_) => Progress::Ready,
            None => Progress::waiting(
                Reason::WaitingFor("Certificate"),
                format!(
                    "no console opens: the Secret {} has no certificate of consoles, and with agents.encrypted or agents.issuerRef they are \
                     never without TLS. Upgrade the nova-operator, and set tls.issuerRef of the Nova (of a ControlPlane: \
                     global.tls.issuerRef or global.tls.internalIssuerRef; of a claim: tls.enabled)",
                    self.source
                ),
            ),
        }
    }

    /// QEMU's certificate of consoles, if it is complete.
    fn console_files(&self) -> Option<BTreeMap<&str, &[u8]>> {
        let files = CONSOLE_FILES.iter();
        let files = files.map(|&(name, key)| Some((name, self.values.value(key)?)));
        files.collect()
    }

    /// Copies its files into the agents' namespace, and what is for libvirt alone into Secrets of their own: keys of Ceph's users, and
    /// the certificate of consoles.
    pub fn copy(&self, namespace: &str, desired: &mut DesiredState) {
        let values = self.values.values();
        let keys: BTreeMap<&str, &[u8]> = values
            .filter(|(key, _)| key.starts_with(CEPH_KEY))
            .collect();
        let consoles = self.console_files().unwrap_or_default();
        for (name, data) in [
            (self.name.to_owned(), self.files().collect()),
            (format!("ceph-{}", self.name), keys),
            (CONSOLES.to_owned(), consoles),
        ] {
            if data.is_empty() {
                // Servers outlive what they need the keys for.
                if CEPH_KEYS.contains(&name.as_str()) {
                    desired.keep(Key::of::<Secret>(namespace, &name));
                }
                continue;
            }
            let secret = opaque(ObjectMeta::default(), data);
            desired.apply(namespace, &name, &secret);
        }
    }

    /// Leaves what was copied of a name as it is.
    pub fn keep(name: &str, namespace: &str, desired: &mut DesiredState) {
        for name in [name.to_owned(), format!("ceph-{name}")] {
            desired.keep(Key::of::<Secret>(namespace, &name));
        }
        if name == "nova" {
            desired.keep(Key::of::<Secret>(namespace, CONSOLES));
        }
    }
}

/// Where to look if a share's cell has no configuration: Nova may have the cell and not have mapped it yet, or may not have it.
fn others(name: &str, namespace: &str, observed: &ObservedState<'_>) -> String {
    let found = observed.list::<SecretValues>(namespace, &[(AGENTS, name)]);
    let found = found.found().unwrap_or_default();
    let cells = found
        .iter()
        .filter_map(|secret| secret.metadata.labels.get(CELL));
    let cells: BTreeSet<&str> = cells.map(String::as_str).collect();
    let cells: Vec<&str> = cells.into_iter().collect();
    let waits =
        "; if the Nova has the cell, CellsReady of the Nova says what this Secret waits for";
    match cells.is_empty() {
        true => waits.to_owned(),
        false => format!(
            "{waits}; if not, add the cell to the Nova, or create the HypervisorShare again with one of the cells that have Secrets: {}",
            cells.join(", ")
        ),
    }
}

/// Whether an operator composed a Secret for a resource that exists. Other Secrets never reach a hypervisor, whatever their labels.
fn is_composed(
    secret: &Metadata,
    name: &str,
    namespace: &str,
    observed: &ObservedState<'_>,
) -> Prerequisite<bool> {
    let kind = OWNERS.into_iter().find(|(label, _)| *label == name);
    let owner = Owner::from_labels(&secret.labels);
    let Some(((_, kind), owner)) = kind.zip(owner) else {
        return Ok(false);
    };
    if (owner.kind.as_str(), owner.namespace.as_str()) != (kind.kind, namespace) {
        return Ok(false);
    }
    let owner = observed
        .object(&Key::new(kind, namespace, &owner.name))
        .optional()?;
    Ok(owner.is_some_and(|owner| owner["metadata"]["uid"].as_str() == secret.controller()))
}
