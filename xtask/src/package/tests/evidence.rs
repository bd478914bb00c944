//! The bill of materials and the provenance beside the packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::oci::sha256;
use super::super::program::StaticProgram;
use super::super::{BILL, PROVENANCE, evidence, write};
use super::{LOAD, Sources, elf, options};

#[test]
fn the_provenance_is_of_the_program_the_packages_and_the_bill() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let program = StaticProgram::parse(elf(LOAD)).unwrap();
    let packages: Vec<_> = Sources::new()
        .build(&[])
        .into_iter()
        .map(|(name, archive)| (format!("{name}.xpkg"), archive))
        .collect();
    let options = options(&["--version", "1.2.3", "--builder", "https://example.com"]);
    let [bill, provenance] = evidence(&repository, &options, &program, &packages).unwrap();

    let statement: Value = serde_json::from_slice(&provenance.1).unwrap();
    let digests: BTreeMap<&str, &str> = statement["subject"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subject| {
            let digest = subject["digest"]["sha256"].as_str().unwrap();
            (subject["name"].as_str().unwrap(), digest)
        })
        .collect();
    let program = ("c5c3".to_owned(), elf(LOAD));
    let built = [&program, &bill].into_iter().chain(&packages);
    let expected: BTreeMap<&str, String> = built
        .map(|(name, contents)| (name.as_str(), sha256(contents)))
        .collect();
    assert_eq!(expected.len(), 5);
    assert_eq!(
        digests,
        expected
            .iter()
            .map(|(name, digest)| (*name, digest.as_str()))
            .collect()
    );
    assert_eq!(
        statement["predicate"]["runDetails"]["builder"]["id"],
        "https://example.com"
    );

    assert_eq!((bill.0.as_str(), provenance.0.as_str()), (BILL, PROVENANCE));
    let bill: Value = serde_json::from_slice(&bill.1).unwrap();
    assert_eq!(bill["metadata"]["component"]["version"], "v1.2.3");
    let has = |name| {
        let components = bill["components"].as_array().unwrap();
        components.iter().any(|component| component["name"] == name)
    };
    assert!(has("kube-client") && has("tokio") && !has("proptest"));
}

#[test]
fn packages_of_an_unknown_program_have_no_provenance_of_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| (name.to_owned(), b"{}".to_vec());
    write(
        folder.path(),
        ["a.xpkg", BILL, PROVENANCE].map(file).to_vec(),
    )
    .unwrap();
    write(folder.path(), vec![file("a.xpkg")]).unwrap();
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["a.xpkg"]);
}
