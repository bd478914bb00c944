//! Claims and pools, read from files and folders.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::kind::ClaimKind;
use crate::manifest::{Manifest, NotAnObject};
use crate::schema;

/// A claim or a pool, as somebody wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// What it is.
    pub kind: ClaimKind,
    /// As written; a claim without a namespace is in `default`.
    pub manifest: Manifest,
}

/// What was found in files.
#[derive(Debug, Default)]
pub struct Files {
    /// Claims and pools, by kind and path: the order of the files doesn't matter.
    pub given: Vec<Given>,
    /// What was found besides, in words.
    pub ignored: Vec<String>,
}

/// Why files can't be used. Each names the file and, where there is one, the document.
#[derive(Debug, Error)]
pub enum InputError {
    /// It isn't there, or may not be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder without YAML.
    #[error("{}: there is no .yaml, .yml or .json file in it", .0.display())]
    Empty(PathBuf),
    /// Nothing that could be planned.
    #[error(
        "there is nothing to plan: give files with an OpenStackCluster, ControlPlaneCluster, HypervisorCluster or \
         StorageCluster"
    )]
    Nothing,
    /// Malformed YAML.
    #[error("{place}: {message}")]
    Malformed {
        /// File and document.
        place: Place,
        /// What and where.
        message: String,
    },
    /// It is no Kubernetes object.
    #[error("{place}: {source}")]
    NotAnObject {
        /// File and document.
        place: Place,
        /// What is missing.
        source: NotAnObject,
    },
    /// It has a field that its kind doesn't know.
    #[error("{place}: {title} has the unknown field {field}; correct or remove it")]
    UnknownField {
        /// File and document.
        place: Place,
        /// The resource.
        title: String,
        /// Path of the field.
        field: String,
    },
    /// Two different resources under one name.
    #[error("{place}: {title} is also in {other}, and they differ; give one of them")]
    Twice {
        /// File and document.
        place: Place,
        /// The resource.
        title: String,
        /// The other file and document.
        other: Place,
    },
}

/// A document of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    path: PathBuf,
    document: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}, document {}", self.path.display(), self.document)
    }
}

/// Reads claims and pools from files, and from every YAML file in folders.
///
/// # Errors
/// A file can't be read or isn't YAML, something in it is no Kubernetes object, or there is nothing to plan.
pub fn read(paths: &[PathBuf]) -> Result<Files, InputError> {
    let mut found = Found::default();
    for path in paths {
        for file in files(path)? {
            found.read(&file)?;
        }
    }
    if found.given.is_empty() {
        return Err(InputError::Nothing);
    }
    found.ignored.sort();
    found.ignored.dedup();
    Ok(Files {
        given: found.given.into_values().map(|(given, _)| given).collect(),
        ignored: found.ignored,
    })
}

/// The file itself, or the YAML files of a folder and of the folders in it. Hidden ones are left out.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let unreadable = |source| InputError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_owned()]);
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
            files.push(entry);
        }
    }
    if files.is_empty() {
        return Err(InputError::Empty(path.to_owned()));
    }
    files.sort();
    Ok(files)
}

/// The documents of a file, without empty ones.
pub fn documents(path: &Path) -> Result<Vec<(Place, Value)>, InputError> {
    let text = fs::read_to_string(path).map_err(|source| InputError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let mut reader = text.as_bytes();
    let mut documents = Vec::new();
    for (position, document) in serde_saphyr::read::<_, Value>(&mut reader).enumerate() {
        let place = Place {
            path: path.to_owned(),
            document: position + 1,
        };
        match document {
            Ok(Value::Null) => {}
            Ok(value) => documents.push((place, value)),
            Err(error) => {
                let message = error.without_snippet().to_string();
                return Err(InputError::Malformed { place, message });
            }
        }
    }
    Ok(documents)
}

#[derive(Default)]
struct Found {
    given: BTreeMap<(ClaimKind, String, String), (Given, Place)>,
    ignored: Vec<String>,
}

impl Found {
    fn read(&mut self, path: &Path) -> Result<(), InputError> {
        for (place, value) in documents(path)? {
            self.take(&place, value)?;
        }
        Ok(())
    }

    fn take(&mut self, place: &Place, mut value: Value) -> Result<(), InputError> {
        if value["kind"] == "List" && value["items"].is_array() {
            let Value::Array(items) = value["items"].take() else {
                return Ok(());
            };
            return items
                .into_iter()
                .try_for_each(|item| self.take(place, item));
        }
        let not_an_object = |source| InputError::NotAnObject {
            place: place.clone(),
            source,
        };
        let manifest = Manifest::try_from(value).map_err(not_an_object)?;
        match ClaimKind::of(&manifest) {
            Some(kind) => self.add(
                place,
                Given {
                    kind,
                    manifest: in_a_namespace(kind, manifest),
                },
            ),
            None => {
                let title = manifest.title();
                self.ignored.push(format!(
                    "{place}: {title} is none of our kinds and was left out"
                ));
                Ok(())
            }
        }
    }

    fn add(&mut self, place: &Place, given: Given) -> Result<(), InputError> {
        let manifest = &given.manifest;
        let title = manifest.title();
        if let Some(field) = schema::unknown_field(&given.kind.schema(), manifest.spec()) {
            return Err(InputError::UnknownField {
                place: place.clone(),
                title,
                field,
            });
        }
        let key = (given.kind, manifest.kind().to_owned(), manifest.path());
        match self.given.get(&key) {
            Some((other, _)) if *other == given => Ok(()),
            Some((_, other)) => Err(InputError::Twice {
                place: place.clone(),
                title,
                other: other.clone(),
            }),
            None => {
                self.given.insert(key, (given, place.clone()));
                Ok(())
            }
        }
    }
}

/// The claim in the namespace that `kubectl` would put it in. Composite resources given under their own kind have none.
fn in_a_namespace(kind: ClaimKind, manifest: Manifest) -> Manifest {
    if manifest.kind() == kind.name() && manifest.namespace().is_empty() {
        manifest.with_metadata("namespace", "default")
    } else {
        manifest
    }
}
