//! Examples in the documentation of crates: none is in a crate whose manifest keeps cargo from looking for them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::files::{entries, read};

/// The line of a manifest by which `cargo test` doesn't have rustdoc read the crate.
const UNTESTED: &str = "doctest = false";

/// The languages of blocks that rustdoc compiles.
const COMPILED: [&str; 6] = [
    "",
    "compile_fail",
    "ignore",
    "no_run",
    "rust",
    "should_panic",
];

/// Calls something with each file below a folder, but for what git and cargo keep there.
fn each_file(folder: &Path, act: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default();
        if !path.is_dir() {
            act(&path)?;
        } else if name != "target" && !name.as_encoded_bytes().starts_with(b".") {
            each_file(&path, act)?;
        }
    }
    Ok(())
}

/// Whether the documentation in a file of Rust has an example.
fn has_example(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start);
    let comments = lines.filter_map(|line| {
        line.strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
    });
    let mut fences = comments.filter_map(|line| line.trim().strip_prefix("```"));
    while let Some(language) = fences.next() {
        let mut words = language.split(',');
        if words.all(|word| COMPILED.contains(&word.trim())) {
            return true;
        }
        // The end of the block.
        fences.next();
    }
    false
}

#[test]
fn crates_whose_examples_are_not_tested_have_none() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut untested: Vec<PathBuf> = Vec::new();
    each_file(&root, &mut |file| {
        if file.ends_with("Cargo.toml") {
            let manifest = read(file)?;
            if manifest.lines().any(|line| line == UNTESTED) {
                untested.push(file.with_file_name("src"));
            }
        }
        Ok(())
    })?;
    assert!(untested.len() > 20, "{untested:?}");
    for sources in untested {
        each_file(&sources, &mut |file| {
            let is_rust = file.extension().is_some_and(|extension| extension == "rs");
            let name = file.display();
            assert!(
                !is_rust || !has_example(&read(file)?),
                "{name} has an example: remove `{UNTESTED}` from its crate's manifest"
            );
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn examples_are_blocks_of_rust() {
    for (text, expected) in [
        ("/// ```\n/// let a = 1;\n/// ```", true),
        ("//! ```no_run\n//! run();\n//! ```", true),
        ("/// ```text\n/// words\n/// ```\nfn none() {}", false),
        (
            "/// ```sh\n/// ls\n/// ```\n/// ```rust\n/// run();\n/// ```",
            true,
        ),
        ("// ```\n// let a = 1;\n// ```", false),
    ] {
        assert_eq!(has_example(text), expected, "{text}");
    }
}
