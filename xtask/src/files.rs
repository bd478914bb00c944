//! Reading files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file's text.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// What is in a folder, in the order of the names.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}
