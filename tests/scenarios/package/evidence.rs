//! What is known of how the packages were built.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::{VERSION, packages, packages_by, run};

/// Builds the packages a second time, from a copy of the sources, with another folder for targets and another for crates.
pub fn the_program_is_the_same_from_another_folder() -> Result<()> {
    let here = subjects(packages(None)?.path())?;
    let elsewhere = Elsewhere::new()?;
    let there = subjects(packages_by(elsewhere.cargo(), VERSION, None)?.path())?;
    ensure!(
        here == there,
        "the same sources gave other files in another folder:\n{here:#?}\n{there:#?}"
    );
    Ok(())
}

/// Fine when the provenance has the digests of the program, of each package and of the bill of materials, which isn't empty.
pub fn describes(packages: &Path, program: &Path) -> Result<()> {
    let mut built = BTreeMap::from([("c5c3".to_owned(), digest(program)?)]);
    for entry in fs::read_dir(packages)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".xpkg") || name == "c5c3.cdx.json" {
            built.insert(name, digest(&entry.path())?);
        }
    }
    ensure!(built.len() == 5, "there are {:?}", built.keys());
    let subjects = subjects(packages)?;
    ensure!(
        subjects == built,
        "the provenance has {subjects:#?}, built were {built:#?}"
    );
    let bill = read(&packages.join("c5c3.cdx.json"))?;
    let components = bill["components"].as_array().map_or(0, Vec::len);
    ensure!(
        components > 100,
        "the program's bill has {components} crates"
    );
    Ok(())
}

/// The digests in the provenance, by what they are of.
fn subjects(packages: &Path) -> Result<BTreeMap<String, String>> {
    let provenance = read(&packages.join("provenance.json"))?;
    provenance["subject"]
        .as_array()
        .context("the provenance has no subjects")?
        .iter()
        .map(|subject| {
            let name = subject["name"].as_str();
            let digest = subject["digest"]["sha256"].as_str();
            let (name, digest) = name.zip(digest).context("a subject without a digest")?;
            Ok((name.to_owned(), digest.to_owned()))
        })
        .collect()
}

fn read(file: &Path) -> Result<Value> {
    let contents = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&contents).with_context(|| format!("{} is not JSON", file.display()))
}

fn digest(file: &Path) -> Result<String> {
    let contents = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(format!("{:x}", Sha256::digest(contents)))
}

/// A copy of the working tree, and cargo's home under another path.
struct Elsewhere {
    folder: TempDir,
}

impl Elsewhere {
    fn new() -> Result<Self> {
        let elsewhere = Self {
            folder: tempfile::tempdir()?,
        };
        let archive = elsewhere.folder.path().join("sources.tar");
        fs::create_dir(elsewhere.sources())?;
        run(Command::new("tar")
            .args(["--create", "--directory", "..", "--exclude=./target"])
            .args(["--exclude=./.git", "--file"])
            .arg(&archive)
            .arg("."))?;
        run(Command::new("tar")
            .args(["--extract", "--file"])
            .arg(&archive)
            .arg("--directory")
            .arg(elsewhere.sources()))?;
        fs::remove_file(archive)?;
        fs::create_dir(elsewhere.home())?;
        for entry in fs::read_dir(c5c3_program::cargo_home()?)? {
            let entry = entry?;
            symlink(entry.path(), elsewhere.home().join(entry.file_name()))?;
        }
        Ok(elsewhere)
    }

    fn sources(&self) -> PathBuf {
        self.folder.path().join("sources")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn cargo(&self) -> Command {
        let mut cargo = c5c3_program::cargo();
        cargo
            .current_dir(self.sources())
            .env("CARGO_HOME", self.home())
            .env("CARGO_TARGET_DIR", self.folder.path().join("built"));
        cargo
    }
}
