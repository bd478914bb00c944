//! `cargo xtask advisories`: known vulnerabilities of what the project pins, from copies of the advisory databases.

mod age;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use jiff::Zoned;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{files, pins};
use age::{ByHand, look_ups};

/// The file that the command writes.
const SNAPSHOT: &str = "package/advisories-snapshot.yaml";

/// The file with what was looked up by hand.
const BY_HAND: &str = "package/advisories.yaml";

const HEADER: &str = "\
# Written by `cargo xtask advisories`; later ones are in advisories.yaml. Each crate and package that the project pins is here, also
# without an advisory: it was looked up. Each entry: identifier, and the affected versions.
";

/// Copies of the databases, unpacked. Without them, nothing is written, and what was looked up too long ago is printed.
#[derive(Args)]
pub struct Options {
    /// The folder with RustSec's records in the format of OSV: its branch `osv`
    #[arg(long, value_name = "FOLDER", requires = "pypi")]
    crates: Option<PathBuf>,
    /// The folder with the records of the Python Packaging Advisory Database
    #[arg(long, value_name = "FOLDER", requires = "crates")]
    pypi: Option<PathBuf>,
    /// How many days ago a look-up may be
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    older_than: u32,
}

/// By name and identifier, the affected versions: clauses separated by commas; all comparisons of a clause hold.
type Affected = BTreeMap<String, BTreeMap<String, String>>;

/// What was looked up.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Snapshot {
    crates: Database,
    pypi: Database,
}

/// What one database says of the pins.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Database {
    /// The day of its newest record.
    newest: String,
    /// Every pin, with its advisories.
    affected: Affected,
}

/// A record in the format of OSV (<https://ossf.github.io/osv-schema/>).
#[derive(Deserialize)]
struct Record {
    id: String,
    modified: String,
    withdrawn: Option<String>,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    affected: Vec<Versions>,
}

/// The versions of one package that a record is about.
#[derive(Deserialize)]
struct Versions {
    package: Package,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    database_specific: Specific,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
struct Range {
    r#type: String,
    events: Vec<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Specific {
    informational: Option<String>,
}

/// Writes what the databases say of the pins, if there are copies, and prints which pins were looked up too long ago.
///
/// # Errors
/// When a folder has no records, a record or a list of pins can't be read, or the file can't be written.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if let (Some(crates), Some(pypi)) = (&options.crates, &options.pypi) {
        write(root, crates, pypi)?;
    }
    print_outdated(root, options.older_than)
}

fn write(root: &Path, crates: &Path, pypi: &Path) -> Result<()> {
    let pinned = pins::crates(root)?.into_iter().map(|pin| pin.name);
    let packages = pins::requirements(root)?
        .into_iter()
        .flat_map(|file| file.pins)
        .map(|pin| pin.name);
    let snapshot = Snapshot {
        crates: database(crates, pinned.collect())?,
        pypi: database(pypi, packages.collect())?,
    };
    let path = root.join(SNAPSHOT);
    let text = format!("{HEADER}{}", serde_saphyr::to_string(&snapshot)?);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

fn print_outdated(root: &Path, days: u32) -> Result<()> {
    let snapshot: Snapshot = read(&root.join(SNAPSHOT))?;
    let by_hand: ByHand = read(&root.join(BY_HAND))?;
    let today = Zoned::now().date();
    let registries = [
        ("crates.io", look_ups(&snapshot.crates, &ByHand::default())?),
        ("PyPI", look_ups(&snapshot.pypi, &by_hand)?),
    ];
    for (registry, look_ups) in registries {
        for look_up in look_ups {
            if let Some(outdated) = look_up.outdated(registry, today, days)? {
                println!("looked up on {outdated}");
            }
        }
    }
    Ok(())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = files::read(path)?;
    serde_saphyr::from_str(&text).with_context(|| format!("in {}", path.display()))
}

/// What the records in a folder say of these names.
fn database(folder: &Path, names: BTreeSet<String>) -> Result<Database> {
    let mut newest = String::new();
    let mut affected: Affected = names
        .into_iter()
        .map(|name| (name, BTreeMap::new()))
        .collect();
    for file in files(folder)? {
        let text = files::read(&file)?;
        let record: Record = serde_saphyr::from_str(&text)
            .with_context(|| format!("{} is not a record of OSV", file.display()))?;
        newest = newest.max(record.modified.chars().take(10).collect());
        record.add_to(&mut affected);
    }
    ensure!(
        !newest.is_empty(),
        "{} has no record of OSV",
        folder.display()
    );
    Ok(Database { newest, affected })
}

impl Record {
    /// Adds what the record says of the names that are looked up. What is unmaintained isn't vulnerable.
    fn add_to(&self, affected: &mut Affected) {
        if self.withdrawn.is_some() {
            return;
        }
        for versions in &self.affected {
            let vulnerable = !matches!(
                versions.database_specific.informational.as_deref(),
                Some("unmaintained" | "notice")
            );
            if let Some(advisories) = affected.get_mut(&versions.package.name)
                && vulnerable
            {
                let entry = advisories.entry(self.identifier().to_owned()).or_default();
                let mut clauses: BTreeSet<String> = entry
                    .split(", ")
                    .filter(|clause| !clause.is_empty())
                    .map(str::to_owned)
                    .collect();
                clauses.extend(versions.clauses());
                *entry = clauses.into_iter().collect::<Vec<_>>().join(", ");
            }
        }
    }

    /// RustSec's own, else that of the CVE, by which other databases know it.
    fn identifier(&self) -> &str {
        let cve = self.aliases.iter().find(|alias| alias.starts_with("CVE-"));
        match cve {
            Some(cve) if !self.id.starts_with("RUSTSEC-") => cve,
            _ => &self.id,
        }
    }
}

impl Versions {
    /// The ranges as clauses, or the single versions where there are no ranges.
    fn clauses(&self) -> Vec<String> {
        let mut clauses = Vec::new();
        for range in self.ranges.iter().filter(|range| range.r#type != "GIT") {
            let mut from = None;
            for event in &range.events {
                for (kind, version) in event {
                    let end = match kind.as_str() {
                        "fixed" => format!("<{version}"),
                        "last_affected" => format!("<={version}"),
                        _ => {
                            from = Some(version.as_str());
                            continue;
                        }
                    };
                    clauses.push(match from.take() {
                        Some("0" | "0.0.0-0") | None => end,
                        Some(start) => format!(">={start} {end}"),
                    });
                }
            }
            clauses.extend(from.map(|start| format!(">={start}")));
        }
        if clauses.is_empty() {
            clauses.extend(self.versions.iter().map(|version| format!("={version}")));
        }
        clauses
    }
}

/// The records in a folder and those below it, in the order of their paths.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in files::entries(folder)? {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if matches!(extension, Some("json" | "yaml")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
