//! Bills of materials: CycloneDX 1.6 (<https://cyclonedx.org/docs/1.6/json/>), one for the program and one for each image.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::pins::{self, Pin};

/// A registry of packages, by its name in package URLs (<https://github.com/package-url/purl-spec>).
#[derive(Clone, Copy)]
pub enum Registry {
    /// crates.io.
    Cargo,
    /// PyPI.
    Pypi,
}

impl Registry {
    /// The package URL of a pin.
    pub fn url(self, pin: &Pin) -> String {
        let registry = match self {
            Self::Cargo => "cargo",
            Self::Pypi => "pypi",
        };
        format!(
            "pkg:{registry}/{}@{}",
            pin.name,
            pin.version.replace('+', "%2B")
        )
    }
}

/// The bill of something that consists of these pins. A pin of PyPI has the hash of each file that pip may install.
pub fn bill(kind: &str, name: &str, version: &str, registry: Registry, pins: &[Pin]) -> Value {
    let components: Vec<Value> = pins
        .iter()
        .map(|pin| {
            let url = registry.url(pin);
            let hashes = pin
                .hashes
                .iter()
                .map(|hash| json!({ "alg": "SHA-256", "content": hash }));
            json!({
                "type": "library",
                "bom-ref": url,
                "name": pin.name,
                "version": pin.version,
                "purl": url,
                "hashes": hashes.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": { "type": kind, "name": name, "version": version } },
        "components": components,
    })
}

/// The crates that are linked into the program or generate its code, by name and version.
///
/// # Errors
/// When cargo can't list them, or one has no checksum in `Cargo.lock`.
pub fn shipped_crates(root: &Path) -> Result<Vec<Pin>> {
    let mut tree = c5c3_program::cargo();
    tree.args(["tree", "--locked", "--package", "c5c3", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}"]);
    select(&c5c3_program::output_of(tree, root)?, pins::crates(root)?)
}

/// Those of the locked crates that `cargo tree` lists. The project's own are listed with their folders.
fn select(listed: &str, locked: Vec<Pin>) -> Result<Vec<Pin>> {
    let listed: BTreeSet<(&str, &str)> = listed
        .lines()
        .filter(|line| !line.contains("(/"))
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let mut shipped: Vec<Pin> = locked
        .into_iter()
        .filter(|pin| listed.contains(&(pin.name.as_str(), pin.version.as_str())))
        .collect();
    shipped.sort();
    ensure!(
        shipped.len() == listed.len() && !shipped.is_empty(),
        "cargo tree lists {} crates, of which Cargo.lock has {}",
        listed.len(),
        shipped.len()
    );
    Ok(shipped)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::package::bills_of_images;

    fn pin(name: &str, version: &str) -> Pin {
        Pin {
            name: name.to_owned(),
            version: version.to_owned(),
            hashes: vec!["00ff".to_owned()],
        }
    }

    #[test]
    fn a_bill_has_what_cyclonedx_requires() {
        let bill = bill(
            "container",
            "registry.example/keystone",
            "28.1.0",
            Registry::Pypi,
            &[pin("alembic", "1.0+x")],
        );
        assert_eq!(
            bill,
            json!({
                "bomFormat": "CycloneDX",
                "specVersion": "1.6",
                "version": 1,
                "metadata": {
                    "component": { "type": "container", "name": "registry.example/keystone", "version": "28.1.0" },
                },
                "components": [{
                    "type": "library",
                    "bom-ref": "pkg:pypi/alembic@1.0%2Bx",
                    "name": "alembic",
                    "version": "1.0+x",
                    "purl": "pkg:pypi/alembic@1.0%2Bx",
                    "hashes": [{ "alg": "SHA-256", "content": "00ff" }],
                }],
            })
        );
    }

    #[test]
    fn the_program_consists_of_crates_that_cargo_tree_lists() {
        let locked = || {
            vec![
                pin("tokio", "1.0.0"),
                pin("insta", "1.0.0"),
                pin("syn", "2.0.0"),
            ]
        };
        let listed = "c5c3 v0.1.0 (/src)\ntokio v1.0.0\nsyn v2.0.0 (proc-macro)\nc5c3-api v0.1.0 (/src/api)\ntokio v1.0.0 (*)\n";
        let shipped = select(listed, locked()).expect("all are locked");
        assert_eq!(shipped, [pin("syn", "2.0.0"), pin("tokio", "1.0.0")]);
        assert!(select("serde v1.0.0\n", locked()).is_err());
    }

    #[test]
    fn each_image_has_a_bill_of_what_is_installed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let bills = bills_of_images(&root).unwrap();
        assert_eq!(bills, bills_of_images(&root).unwrap());
        let mut kinds = BTreeMap::new();
        for (file, bill) in &bills {
            let bill: Value = serde_json::from_slice(bill).unwrap();
            let installed = &bill["metadata"]["component"];
            let name = installed["name"].as_str().unwrap();
            let (_, service) = name.rsplit_once('/').unwrap();
            let tag = installed["version"].as_str().unwrap();
            assert_eq!(*file, format!("{service}-{tag}.cdx.json"));
            let components = bill["components"].as_array().unwrap();
            // The service itself is one of them, under the name that it has on PyPI.
            let own = components.iter().filter(|component| {
                let name = component["name"].as_str().unwrap();
                name.trim_start_matches("openstack-") == service && component["version"] == tag
            });
            assert_eq!(own.count(), 1, "{file}");
            for component in components {
                assert_eq!(component["type"], "library");
                assert_eq!(component["bom-ref"], component["purl"]);
                assert!(
                    !component["hashes"].as_array().unwrap().is_empty(),
                    "{component}"
                );
            }
            *kinds.entry(service.to_owned()).or_insert(0) += 1;
        }
        let mut expected = BTreeMap::new();
        for folder in fs::read_dir(root.join("package/images")).unwrap() {
            let folder = folder.unwrap();
            let files = fs::read_dir(folder.path()).into_iter().flatten();
            let releases = files.filter(|file| {
                let path = file.as_ref().unwrap().path();
                path.extension().is_some_and(|extension| extension == "txt")
                    && !path.ends_with("packages.txt")
            });
            match releases.count() {
                0 => {}
                count => {
                    let service = folder.file_name().into_string().unwrap();
                    expected.insert(service, count);
                }
            }
        }
        assert_eq!(kinds, expected);
    }
}
