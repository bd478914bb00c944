//! The documents that the kinds were made from, word for word.

use std::{collections::BTreeSet, fs, path::Path};

use c5c3_api::Generation;
use serde_json::Value;

use crate::{admission::Admission, round_trip::round_trip};

/// Each file of `fixtures/seeds/` and the kind in it. The API server refuses one of them for its owner, which has no uid;
/// of the kind itself nothing is wrong there.
const DOCUMENTS: [(&str, &str); 13] = [
    ("cinder", "Cinder"),
    ("controlplane", "ControlPlane"),
    ("controlplane-customer-a-prod", "ControlPlane"),
    ("cortex", "Cortex"),
    ("glance", "Glance"),
    ("keystone", "Keystone"),
    ("neutron", "Neutron"),
    ("neutron-cross-cluster", "Neutron"),
    ("nova", "Nova"),
    ("ovnchassis", "OVNChassis"),
    ("ovncluster", "OVNCluster"),
    ("placement", "Placement"),
    ("tempest", "Tempest"),
];

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/seeds")
}

fn documents() -> impl Iterator<Item = (&'static str, Value)> {
    DOCUMENTS.into_iter().map(|(name, kind)| {
        let text = fs::read_to_string(folder().join(name).with_extension("yaml")).unwrap();
        let document: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(document["kind"], kind, "{name}");
        (name, document)
    })
}

#[test]
fn every_document_is_listed() {
    let listed: BTreeSet<_> = DOCUMENTS
        .iter()
        .map(|(name, _)| format!("{name}.yaml"))
        .collect();
    let present: BTreeSet<_> = fs::read_dir(folder())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(listed, present);
}

#[test]
fn they_are_taken_unchanged() {
    let mut server = Admission::new(Generation::V2);
    for (name, document) in documents() {
        assert_eq!(server.apply(&document), Ok(()), "{name}");
    }
}

#[test]
fn nothing_in_them_is_lost() {
    for (name, document) in documents() {
        round_trip(&document).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
