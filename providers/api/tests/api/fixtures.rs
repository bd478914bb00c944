//! The documents of `fixtures/`: taken, or refused with a message that says what to do.

use std::{collections::BTreeSet, fs, path::Path};

use c5c3_api::{Generation, OpenStackClusterSpec};
use serde_json::Value;

use crate::{admission::Admission, round_trip::round_trip};

struct Fixture {
    name: String,
    documents: Vec<Value>,
    refused: Option<String>,
    generations: Vec<Generation>,
}

fn fixtures(folder: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Fixture {
    let text = fs::read_to_string(file).unwrap();
    let header = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key))
            .map(|value| value.trim().to_owned())
    };
    let only = header("# only:");
    Fixture {
        name: file.file_stem().unwrap().to_string_lossy().into_owned(),
        documents: serde_saphyr::from_multiple(&text).unwrap(),
        refused: header("# refused:"),
        generations: Generation::ALL
            .into_iter()
            .filter(|generation| {
                only.as_ref()
                    .is_none_or(|only| only == generation.version())
            })
            .collect(),
    }
}

#[test]
fn accepted_documents_are_taken() {
    let fixtures = fixtures("accepted");
    assert!(fixtures.len() >= 50, "only {} fixtures", fixtures.len());
    for fixture in fixtures {
        for generation in fixture.generations {
            let mut server = Admission::new(generation);
            for (index, document) in fixture.documents.iter().enumerate() {
                assert_eq!(
                    server.apply(document),
                    Ok(()),
                    "{} {generation:?}, document {index}",
                    fixture.name
                );
            }
        }
    }
}

/// Each file says in `# refused:` how a real API server refuses it; the snapshot says the same in the words of `c5c3 plan`.
#[test]
fn refused_documents_are_refused_with_what_to_do() {
    let fixtures = fixtures("refused");
    assert!(fixtures.len() >= 150, "only {} fixtures", fixtures.len());
    let mut said = BTreeSet::new();
    for fixture in fixtures {
        let name = &fixture.name;
        assert!(fixture.refused.is_some(), "{name}: no `# refused:`");
        for generation in fixture.generations {
            let mut server = Admission::new(generation);
            let (last, before) = fixture.documents.split_last().unwrap();
            for document in before {
                let applied = server.apply(document);
                assert_eq!(applied, Ok(()), "{name} {generation:?}, before the last");
            }
            let problems = server.apply(last).expect_err(name);
            assert_eq!(problems.len(), 1, "{name} {generation:?}: {problems:?}");
            said.extend(problems.iter().map(|problem| format!("{name}: {problem}")));
        }
    }
    let said: Vec<String> = said.into_iter().collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn accepted_documents_are_written_as_they_were_read() {
    for fixture in fixtures("accepted") {
        for document in fixture.documents {
            round_trip(&document).unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        }
    }
}

#[test]
fn what_crossplane_adds_is_ignored_when_read() {
    let spec = serde_json::json!({
        "region": "eu-de-1",
        "size": "small",
        "hypervisorClusters": ["hv-pool-a"],
        "storageClusters": ["st-pool-a"],
        "claimRef": { "name": "customer-a-prod" },
        "compositionRef": { "name": "openstack-production" },
        "crossplane": { "resourceRefs": [] },
        "resourceRefs": [],
    });
    let spec: OpenStackClusterSpec = serde_json::from_value(spec).unwrap();
    assert_eq!(
        spec.control_plane_cluster().unwrap().to_string(),
        "eu-de-1-control-plane"
    );
}
