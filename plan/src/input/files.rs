//! Files, and the documents in them.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::InputError;
use crate::yaml;

/// The path that means the standard input.
const STANDARD_INPUT: &str = "-";

/// A document of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub(super) path: PathBuf,
    pub(super) document: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, document {}", self.path.display(), self.document)
    }
}

/// The file itself, or the YAML files of a folder and of the folders in it. Hidden ones are left out.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let unreadable = |source| InputError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if path == Path::new(STANDARD_INPUT) {
        return Ok(vec![path.to_owned()]);
    }
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_dir() {
        return match metadata.is_file() {
            true => Ok(vec![path.to_owned()]),
            false => Err(InputError::NotAFile(path.to_owned())),
        };
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?.path();
        let hidden = entry
            .file_name()
            .is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let extension = entry.extension().unwrap_or_default();
        let is_yaml = ["yaml", "yml", "json"]
            .iter()
            .any(|yaml| extension == *yaml);
        if hidden {
            continue;
        }
        if entry.is_dir() {
            match self::files(&entry) {
                Ok(inner) => files.extend(inner),
                Err(InputError::Empty(_)) => {}
                Err(error) => return Err(error),
            }
        } else if is_yaml {
            files.extend(self::files(&entry)?);
        }
    }
    if files.is_empty() {
        return Err(InputError::Empty(path.to_owned()));
    }
    files.sort();
    Ok(files)
}

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String, InputError> {
    let text = match path == Path::new(STANDARD_INPUT) {
        true => io::read_to_string(io::stdin()),
        false => fs::read_to_string(path),
    };
    text.map_err(|source| InputError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

/// The documents of a file, without empty ones.
pub fn documents(path: &Path) -> Result<Vec<(Place, Value)>, InputError> {
    let mut found = Vec::new();
    let text = text(path)?;
    for (document, unparsed) in (1..).zip(yaml::split(&text)) {
        let place = Place {
            path: path.to_owned(),
            document,
        };
        let parsed = parsed(&place, unparsed)?;
        found.extend(parsed.into_iter().map(|value| (place.clone(), value)));
    }
    Ok(found)
}

pub(super) fn parsed(
    place: &Place,
    document: yaml::Document<'_>,
) -> Result<Vec<Value>, InputError> {
    document.parse().map_err(|message| InputError::Malformed {
        place: place.clone(),
        message,
    })
}
