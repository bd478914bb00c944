//! The paths on which secrets travel between clusters, as PushSecrets and ExternalSecrets have them.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::Manifest;

/// Where PushSecrets and ExternalSecrets name paths.
const KEYS: [(&str, &str); 3] = [
    ("data", "/match/remoteRef/remoteKey"),
    ("data", "/remoteRef/key"),
    ("dataFrom", "/extract/key"),
];

/// A path in the secret store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretPath {
    /// The path.
    pub path: String,
    /// The clusters from which values are written to it.
    pub from: BTreeSet<String>,
    /// The clusters in which values are read from it.
    pub to: BTreeSet<String>,
}

impl SecretPath {
    /// The paths that objects write to and read from, each with its cluster.
    pub fn of<'a>(objects: impl Iterator<Item = (&'a str, &'a Manifest)>) -> Vec<Self> {
        let mut paths: BTreeMap<&str, Self> = BTreeMap::new();
        for (cluster, object) in objects {
            let is_push = match object.kind() {
                "PushSecret" => true,
                "ExternalSecret" => false,
                _ => continue,
            };
            for (field, pointer) in KEYS {
                let entries = object.spec()[field].as_array().into_iter().flatten();
                for key in entries.filter_map(|entry| entry.pointer(pointer)?.as_str()) {
                    let path = paths.entry(key).or_default();
                    let clusters = match is_push {
                        true => &mut path.from,
                        false => &mut path.to,
                    };
                    clusters.insert(cluster.to_owned());
                }
            }
        }
        let paths = paths.into_iter();
        paths
            .map(|(path, found)| Self {
                path: path.to_owned(),
                ..found
            })
            .collect()
    }
}
