//! The cache folder of tools and images: the names in it, and how long what is in it stays.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::say::say;

pub(crate) use c5c3_program::cache;

/// How long what isn't used stays. No run takes that long, so that nothing is removed which one uses.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many digits name what went into a hash.
const DIGITS: usize = 12;

/// A hash of what something is built from.
#[derive(Default)]
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    pub(crate) fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update(part.len().to_le_bytes());
        self.0.update(part);
    }

    /// Twelve hexadecimal digits that name what went into it.
    pub(crate) fn digits(self) -> String {
        let bytes = self.0.finalize();
        let bytes = bytes.iter().take(DIGITS / 2);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Locks a file until the returned file is dropped. Waits for another process that has locked it, which builds the same.
pub(crate) fn locked(file: &Path) -> Result<File> {
    let lock = File::create(file).with_context(|| format!("cannot create {}", file.display()))?;
    lock.lock()
        .with_context(|| format!("cannot lock {}", file.display()))?;
    Ok(lock)
}

/// Prints that something is being built. Returns a function that prints how long the build took.
pub(crate) fn building(what: String, place: &Path) -> impl FnOnce() {
    let started = Instant::now();
    let place = place.display();
    say(format_args!("building {what} (kept in {place}) ..."));
    move || {
        let took = started.elapsed().as_secs();
        say(format_args!("built {what} in {took} s"));
    }
}

/// Dates a file or folder of the cache, so that [`remove_unused`] keeps it.
pub(crate) fn mark_used(entry: &Path) {
    // Without the date, it is removed too early, and built again.
    let _ = File::open(entry).and_then(|entry| entry.set_modified(SystemTime::now()));
}

/// Removes from a folder of the cache what was built and not used for long, oldest first, and returns its names: other versions, and
/// what no scenario needs any more.
pub(crate) fn remove_unused(folder: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut unused = Vec::new();
    for entry in entries {
        let entry = entry?;
        // Another process may remove or rename it at the same time.
        let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) else {
            continue;
        };
        let used = metadata.modified()?;
        if is_built(&name) && used.elapsed().unwrap_or_default() > UNUSED {
            unused.push((used, name, metadata.is_dir()));
        }
    }
    unused.sort();
    for (_, name, is_folder) in &unused {
        let path = folder.join(name);
        let removed = match is_folder {
            true => set_aside(&path).and_then(fs::remove_dir_all),
            false => fs::remove_file(&path),
        };
        gone(removed).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(unused.into_iter().map(|(_, name, _)| name).collect())
}

/// Gives a folder the name of an unfinished one, so that what a killed removal leaves of it doesn't count as whole.
fn set_aside(folder: &Path) -> io::Result<PathBuf> {
    let is_aside = folder
        .extension()
        .is_some_and(|extension| extension == "building");
    if is_aside {
        return Ok(folder.to_path_buf());
    }
    let aside = folder.with_added_extension("building");
    gone(fs::remove_dir_all(&aside))?;
    fs::rename(folder, &aside)?;
    Ok(aside)
}

/// Fine, too, where another process has removed it, or it was removed before.
pub(crate) fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Whether an entry is something built, unfinished or not, or its lock: its name ends with a hash, or is that of a version of uv.
fn is_built(name: &str) -> bool {
    let name = [".lock", ".building"]
        .into_iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name);
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let hash = name.rsplit_once('-').map(|(_, hash)| hash);
    name.starts_with("uv==")
        || hash.is_some_and(|hash| hash.len() == DIGITS && hash.chars().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    #[test]
    fn unused_tools_and_images_are_removed_oldest_first() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let day = Duration::from_secs(24 * 60 * 60);
        let create = |name: &str, days: u32| -> Result<()> {
            let path = folder.path().join(name);
            match name.split('-').next() {
                Some("tempest" | "nova" | "layers" | "target") => fs::create_dir(&path)?,
                _ => fs::write(&path, name)?,
            }
            let used = SystemTime::now() - day * days;
            Ok(File::open(&path)?.set_modified(used)?)
        };
        create("etcd-3.6.5-71dc75bdc8a5", 31)?;
        create("etcd-3.6.4-0123456789ab", 40)?;
        create("etcd-3.6.4-0123456789ab.lock", 45)?;
        create("helm-3.22.0-04c557239e07", 29)?;
        create("tempest-7c7068e32aa2", 50)?;
        create("nova-2025.2-59f3307b09e1", 31)?;
        create("nova-2025.2-9d40fd8fdc66.building", 60)?;
        create("uv==0.13.8", 35)?;
        let others = [
            "lab-0.lock",
            "layers",
            "lock",
            "results.tsv",
            "target",
            "tests-2026",
        ];
        for other in others {
            create(other, 90)?;
        }
        mark_used(&folder.path().join("etcd-3.6.5-71dc75bdc8a5"));
        mark_used(&folder.path().join("nova-2025.2-59f3307b09e1"));

        let removed = remove_unused(folder.path())?;
        assert_eq!(
            removed,
            [
                "nova-2025.2-9d40fd8fdc66.building",
                "tempest-7c7068e32aa2",
                "etcd-3.6.4-0123456789ab.lock",
                "etcd-3.6.4-0123456789ab",
                "uv==0.13.8",
            ]
        );
        let kept = [
            "etcd-3.6.5-71dc75bdc8a5",
            "helm-3.22.0-04c557239e07",
            "nova-2025.2-59f3307b09e1",
        ];
        let mut left = [&kept[..], &others[..]].concat();
        left.sort_unstable();
        assert_eq!(names(folder.path())?, left);
        Ok(())
    }

    #[test]
    fn folder_that_is_removed_has_the_name_of_an_unfinished_one() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let image = folder.path().join("nova-2025.2-59f3307b09e1");
        let leftover = folder.path().join("nova-2025.2-59f3307b09e1.building");
        fs::create_dir(&image)?;
        fs::write(image.join("index.json"), "whole")?;
        fs::create_dir(&leftover)?;
        fs::write(leftover.join("oci-layout"), "of an earlier removal")?;

        let aside = set_aside(&image)?;
        assert_eq!(aside, leftover);
        assert_eq!(names(folder.path())?, ["nova-2025.2-59f3307b09e1.building"]);
        assert_eq!(names(&aside)?, ["index.json"]);
        assert_eq!(set_aside(&aside)?, leftover);
        let missing = set_aside(&image).map(drop);
        assert!(missing.is_err());
        gone(missing)?;
        Ok(())
    }
}
