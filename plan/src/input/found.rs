//! What documents are: claims, resources, or skipped.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use c5c3_admission::{Problem, Validator};
use provider_operators::control_plane_operators;
use serde_json::Value;

use super::InputError;
use super::files::{Place, parsed, text};
use crate::kind::ClaimKind;
use crate::manifest::{Manifest, path};
use crate::presets::is_input;
use crate::resource::{SHOOT, is_secret};
use crate::schema::Served;
use crate::yaml;

/// Documents of one file that are skipped for one reason.
pub(super) struct Skipped {
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

/// What the documents are.
#[derive(Default)]
pub(super) struct Found {
    validator: Validator,
    pub(super) given: BTreeMap<(ClaimKind, String, String), (Manifest, Place)>,
    pub(super) resources: BTreeMap<(String, String), (Manifest, Place)>,
    pub(super) shoots: BTreeMap<String, (Manifest, Place)>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) refused: Vec<String>,
}

impl Found {
    pub(super) fn read(&mut self, path: &Path) -> Result<(), InputError> {
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
        if SHOOT.is(&api_version, &kind) {
            return self.add_shoot(place, value);
        }
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
            let conflict = record(&mut self.given, key, manifest, place);
            self.refused.extend(conflict);
        } else if is_secret(&manifest) || is_operated(&manifest) {
            let manifest = in_a_namespace(manifest);
            let key = (manifest.kind().to_owned(), manifest.path());
            let conflict = record(&mut self.resources, key, manifest, place);
            self.refused.extend(conflict);
        } else {
            let title = format!("{} {}", manifest.api_version(), manifest.title());
            self.skip(
                place,
                format!(
                    "{title}: a plan shows claims and control planes, and leaves this kind out"
                ),
            );
        }
    }

    fn add_shoot(&mut self, place: &Place, value: Value) {
        match Manifest::try_from(value.clone()) {
            Ok(shoot) => {
                let conflict = record(&mut self.shoots, shoot.path(), shoot, place);
                self.refused.extend(conflict);
            }
            Err(error) => {
                let message = error.to_string();
                let path = "metadata".to_owned();
                self.refuse(place, &value, [Problem { path, message }]);
            }
        }
    }

    pub(super) fn skip(&mut self, place: &Place, reason: String) {
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

/// Whether a document isn't one of this project's or of Kubernetes', by its API version and kind.
fn is_foreign(api_version: &str, kind: &str) -> bool {
    let meant = api_version.is_empty() && Served::meant("", kind).is_some();
    let is_shoot = SHOOT.is(api_version, kind);
    let read = kind == "List" || meant || is_shoot || Served::named(api_version, kind).is_some();
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

/// Whether an operator of a control plane reconciles it.
fn is_operated(manifest: &Manifest) -> bool {
    control_plane_operators().iter().any(|operator| {
        let subject = operator.subject();
        subject.is(manifest.api_version(), manifest.kind())
    })
}

/// Records a resource, unless one has its key already. Says where that one differs.
fn record<K: Ord>(
    recorded: &mut BTreeMap<K, (Manifest, Place)>,
    key: K,
    one: Manifest,
    place: &Place,
) -> Option<String> {
    let (other, at) = recorded
        .entry(key)
        .or_insert_with(|| (one.clone(), place.clone()));
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
