//! Programs of modules of which some files are replaced: the lab leaves out what nothing uses and what takes minutes to compile.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The folder with the files that take the place of those of a program's module, and are at the same place there. It is beside `go.mod`,
/// or in the folder of the lab's own program.
pub(super) const REPLACED: &str = "replaced";

/// The ending of a file beside that folder, if replacements must answer as what they replace. It has the SHA-256 of the module's files that
/// they were written by, in the format of `sha256sum`.
const SUMS: &str = "sha256";

/// A replacement of this name takes the place of all files of its package.
const PACKAGE: &str = "package.go";

/// Copies a module's sources with some files replaced, beside a `go.mod` that builds it from the copy. `go build -overlay` can't: it
/// refuses files below GOMODCACHE.
pub(super) fn patched_copy(
    folder: &Path,
    module: &str,
    sources: &Path,
    replacements: &Path,
) -> Result<TempDir> {
    let sums = replacements.with_extension(SUMS);
    if sums.exists() {
        check(&sums, sources)?;
    }
    let changed = tempfile::tempdir().context("cannot make a temporary folder")?;
    let copy = changed.path().join("module");
    let replaced = files_below(replacements)?;
    let whole: BTreeSet<&Path> = replaced
        .iter()
        .filter(|file| file.ends_with(PACKAGE))
        .filter_map(|file| file.parent())
        .collect();
    let mut kept = files_below(sources)?;
    kept.retain(|file| file.parent().is_none_or(|package| !whole.contains(package)));
    for (from, files) in [(sources, &kept), (replacements, &replaced)] {
        for file in files {
            let to = copy.join(file);
            fs::create_dir_all(to.parent().unwrap_or(&copy))?;
            // Files of the module cache are read-only, and `fs::copy` copies permissions.
            fs::write(&to, fs::read(from.join(file))?)
                .with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    let mut manifest = fs::read_to_string(folder.join("go.mod"))?;
    manifest.push_str(&format!("\nreplace {module} => {}\n", copy.display()));
    fs::write(changed.path().join("go.mod"), manifest)?;
    fs::copy(folder.join("go.sum"), changed.path().join("go.sum"))?;
    Ok(changed)
}

/// Refuses sources that replacements weren't written by.
fn check(sums: &Path, sources: &Path) -> Result<()> {
    let known =
        fs::read_to_string(sums).with_context(|| format!("cannot read {}", sums.display()))?;
    for line in known.lines() {
        let (known, file) = line
            .split_once("  ")
            .with_context(|| format!("{} has a line without a sum and a file", sums.display()))?;
        let source = sources.join(file);
        let content =
            fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let found = format!("{:x}", Sha256::digest(&content));
        ensure!(
            found == known,
            "{} has changed: compare it with what replaces it, then write {found} into {}",
            source.display(),
            sums.display()
        );
    }
    Ok(())
}

/// The paths of all files below a folder, relative to it, sorted.
pub(super) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(inner) = folders.pop() {
        let path = folder.join(&inner);
        let entries =
            fs::read_dir(&path).with_context(|| format!("cannot list {}", path.display()))?;
        for entry in entries {
            let entry = entry?;
            let found = inner.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => folders.push(found),
                false => files.push(found),
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) -> Result<()> {
        for (file, content) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            fs::write(path, content)?;
        }
        Ok(())
    }

    /// The folders of a module's pins, which are there, of its sources and of what replaces some.
    fn module(folder: &Path) -> Result<[PathBuf; 3]> {
        let folders = ["pins", "sources", "replaced"].map(|name| folder.join(name));
        let pins = [("go.mod", "module lab\n"), ("go.sum", "sums")];
        write(&folders[0], &pins)?;
        Ok(folders)
    }

    #[test]
    fn files_of_a_module_are_replaced_in_a_copy_that_it_is_built_from() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let [pins, sources, replacements] = module(folder.path())?;
        write(
            &sources,
            &[
                ("main.go", "main"),
                ("pkg/all/all.go", "all"),
                ("pkg/z.go", "z"),
            ],
        )?;
        write(&replacements, &[("pkg/all/all.go", "one")])?;
        let mut permissions = fs::metadata(sources.join("pkg/all/all.go"))?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(sources.join("pkg/all/all.go"), permissions)?;

        let changed = patched_copy(&pins, "example.org/tool/v2", &sources, &replacements)?;
        let copy = changed.path().join("module");
        let files = ["main.go", "pkg/all/all.go", "pkg/z.go"].map(PathBuf::from);
        assert_eq!(files_below(&copy)?, files);
        assert_eq!(fs::read_to_string(copy.join("pkg/all/all.go"))?, "one");
        assert_eq!(fs::read_to_string(sources.join("pkg/all/all.go"))?, "all");
        assert_eq!(
            fs::read_to_string(changed.path().join("go.mod"))?,
            format!(
                "module lab\n\nreplace example.org/tool/v2 => {}\n",
                copy.display()
            )
        );
        assert_eq!(fs::read_to_string(changed.path().join("go.sum"))?, "sums");
        Ok(())
    }

    #[test]
    fn module_whose_files_have_changed_is_refused() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let [pins, sources, replacements] = module(folder.path())?;
        write(&replacements, &[("utils/package.go", "small")])?;
        // Of `big`.
        let sum = "2a21fe6d592a19b7de898b50eb53c429608de1a66f3e9f62da19714a770553d1";
        let sums = format!("{sum}  utils/big.go\n");
        write(folder.path(), &[("replaced.sha256", sums.as_str())])?;

        write(&sources, &[("utils/big.go", "big")])?;
        patched_copy(&pins, "example.org/tool", &sources, &replacements)?;
        write(&sources, &[("utils/big.go", "bigger")])?;
        let refused = patched_copy(&pins, "example.org/tool", &sources, &replacements);
        let error = refused.unwrap_err().to_string();
        assert!(
            error.contains("utils/big.go has changed: compare it"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn package_of_a_module_is_replaced_without_those_below_it() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let [pins, sources, replacements] = module(folder.path())?;
        write(
            &sources,
            &[
                ("main.go", "main"),
                ("utils/big.go", "big"),
                ("utils/inner/inner.go", "inner"),
                ("utils/other.go", "other"),
            ],
        )?;
        write(&replacements, &[("utils/package.go", "small")])?;

        let changed = patched_copy(&pins, "example.org/tool", &sources, &replacements)?;
        let copy = changed.path().join("module");
        let files = ["main.go", "utils/inner/inner.go", "utils/package.go"].map(PathBuf::from);
        assert_eq!(files_below(&copy)?, files);
        Ok(())
    }
}
