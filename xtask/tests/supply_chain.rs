//! What the project pins: packages of the images and crates of the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

type Affected = BTreeMap<String, BTreeMap<String, String>>;

/// `package/advisories.yaml`: by package and identifier, the affected versions, or the reason to accept one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advisories {
    accepted: Affected,
    crates: Affected,
    pypi: Affected,
}

#[test]
fn no_pin_has_a_known_vulnerability() -> Result<()> {
    let advisories: Advisories = serde_saphyr::from_str(&text("package/advisories.yaml")?)?;
    let mut found = known(&advisories.crates, &crates()?, "Cargo.lock")?;
    for file in requirements()? {
        let name = file.to_string_lossy();
        found.extend(known(&advisories.pypi, &packages(&file)?, &name)?);
    }
    let accepts = |package: &str, id: &str| advisories.accepted.get(package)?.get(id).map(drop);
    found.retain(|(package, id, _)| accepts(package, id).is_none());
    let found: Vec<_> = found.into_iter().map(|(.., message)| message).collect();
    assert_eq!(
        found,
        Vec::<String>::new(),
        "raise these pins to versions that are not affected"
    );
    Ok(())
}

#[test]
fn every_package_of_an_image_is_pinned_by_hash() -> Result<()> {
    for file in requirements()? {
        let text = fs::read_to_string(&file)?;
        let pins = packages(&file)?;
        let with_hashes = text.matches(" \\\n    --hash=sha256:").count();
        ensure!(
            pins.len() > 5,
            "{} pins {} packages",
            file.display(),
            pins.len()
        );
        let without: Vec<_> = text
            .lines()
            .filter(|line| line.contains("==") && !line.ends_with(" \\"))
            .collect();
        assert_eq!(without, Vec::<&str>::new(), "{}", file.display());
        ensure!(with_hashes >= pins.len(), "{}", file.display());
    }
    Ok(())
}

#[test]
fn versions_are_compared_with_advisories() -> Result<()> {
    let ranges = "<27.0.2, >=28.0.0 <28.0.2, =29.0.0";
    let affected = ["27.0.1", "28.0.0", "28.0.1", "29.0.0", "29.0"];
    let safe = ["27.0.2", "28.0.2", "28.1", "29.0.1", "30.0.0"];
    for (versions, expected) in [(affected, true), (safe, false)] {
        for version in versions {
            assert_eq!(is_affected(version, ranges)?, expected, "{version}");
        }
    }
    Ok(())
}

/// Package, identifier and message of every pin with a known vulnerability.
fn known(
    advisories: &Affected,
    pins: &[(String, String)],
    file: &str,
) -> Result<Vec<(String, String, String)>> {
    let mut found = Vec::new();
    for (package, version) in pins {
        for (id, ranges) in advisories.get(package).into_iter().flatten() {
            if is_affected(version, ranges)? {
                let message = format!("{file}: {package} {version} has {id} ({ranges})");
                found.push((package.clone(), id.clone(), message));
            }
        }
    }
    Ok(found)
}

fn is_affected(version: &str, ranges: &str) -> Result<bool> {
    let version = numbers(version)?;
    for clause in ranges.split(',') {
        let mut all = true;
        for comparison in clause.split_whitespace() {
            let digits = comparison.trim_start_matches(['<', '>', '=']);
            let bound = numbers(digits)?;
            all &= match comparison.trim_end_matches(digits) {
                "<" => version < bound,
                "<=" => version <= bound,
                ">" => version > bound,
                ">=" => version >= bound,
                "=" => version == bound,
                other => anyhow::bail!("{other:?} in {ranges:?} is not a comparison"),
            };
        }
        if all && !clause.trim().is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Numbers of a release, filled with zeros, without what follows a dash, a plus sign or a letter.
fn numbers(version: &str) -> Result<[u64; 5]> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    let release = version[..end.unwrap_or(version.len())].trim_end_matches('.');
    let mut numbers = [0; 5];
    for (index, number) in release.split('.').enumerate() {
        let number = number
            .parse()
            .with_context(|| format!("{version:?} is not a version"))?;
        *numbers.get_mut(index).context("too many numbers")? = number;
    }
    Ok(numbers)
}

fn crates() -> Result<Vec<(String, String)>> {
    let lock = text("Cargo.lock")?;
    let field = |package: &str, key: &str| {
        let value = package
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key} = ")));
        value.map(|value| value.trim_matches('"').to_owned())
    };
    let packages: Vec<_> = lock
        .split("[[package]]")
        .skip(1)
        .filter_map(|package| Some((field(package, "name")?, field(package, "version")?)))
        .collect();
    ensure!(packages.len() > 100, "Cargo.lock cannot be read");
    Ok(packages)
}

fn packages(file: &Path) -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(file)?;
    let pins = text.lines().filter_map(|line| {
        let (name, version) = line.split_once("==")?;
        let version = version.split([' ', ';']).next()?;
        Some((name.to_owned(), version.to_owned()))
    });
    Ok(pins.collect())
}

/// The files that the images are built from, one for each service and release.
fn requirements() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for service in fs::read_dir(root().join("package/images"))? {
        let service = service?.path();
        if service.is_dir() {
            for file in fs::read_dir(service)? {
                files.push(file?.path());
            }
        }
    }
    files.retain(|file| {
        let requirements = file.extension().is_some_and(|extension| extension == "txt");
        requirements && !file.ends_with("packages.txt")
    });
    files.sort();
    ensure!(files.len() >= 9, "the images' requirements are not found");
    Ok(files)
}

fn text(file: &str) -> Result<String> {
    let path = root().join(file);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
