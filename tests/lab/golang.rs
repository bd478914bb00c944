//! Building Go programs and finding Go sources, by the `go` command.

mod replaced;
mod toolchain;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::cache::{Fingerprint, building, cache, locked, mark_used};
use crate::download::retried;
use crate::namespace::outside;
use crate::output::{installed, last_lines};
use replaced::{REPLACED, files_below, patched_copy};
use toolchain::{PINNED, Toolchain};

/// What the compiler needn't do: debugging information, which the linker leaves out (`-w`). It is a tenth of the work.
const COMPILER_FLAGS: &str = "-gcflags=all=-dwarf=false";

/// What one program is built from.
pub(crate) struct Recipe {
    pub name: &'static str,
    /// Its folder under `tests/tools`.
    pub folder: &'static str,
    /// The module whose version is the program's.
    pub module: &'static str,
    /// What to build: an import path, or a folder beside `go.mod`, beginning with `./`.
    pub package: &'static str,
    /// Link-time variables, `name=value`, with `{version}`, `{major}` and `{minor}` for the module's.
    pub variables: &'static [&'static str],
}

impl Recipe {
    /// The folder of the program with files that take the place of the module's.
    fn replacements(&self, folder: &Path) -> PathBuf {
        match self.package.strip_prefix("./") {
            Some(own) => folder.join(own).join(REPLACED),
            None => folder.join(REPLACED),
        }
    }
}

/// The program's binary in the cache, built if it isn't there.
pub(crate) fn binary(recipe: &Recipe) -> Result<PathBuf> {
    let folder = pinned(recipe.folder);
    let version = pinned_version(&folder, recipe.module)?;
    let flags = linker_flags(recipe, &version);
    let cache = cache()?;
    let place = |toolchain: &Toolchain| -> Result<PathBuf> {
        let fingerprint = fingerprint(&folder, recipe, &flags, toolchain)?;
        Ok(cache.join(format!("{}-{version}-{fingerprint}", recipe.name)))
    };
    let pinned = Toolchain::pinned();
    let binary = place(&pinned)?;
    if is_kept(&binary) {
        return Ok(binary);
    }
    let own = Toolchain::own(&folder)?;
    let toolchain = if own.is(&pinned) {
        pinned
    } else {
        // It has built the tool before, if the pinned one couldn't be downloaded then.
        let binary = place(&own)?;
        if is_kept(&binary) {
            return Ok(binary);
        }
        Toolchain::pinned_or(own, &folder)
    };
    let binary = place(&toolchain)?;

    let _lock = locked(&binary.with_added_extension("lock"))?;
    if binary.exists() {
        return Ok(binary);
    }

    let built = building(format!("{} {version}", recipe.name), &cache);
    let unfinished = binary.with_added_extension("building");
    let replacements = recipe.replacements(&folder);
    let patched = match replacements.is_dir() {
        true => {
            let sources = sources(recipe.folder, recipe.module)?;
            let module = recipe.module;
            Some(patched_copy(&folder, module, &sources, &replacements)?)
        }
        false => None,
    };
    let mut build = go(&folder);
    build
        .args(["build", "-mod=readonly", "-trimpath", COMPILER_FLAGS])
        .args(patched.iter().map(|patched| {
            let manifest = patched.path().join("go.mod");
            format!("-modfile={}", manifest.display())
        }))
        .args(["-ldflags", &flags, "-o"])
        .arg(&unfinished)
        .arg(recipe.package)
        .envs(toolchain.selection.map(|go| ("GOTOOLCHAIN", go)));
    // Its modules may have to be downloaded.
    outside(|| retried(|| succeeded(build.output(), &format!("build {}", recipe.package))))??;
    fs::rename(&unfinished, &binary)
        .with_context(|| format!("cannot keep {}", binary.display()))?;
    built();
    Ok(binary)
}

/// Whether a binary is in the cache, where it stays then.
fn is_kept(binary: &Path) -> bool {
    let is_kept = binary.exists();
    if is_kept {
        mark_used(binary);
    }
    is_kept
}

/// The folder of a module's sources at the version that `tests/tools/<folder>/go.mod` pins.
pub(crate) fn sources(folder: &str, module: &str) -> Result<PathBuf> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Downloaded {
        dir: PathBuf,
    }

    let folder = pinned(folder);
    let version = pinned_version(&folder, module)?;
    if let Some(extracted) = extracted(module, &version) {
        return Ok(extracted);
    }
    let mut download = go(&folder);
    download.args(["mod", "download", "-json", &format!("{module}@v{version}")]);
    let answer =
        outside(|| retried(|| succeeded(download.output(), &format!("download {module}"))))??;
    let downloaded: Downloaded =
        serde_json::from_slice(&answer).context("`go mod download -json` answered oddly")?;
    Ok(downloaded.dir)
}

/// The folder of a module's sources in Go's module cache, if it is complete there. A module or version with capitals, which the
/// cache calls otherwise, isn't found.
fn extracted(module: &str, version: &str) -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    let modules = match (variable("GOMODCACHE"), variable("GOPATH")) {
        (Some(modules), _) => PathBuf::from(modules),
        (None, Some(paths)) => env::split_paths(&paths).next()?.join("pkg/mod"),
        (None, None) => env::home_dir()?.join("go/pkg/mod"),
    };
    let folder = modules.join(format!("{module}@v{version}"));
    // It exists while `go` extracts the module.
    let partial = format!("cache/download/{module}/@v/v{version}.partial");
    (folder.is_dir() && !modules.join(partial).exists()).then_some(folder)
}

fn pinned(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tools")
        .join(folder)
}

/// The version of a module, without its `v`, that `tests/tools/<folder>/go.mod` pins.
pub(crate) fn version(folder: &str, module: &str) -> Result<String> {
    pinned_version(&pinned(folder), module)
}

/// The version, without its `v`, that a folder's `go.mod` requires of a module.
fn pinned_version(folder: &Path, module: &str) -> Result<String> {
    let file = folder.join("go.mod");
    let requirements =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    requirements
        .lines()
        .map(|line| line.trim().trim_start_matches("require "))
        .find_map(|line| {
            line.strip_prefix(module)?
                .strip_prefix(" v")?
                .split_whitespace()
                .next()
        })
        .map(str::to_owned)
        .with_context(|| format!("{} requires no {module}", file.display()))
}

fn linker_flags(recipe: &Recipe, version: &str) -> String {
    let mut parts = version.split('.');
    let major = parts.next().unwrap_or_default();
    let minor = parts.next().unwrap_or_default();
    let mut flags = String::from("-s -w");
    for variable in recipe.variables {
        let variable = variable
            .replace("{version}", version)
            .replace("{major}", major)
            .replace("{minor}", minor);
        flags.push_str(" -X ");
        flags.push_str(&variable);
    }
    flags
}

/// Twelve hexadecimal digits that change with anything that could change the binary. [`COMPILER_FLAGS`] couldn't: what they leave out of
/// packages, the linker leaves out of the binary without them.
fn fingerprint(
    folder: &Path,
    recipe: &Recipe,
    flags: &str,
    toolchain: &Toolchain,
) -> Result<String> {
    let mut hash = Fingerprint::default();
    for file in ["go.mod", "go.sum"] {
        hash.add(
            fs::read(folder.join(file))
                .with_context(|| format!("cannot read {file} of {}", folder.display()))?,
        );
    }
    if recipe.package.starts_with("./") {
        let mut files: Vec<PathBuf> = fs::read_dir(folder.join(recipe.package))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        files.retain(|file| file.is_file());
        files.sort();
        for file in files {
            hash.add(fs::read(file)?);
        }
    }
    let replacements = recipe.replacements(folder);
    if replacements.is_dir() {
        for file in files_below(&replacements)? {
            hash.add(file.as_os_str().as_encoded_bytes());
            hash.add(fs::read(replacements.join(file))?);
        }
    }
    for part in [recipe.package, flags, &toolchain.version] {
        hash.add(part);
    }
    Ok(hash.digits())
}

fn go(folder: &Path) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GOFLAGS", "");
    command
}

fn succeeded(output: io::Result<Output>, to: &str) -> Result<Vec<u8>> {
    let advice = format!(
        "the lab builds its tools with Go 1.26 or newer, and `go` is not in PATH: \
         `curl -fsSL https://go.dev/dl/{PINNED}.linux-amd64.tar.gz | tar -C /usr/local -xz`, \
         then `export PATH=$PATH:/usr/local/go/bin`"
    );
    let output = installed(output, "go", &advice)?;
    ensure!(
        output.status.success(),
        "go could not {to}: {}",
        last_lines(&output.stderr, 20, usize::MAX)
    );
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn tool_is_called_by_what_it_is_built_from_and_by() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("go.mod"), "module lab\n")?;
        fs::write(folder.path().join("go.sum"), "sums")?;
        let recipe = Recipe {
            name: "tool",
            folder: "tool",
            module: "example.org/tool",
            package: "example.org/tool/cmd",
            variables: &[],
        };
        let named = |toolchain: &Toolchain| fingerprint(folder.path(), &recipe, "-s", toolchain);
        let older = Toolchain {
            version: "go version go1.26.0 linux/amd64\n".to_owned(),
            selection: None,
        };
        let first = named(&Toolchain::pinned())?;
        assert_eq!(named(&Toolchain::pinned())?, first);
        assert_ne!(named(&older)?, first);
        fs::write(folder.path().join("go.sum"), "other sums")?;
        assert_ne!(named(&Toolchain::pinned())?, first);
        Ok(())
    }

    /// The versions that a folder requires of libraries that many tools have, by module.
    fn libraries(folder: &str) -> Result<Vec<(String, String)>> {
        let text = fs::read_to_string(pinned(folder).join("go.mod"))?;
        let lines = text.lines().filter_map(|line| line.strip_prefix('\t'));
        let pairs = lines.filter_map(|line| line.split_once(" v"));
        let of = [
            "golang.org/x/",
            "google.golang.org/",
            "k8s.io/",
            "sigs.k8s.io/",
        ];
        let shared = pairs.filter(|(module, _)| of.iter().any(|host| module.starts_with(host)));
        Ok(shared
            .map(|(module, version)| (module.to_owned(), version.replace(" // indirect", "")))
            .collect())
    }

    /// Go compiles a package anew if it, or one that it imports, has another version.
    #[test]
    fn tools_that_share_libraries_require_the_same_versions() -> Result<()> {
        let groups: [&[&str]; 2] = [
            &["crossplane-v2", "crossplane-cli"],
            &["helm", "traefik", "provider-kubernetes-newest"],
        ];
        for folders in groups {
            let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for folder in folders {
                for (module, version) in libraries(folder)? {
                    found.entry(module).or_default().insert(version);
                }
            }
            assert!(found.contains_key("k8s.io/client-go"), "{found:?}");
            found.retain(|_, versions| versions.len() > 1);
            assert!(found.is_empty(), "{folders:?} differ: {found:#?}");
        }
        Ok(())
    }
}
