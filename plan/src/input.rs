//! Claims and pools, read from files and folders.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::kind::ClaimKind;
use crate::manifest::{Manifest, NotAnObject};
use crate::resource::{self, is_secret};
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
    /// ControlPlanes and other resources of our operators, given without a claim, and Secrets that they look at.
    pub resources: Vec<Manifest>,
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
        "there is nothing to plan: give files with an OpenStackCluster, ControlPlaneCluster, HypervisorCluster, \
         StorageCluster, ControlPlane, SecretAggregate or CredentialRotation{}",
        found(.0)
    )]
    Nothing(
        /// What was found instead, in words.
        Vec<String>,
    ),
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

/// So much of what was found instead is named.
const NAMED: usize = 3;

fn found(ignored: &[String]) -> String {
    let named = ignored.iter().take(NAMED);
    let named: String = named.map(|ignored| format!("; {ignored}")).collect();
    match ignored.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// The path that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// Reads claims and pools from files, and from every YAML file in folders. `-` is the standard input.
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
    let mut resources: Vec<(Manifest, Place)> = found.resources.into_values().collect();
    if resources.iter().all(|(manifest, _)| is_secret(manifest)) {
        for (manifest, place) in resources.drain(..) {
            found.ignored.push(left_out(&place, &manifest));
        }
    }
    found.ignored.sort();
    found.ignored.dedup();
    if found.given.is_empty() && resources.is_empty() {
        return Err(InputError::Nothing(found.ignored));
    }
    Ok(Files {
        given: found.given.into_values().map(|(given, _)| given).collect(),
        resources: resources
            .into_iter()
            .map(|(manifest, _)| manifest)
            .collect(),
        ignored: found.ignored,
    })
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
    let text = match path == Path::new(STANDARD_INPUT) {
        true => io::read_to_string(io::stdin()),
        false => fs::read_to_string(path),
    };
    let text = text.map_err(|source| InputError::Unreadable {
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
    resources: BTreeMap<(String, String), (Manifest, Place)>,
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
        if let Some(kind) = ClaimKind::of(&manifest) {
            let manifest = match manifest.kind() == kind.name() {
                true => in_a_namespace(manifest),
                false => manifest,
            };
            self.add(place, Given { kind, manifest })
        } else if let Some(schema) = resource::schema(&manifest) {
            let manifest = in_a_namespace(manifest);
            known_fields(place, &schema, &manifest)?;
            self.add_resource(place, manifest)
        } else if is_secret(&manifest) {
            self.add_resource(place, in_a_namespace(manifest))
        } else {
            self.ignored.push(left_out(place, &manifest));
            Ok(())
        }
    }

    fn add(&mut self, place: &Place, given: Given) -> Result<(), InputError> {
        let manifest = &given.manifest;
        known_fields(place, &given.kind.schema(), manifest)?;
        let key = (given.kind, manifest.kind().to_owned(), manifest.path());
        match self.given.get(&key) {
            Some((other, _)) if *other == given => Ok(()),
            Some((_, other)) => Err(twice(place, other, manifest)),
            None => {
                self.given.insert(key, (given, place.clone()));
                Ok(())
            }
        }
    }

    fn add_resource(&mut self, place: &Place, manifest: Manifest) -> Result<(), InputError> {
        let key = (manifest.kind().to_owned(), manifest.path());
        match self.resources.get(&key) {
            Some((other, _)) if *other == manifest => Ok(()),
            Some((_, other)) => Err(twice(place, other, &manifest)),
            None => {
                self.resources.insert(key, (manifest, place.clone()));
                Ok(())
            }
        }
    }
}

fn known_fields(place: &Place, schema: &Value, manifest: &Manifest) -> Result<(), InputError> {
    match schema::unknown_field(schema, manifest.spec()) {
        None => Ok(()),
        Some(field) => Err(InputError::UnknownField {
            place: place.clone(),
            title: manifest.title(),
            field,
        }),
    }
}

fn twice(place: &Place, other: &Place, manifest: &Manifest) -> InputError {
    InputError::Twice {
        place: place.clone(),
        title: manifest.title(),
        other: other.clone(),
    }
}

fn left_out(place: &Place, manifest: &Manifest) -> String {
    let title = manifest.title();
    format!("{place}: {title} is nothing that is planned by itself, and was left out")
}

/// The resource in the namespace that `kubectl` would put it in.
fn in_a_namespace(manifest: Manifest) -> Manifest {
    match manifest.namespace() {
        "" => manifest.with_metadata("namespace", "default"),
        _ => manifest,
    }
}
