//! What the project pins: crates of the program, and packages of the images.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::files::{entries, read};

/// A dependency in one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    /// Its name in its registry, normalized.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of each file that is accepted, in hexadecimal.
    pub hashes: Vec<String>,
}

/// What pip installs into an image.
pub struct Requirements {
    /// The service that the image is of.
    pub service: String,
    /// The release of OpenStack.
    pub release: String,
    /// From `package/images/<service>/<release>.txt`, in the order of the file.
    pub pins: Vec<Pin>,
}

/// The crates of `Cargo.lock` that come from a registry.
///
/// # Errors
/// When the file can't be read.
pub fn crates(root: &Path) -> Result<Vec<Pin>> {
    let lock = read(&root.join("Cargo.lock"))?;
    let pins: Vec<Pin> = lock
        .split("[[package]]")
        .skip(1)
        .filter_map(|package| {
            let field = |key: &str| {
                let value = package
                    .lines()
                    .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
                value.map(|value| value.trim_matches('"').to_owned())
            };
            Some(Pin {
                name: field("name")?,
                version: field("version")?,
                hashes: vec![field("checksum")?],
            })
        })
        .collect();
    ensure!(pins.len() > 100, "Cargo.lock has too few crates");
    Ok(pins)
}

/// The requirements of all images, by service and release.
///
/// # Errors
/// When a file can't be read.
pub fn requirements(root: &Path) -> Result<Vec<Requirements>> {
    let mut all = Vec::new();
    for service in names(&root.join("package/images"))? {
        let folder = root.join("package/images").join(&service);
        if !folder.is_dir() {
            continue;
        }
        for file in names(&folder)? {
            let Some(release) = file.strip_suffix(".txt").filter(|name| *name != "packages") else {
                continue;
            };
            all.push(Requirements {
                service: service.clone(),
                release: release.to_owned(),
                pins: packages(&read(&folder.join(&file))?),
            });
        }
    }
    ensure!(all.len() >= 9, "the images' requirements are not found");
    Ok(all)
}

/// The packages of a file of requirements, as `uv pip compile --generate-hashes` writes it.
fn packages(text: &str) -> Vec<Pin> {
    let mut pins: Vec<Pin> = Vec::new();
    for line in text.lines() {
        if let Some((name, version)) = line.split_once("==") {
            pins.push(Pin {
                name: name.to_owned(),
                version: version
                    .split([' ', ';'])
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                hashes: Vec::new(),
            });
        } else if let Some((_, hash)) = line.split_once("--hash=sha256:")
            && let Some(pin) = pins.last_mut()
        {
            pin.hashes
                .push(hash.trim_end_matches([' ', '\\']).to_owned());
        }
    }
    pins
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>> {
    let paths = entries(folder)?;
    let names = paths.iter().filter_map(|path| path.file_name());
    Ok(names
        .map(|name| name.to_string_lossy().into_owned())
        .collect())
}
