//! The user's cache folder, where tools and results stay from run to run.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// `$XDG_CACHE_HOME/c5c3-lab` or `~/.cache/c5c3-lab`, created if need be.
///
/// # Errors
/// When it isn't known or can't be created.
pub fn cache() -> Result<PathBuf> {
    let caches = match env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => env::home_dir()
            .context("set HOME or XDG_CACHE_HOME: the lab keeps its tools there")?
            .join(".cache"),
    };
    let cache = caches.join("c5c3-lab");
    fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
    Ok(cache)
}
