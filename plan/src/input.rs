//! Claims, pools and resources of operators, read from files and folders.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use c5c3_admission::{Problem, Validator};
use provider_operators::control_plane_operators;
use serde_json::Value;
use thiserror::Error;

use crate::compositions::is_input;
use crate::kind::ClaimKind;
use crate::manifest::{Manifest, path};
use crate::resource::is_secret;
use crate::schema::Served;
use crate::yaml;

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
    /// ControlPlanes and other resources of operators, given without a claim, and Secrets that they look at.
    pub resources: Vec<Manifest>,
    /// What was skipped, and why.
    pub skipped: Vec<String>,
}

/// Why files can't be used. Each line names the file and, where there is one, the document.
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
    /// A pipe, a socket or a device.
    #[error("{}: must be a regular file or a folder; `-` reads the standard input", .0.display())]
    NotAFile(PathBuf),
    /// A folder without YAML.
    #[error("{}: there is no .yaml, .yml or .json file in it", .0.display())]
    Empty(PathBuf),
    /// No document of a kind that can be planned.
    #[error(
        "there is nothing to plan: give files with an OpenStackCluster, ControlPlaneCluster, HypervisorCluster, \
         StorageCluster, ControlPlane or another resource that an operator reconciles{}",
        found(.0)
    )]
    Nothing(
        /// What was skipped, and why.
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
    /// Documents that the API server would refuse; a line for each problem.
    #[error("{}", .0.join("\n"))]
    Refused(
        /// File, document, resource and problem.
        Vec<String>,
    ),
}

/// A document of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    path: PathBuf,
    document: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, document {}", self.path.display(), self.document)
    }
}

/// So much of what was skipped is named.
const NAMED: usize = 3;

fn found(skipped: &[String]) -> String {
    let named = skipped.iter().take(NAMED);
    let named: String = named.map(|skipped| format!("; {skipped}")).collect();
    match skipped.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// The path that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// Reads claims, pools and resources from files, and from every YAML file in folders. `-` is the standard input.
///
/// # Errors
/// A file can't be read or isn't YAML, the API server would refuse something in it, or there is nothing to plan.
pub fn read(paths: &[PathBuf]) -> Result<Files, InputError> {
    let mut found = Found::default();
    for path in paths {
        for file in files(path)? {
            found.read(&file)?;
        }
    }
    if !found.refused.is_empty() {
        return Err(InputError::Refused(found.refused));
    }
    if found
        .resources
        .values()
        .all(|(manifest, _)| is_secret(manifest))
    {
        for (_, place) in std::mem::take(&mut found.resources).into_values() {
            found.skip(
                &place,
                "v1 Secret: given without a resource that reads it".to_owned(),
            );
        }
    }
    let skipped: Vec<String> = found.skipped.iter().map(Skipped::to_string).collect();
    if found.given.is_empty() && found.resources.is_empty() {
        return Err(InputError::Nothing(skipped));
    }
    Ok(Files {
        given: found.given.into_values().map(|(given, _)| given).collect(),
        resources: found
            .resources
            .into_values()
            .map(|(manifest, _)| manifest)
            .collect(),
        skipped,
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
fn text(path: &Path) -> Result<String, InputError> {
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

fn parsed(place: &Place, document: yaml::Document<'_>) -> Result<Vec<Value>, InputError> {
    document.parse().map_err(|message| InputError::Malformed {
        place: place.clone(),
        message,
    })
}

/// Documents of one file that are skipped for one reason.
struct Skipped {
    first: Place,
    count: usize,
    reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(out, "{}: skipped {}", self.first, self.reason),
            count => {
                let path = self.first.path.display();
                write!(out, "{path}: skipped {count} documents of {}", self.reason)
            }
        }
    }
}

#[derive(Default)]
struct Found {
    validator: Validator,
    given: BTreeMap<(ClaimKind, String, String), (Given, Place)>,
    resources: BTreeMap<(String, String), (Manifest, Place)>,
    skipped: Vec<Skipped>,
    refused: Vec<String>,
}

impl Found {
    fn read(&mut self, path: &Path) -> Result<(), InputError> {
        let text = text(path)?;
        for (document, unparsed) in (1..).zip(yaml::split(&text)) {
            let place = Place {
                path: path.to_owned(),
                document,
            };
            // What somebody else's charts and dumps hold is skipped without the time that parsing takes.
            if let Some((api_version, kind)) = unparsed.head()
                && is_foreign(api_version, kind)
            {
                self.skip(&place, foreign(api_version, kind));
                continue;
            }
            for value in parsed(&place, unparsed)? {
                self.take(&place, value);
            }
        }
        Ok(())
    }

    fn take(&mut self, place: &Place, mut value: Value) {
        if value["kind"] == "List"
            && let Value::Array(items) = value["items"].take()
        {
            items.into_iter().for_each(|item| self.take(place, item));
            return;
        }
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        match Served::named(&api_version, &kind) {
            Some(served) => self.add(place, served, value),
            None if is_foreign(&api_version, &kind) || is_input(&value) => {
                self.skip(place, foreign(&api_version, &kind));
            }
            None => self.refuse(place, &value, [unknown(&api_version, &kind)]),
        }
    }

    fn add(&mut self, place: &Place, served: &Served, value: Value) {
        let problems = served.problems(&mut self.validator, &value);
        let manifest = match Manifest::try_from(value.clone()) {
            Ok(manifest) if problems.is_empty() => manifest,
            _ => return self.refuse(place, &value, problems),
        };
        if let Some(kind) = served.claim {
            let manifest = match manifest.kind() == kind.name() {
                true => in_a_namespace(manifest),
                false => manifest,
            };
            let key = (kind, manifest.kind().to_owned(), manifest.path());
            let given = Given { kind, manifest };
            let (first, other) = self
                .given
                .entry(key)
                .or_insert_with(|| (given.clone(), place.clone()));
            let conflict = conflict(place, &given.manifest, &first.manifest, other);
            self.refused.extend(conflict);
        } else if is_secret(&manifest) || is_operated(&manifest) {
            self.add_resource(place, in_a_namespace(manifest));
        } else {
            let title = format!("{} {}", manifest.api_version(), manifest.title());
            self.skip(
                place,
                format!("{title}: no operator of this version reconciles it"),
            );
        }
    }

    fn add_resource(&mut self, place: &Place, manifest: Manifest) {
        let key = (manifest.kind().to_owned(), manifest.path());
        let (first, other) = self
            .resources
            .entry(key)
            .or_insert_with(|| (manifest.clone(), place.clone()));
        let conflict = conflict(place, &manifest, first, other);
        self.refused.extend(conflict);
    }

    fn skip(&mut self, place: &Place, reason: String) {
        let same =
            |skipped: &&mut Skipped| skipped.reason == reason && skipped.first.path == place.path;
        match self.skipped.iter_mut().find(same) {
            Some(skipped) => skipped.count += 1,
            None => self.skipped.push(Skipped {
                first: place.clone(),
                count: 1,
                reason,
            }),
        }
    }

    fn refuse(
        &mut self,
        place: &Place,
        value: &Value,
        problems: impl IntoIterator<Item = Problem>,
    ) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &value["metadata"];
        let path = match text(&metadata["name"]) {
            name if name.is_empty() => name,
            name => path(&text(&metadata["namespace"]), &name),
        };
        let title = format!("{} {path}", text(&value["kind"]));
        let problems = problems.into_iter();
        self.refused
            .extend(problems.map(|problem| format!("{place}: {}: {problem}", title.trim_end())));
    }
}

/// Whether a document is none of this project's business, by its API version and kind.
fn is_foreign(api_version: &str, kind: &str) -> bool {
    let meant = api_version.is_empty() && Served::meant("", kind).is_some();
    let read = kind == "List" || meant || Served::named(api_version, kind).is_some();
    !read && !Served::owns(api_version)
}

fn foreign(api_version: &str, kind: &str) -> String {
    match (api_version, kind, Served::meant(api_version, kind)) {
        ("", _, _) | (_, "", _) => {
            "what has no apiVersion or kind: not a Kubernetes object".to_owned()
        }
        (_, _, Some(meant)) if meant.kind == kind => format!(
            "{api_version} {kind}: c5c3 plans {} {}",
            meant.api_version, meant.kind
        ),
        _ => format!("{api_version} {kind}: c5c3 does not plan this kind"),
    }
}

/// What is wrong with a kind that is in no definition of this project.
fn unknown(api_version: &str, kind: &str) -> Problem {
    let (path, message) = match Served::meant(api_version, kind) {
        Some(meant) if meant.kind == kind && api_version.is_empty() => {
            ("apiVersion", format!("must be {}", meant.api_version))
        }
        Some(meant) if meant.kind == kind => (
            "apiVersion",
            format!("must be {}, not {api_version}", meant.api_version),
        ),
        Some(meant) => (
            "kind",
            format!("unknown in {api_version}; did you mean {}?", meant.kind),
        ),
        None => ("kind", format!("unknown in {api_version}")),
    };
    Problem {
        path: path.to_owned(),
        message,
    }
}

/// Whether an operator of this program reconciles it.
fn is_operated(manifest: &Manifest) -> bool {
    control_plane_operators().iter().any(|operator| {
        let subject = operator.subject();
        subject.kind == manifest.kind() && subject.api_version() == manifest.api_version()
    })
}

/// Two different resources under one name.
fn conflict(place: &Place, one: &Manifest, other: &Manifest, at: &Place) -> Option<String> {
    let field = difference(one.value(), other.value(), "")?;
    let title = one.title();
    Some(format!(
        "{place}: {title}: also in {at}, with another {field}; give one of them"
    ))
}

/// The path of the first field in which two values differ.
fn difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    if one == other {
        return None;
    }
    let fields = one.as_object().zip(other.as_object());
    let inner = fields.and_then(|(one, other)| {
        let names = one.keys().chain(other.keys());
        names.into_iter().find_map(|name| {
            let path = format!("{path}.{name}");
            difference(
                &one.get(name).cloned().unwrap_or_default(),
                &other.get(name).cloned().unwrap_or_default(),
                &path,
            )
        })
    });
    Some(inner.unwrap_or_else(|| path.trim_start_matches('.').to_owned()))
}

/// The resource in the namespace that `kubectl` would put it in.
fn in_a_namespace(manifest: Manifest) -> Manifest {
    match manifest.namespace() {
        "" => manifest.with_metadata("namespace", "default"),
        _ => manifest,
    }
}
