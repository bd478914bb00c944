//! The builder's folders, which must not be in the program: they would make it another one for each builder.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::compiler::{Compiler, sysroot};
use crate::{cargo, output_of};

/// What separates flags in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\u{1f}";

/// Flags by which rustc calls the builder's folders the same everywhere, as the value of `CARGO_ENCODED_RUSTFLAGS`.
pub fn flags(folder: &Path) -> Result<OsString> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&output_of(metadata, folder)?)
        .context("cargo's metadata is not JSON")?;
    let path = |key: &str| {
        let path = metadata[key].as_str().map(PathBuf::from);
        path.with_context(|| format!("cargo's metadata has no {key}"))
    };
    let commit = Compiler::of(folder)?.commit;
    // The last one that fits is taken, and the target folder is usually inside of the checkout.
    Ok(encode(&[
        (path("workspace_root")?, "/c5c3".to_owned()),
        (cargo_home()?, "/cargo".to_owned()),
        (path("target_directory")?, "/target".to_owned()),
        (
            sysroot(folder)?.join("lib/rustlib/src/rust"),
            format!("/rustc/{}", commit.unwrap_or_default()),
        ),
    ]))
}

/// Where cargo has the sources of crates.
///
/// # Errors
/// Neither CARGO_HOME nor HOME is set.
pub fn cargo_home() -> Result<PathBuf> {
    match env::var_os("CARGO_HOME") {
        Some(folder) => Ok(folder.into()),
        None => {
            let home = env::home_dir().context("neither CARGO_HOME nor HOME is set")?;
            Ok(home.join(".cargo"))
        }
    }
}

fn encode(names: &[(PathBuf, String)]) -> OsString {
    let mut flags = OsString::new();
    for (folder, name) in names {
        if !flags.is_empty() {
            flags.push(SEPARATOR);
        }
        flags.push("--remap-path-prefix=");
        flags.push(folder);
        flags.push("=");
        flags.push(name);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_of_the_builder_has_another_name() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()?;
        let flags = flags(&root)?
            .into_string()
            .map_err(|_| anyhow::anyhow!("not UTF-8"))?;
        let renamed: Vec<(&str, &str)> = flags
            .split(SEPARATOR)
            .filter_map(|flag| flag.strip_prefix("--remap-path-prefix=")?.rsplit_once('='))
            .collect();
        let names: Vec<&str> = renamed.iter().map(|(_, name)| *name).collect();
        assert_eq!(names[..3], ["/c5c3", "/cargo", "/target"]);
        assert_eq!(Path::new(renamed[0].0), root);
        assert!(
            names.len() == 4 && names[3].starts_with("/rustc/"),
            "{flags}"
        );
        for (folder, _) in renamed {
            assert!(Path::new(folder).is_absolute(), "{folder}");
        }
        Ok(())
    }
}
