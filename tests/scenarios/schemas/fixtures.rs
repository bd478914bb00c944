//! The scenarios of providers/api/fixtures: documents that are taken, and what is said of those that aren't.

use std::fs;
use std::path::{Path, PathBuf};

use c5c3_api::Generation;
use lab::{Context, DynamicObject, Result, documents};

/// Documents that are written one after the other, each over the last of its kind and name.
pub struct Fixture {
    /// The file's name.
    pub name: String,
    /// The documents.
    pub documents: Vec<DynamicObject>,
    /// What is said of the last document, if it is refused.
    pub refused: Option<String>,
}

/// All that hold for a generation.
pub fn fixtures(generation: Generation) -> Result<Vec<Fixture>> {
    let mut fixtures = Vec::new();
    for folder in ["accepted", "refused", "seeds"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../providers/api/fixtures")
            .join(folder);
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut files = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<PathBuf>>>()?;
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file)?;
            let header = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
            let only = header("# only:").map(str::trim);
            if only.is_none_or(|only| only == generation.version()) {
                let mut documents =
                    documents(&text).with_context(|| format!("in {}", file.display()))?;
                for document in &mut documents {
                    // An owner has a uid, which no file can know.
                    document.metadata.owner_references = None;
                }
                fixtures.push(Fixture {
                    name: file.display().to_string(),
                    documents,
                    refused: header("# refused:").map(|said| said.trim().to_owned()),
                });
            }
        }
    }
    Ok(fixtures)
}
