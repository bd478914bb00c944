//! The Compositions: which input the function gets for which resource.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use c5c3_admission::Validator;
use function_protocol::{Document, DocumentError};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::input::{self, InputError, Place};
use crate::kind::ClaimKind;
use crate::presets::{self, is_input};

/// Those that the packages install.
const BUILT_IN: [&str; 6] = [
    include_str!("../../compositions/v1/controlplane-production.yaml"),
    include_str!("../../compositions/v1/hypervisor-pool.yaml"),
    include_str!("../../compositions/v1/openstack-development.yaml"),
    include_str!("../../compositions/v1/openstack-production.yaml"),
    include_str!("../../compositions/v1/openstack-staging.yaml"),
    include_str!("../../compositions/v1/storage-pool.yaml"),
];

/// Compositions by name.
#[derive(Clone, Debug)]
pub struct Compositions(BTreeMap<String, Composition>);

/// A Composition with our function in its pipeline.
#[derive(Clone, Debug)]
pub struct Composition {
    /// What it composes, where that is said.
    kind: Option<ClaimKind>,
    labels: BTreeMap<String, String>,
    /// The step of the pipeline.
    pub step: String,
    /// The function's input.
    pub input: Document,
}

/// Why Compositions can't be used.
#[derive(Debug, Error)]
pub enum CompositionError {
    /// The folder can't be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It is neither a Composition with an input of ours nor such an input.
    #[error(
        "{0}: it is neither a Composition with a c5c3.io/v1alpha1 input in its pipeline nor such an input (kind \
         OpenStackPresets or ClusterPresets)"
    )]
    Unknown(Place),
    /// The input isn't an object that a function can be given.
    #[error("{place}: {source}")]
    Malformed {
        /// File and document.
        place: Place,
        /// Why.
        source: DocumentError,
    },
    /// Inputs that aren't as their kinds' schemas say; a line for each problem.
    #[error("{}", .0.join("\n"))]
    Refused(
        /// File, document, input and problem.
        Vec<String>,
    ),
    /// What is built in is malformed, which a test rules out.
    #[error("a built-in composition is malformed: {0}")]
    BuiltIn(String),
    /// No Composition has the name.
    #[error("there is no composition {name}, which {by} asks for; there are: {known}")]
    Missing {
        /// The name.
        name: String,
        /// The resource that refers to it.
        by: String,
        /// The names that there are.
        known: String,
    },
    /// No Composition has the labels of a selector.
    #[error(
        "no composition has the labels that the compositionSelector of {by} asks for; there are: {known}"
    )]
    NotSelected {
        /// Who asks for it.
        by: String,
        /// The names that there are.
        known: String,
    },
}

/// A Composition (apiextensions.crossplane.io/v1), as far as it is read.
#[derive(Deserialize)]
struct Written {
    kind: String,
    metadata: Named,
    spec: Spec,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    composite_type_ref: CompositeType,
    #[serde(default)]
    pipeline: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompositeType {
    api_version: String,
    kind: String,
}

/// An input, as far as Ceph is concerned.
#[derive(Deserialize)]
struct StorageSettings {
    ceph: Option<CephSettings>,
}

#[derive(Deserialize)]
struct CephSettings {
    image: String,
}

#[derive(Deserialize)]
struct Step {
    step: String,
    #[serde(default)]
    input: Value,
}

/// What a step is called where only its input is known.
const STEP: &str = "compose";

impl Compositions {
    /// Those that the packages install.
    ///
    /// # Errors
    /// One of them is malformed, which a test rules out.
    pub fn built_in() -> Result<Self, CompositionError> {
        let read = |text: &str| {
            let document: Value = serde_saphyr::from_str(text)
                .map_err(|error| CompositionError::BuiltIn(error.without_snippet().to_string()))?;
            recognised("", document)
                .map_err(|error| CompositionError::BuiltIn(error.to_string()))?
                .ok_or_else(|| CompositionError::BuiltIn("it has no input of ours".to_owned()))
        };
        BUILT_IN
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Those of a folder (or one file): Compositions under their names, or inputs under the names of their files.
    ///
    /// # Errors
    /// Something in it is neither, or an input has a field that is unknown or isn't as it must be.
    pub fn read(folder: &Path) -> Result<Self, CompositionError> {
        let mut compositions = BTreeMap::new();
        let mut validator = Validator::default();
        let mut refused = Vec::new();
        for file in input::files(folder)? {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            for (place, document) in input::documents(&file)? {
                let problems = presets::problems(&mut validator, &document);
                refused.extend(
                    problems
                        .into_iter()
                        .map(|problem| format!("{place}: {problem}")),
                );
                match recognised(&stem, document) {
                    Ok(Some((name, composition))) => compositions.insert(name, composition),
                    Ok(None) => return Err(CompositionError::Unknown(place)),
                    Err(source) => return Err(CompositionError::Malformed { place, source }),
                };
            }
        }
        match refused.is_empty() {
            true => Ok(Self(compositions)),
            false => Err(CompositionError::Refused(refused)),
        }
    }

    /// The Composition of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(&self, name: &str, by: &str) -> Result<&Composition, CompositionError> {
        self.0.get(name).ok_or_else(|| CompositionError::Missing {
            name: name.to_owned(),
            by: by.to_owned(),
            known: self.known(),
        })
    }

    /// The first Composition, by name, for a kind and with all of these labels. Crossplane takes any of them.
    ///
    /// # Errors
    /// There is none.
    pub fn selected(
        &self,
        kind: ClaimKind,
        labels: &BTreeMap<String, String>,
        by: &str,
    ) -> Result<&Composition, CompositionError> {
        let fits = |composition: &&Composition| {
            let mut labels = labels.iter();
            composition.kind == Some(kind)
                && labels.all(|(label, value)| composition.labels.get(label) == Some(value))
        };
        self.0
            .values()
            .find(fits)
            .ok_or_else(|| CompositionError::NotSelected {
                by: by.to_owned(),
                known: self.known(),
            })
    }

    /// The images of Ceph that storage pools run.
    ///
    /// # Errors
    /// An input isn't as its kind says.
    pub(crate) fn ceph_images(&self) -> Result<BTreeSet<String>, DocumentError> {
        let inputs = self.0.values().map(|composition| &composition.input);
        let settings = inputs.map(|input| input.parse::<StorageSettings>());
        let images = settings.filter_map(|settings| match settings {
            Ok(settings) => settings.ceph.map(|ceph| Ok(ceph.image)),
            Err(error) => Some(Err(error)),
        });
        images.collect()
    }

    fn known(&self) -> String {
        let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
        known.join(", ")
    }
}

/// A Composition under its name, or an input under the name of its file; none where it is neither.
fn recognised(stem: &str, document: Value) -> Result<Option<(String, Composition)>, DocumentError> {
    if is_input(&document) {
        let input = Document::from_value(&document)?;
        let (kind, labels, step) = (None, BTreeMap::new(), STEP.to_owned());
        return Ok(Some((
            stem.to_owned(),
            Composition {
                kind,
                labels,
                step,
                input,
            },
        )));
    }
    let Ok(Written {
        kind,
        metadata,
        spec,
    }) = serde_json::from_value(document)
    else {
        return Ok(None);
    };
    let mut steps = spec.pipeline.into_iter();
    let step = steps.find(|step| kind == "Composition" && is_input(&step.input));
    let Some(step) = step else { return Ok(None) };
    let composed = spec.composite_type_ref;
    let composition = Composition {
        kind: ClaimKind::named(&composed.api_version, &composed.kind),
        labels: metadata.labels,
        step: step.step,
        input: Document::from_value(&step.input)?,
    };
    Ok(Some((metadata.name, composition)))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A path in the repository.
    fn root(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
    }

    /// Reads a shipped file with a text replaced; returns what is refused, without the folder's path.
    fn refused(path: &str, from: &str, to: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let text = std::fs::read_to_string(root(path)).unwrap();
        assert!(text.contains(from));
        std::fs::write(folder.path().join("a.yaml"), text.replacen(from, to, 1)).unwrap();
        let error = Compositions::read(folder.path()).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    }

    #[test]
    fn shipped_inputs_and_compositions_are_as_the_schemas_say() {
        for folder in ["input", "v1", "v2"] {
            let folder = root("compositions").join(folder);
            assert_eq!(Compositions::read(&folder).unwrap().0.len(), 6);
        }
    }

    #[test]
    fn input_with_a_wrong_field_is_refused_with_the_path_of_the_field() {
        let file = "compositions/input/openstack-production.yaml";
        let starts = "a.yaml, document 1: OpenStackPresets: ";
        assert_eq!(
            refused(file, "share: {weight:", "share: {weigth:"),
            format!(
                "{starts}sizes.small.share.weight: must be set\n\
                 {starts}sizes.small.share.weigth: unknown field; did you mean weight?"
            )
        );
        assert_eq!(
            refused(file, "concurrency: 2", "concurrency: two"),
            format!("{starts}sizes.small.tempest.concurrency: must be an integer, not a string")
        );
        let file = "compositions/input/hypervisor-pool.yaml";
        let starts = "a.yaml, document 1: ClusterPresets: gardener.";
        assert_eq!(
            refused(file, "ManualInPlaceUpdate\n", "InPlace\n"),
            format!(
                "{starts}updateStrategy: must be one of AutoRollingUpdate, AutoInPlaceUpdate, ManualInPlaceUpdate, not \
                 \"InPlace\""
            )
        );
        assert_eq!(
            refused(file, "minimum: 2", "minimum: 0"),
            format!("{starts}systemMachines.minimum: must be at least 1, not 0")
        );
    }

    #[test]
    fn input_of_a_composition_is_refused_with_its_step() {
        let file = "compositions/v2/storage-pool.yaml";
        assert_eq!(
            refused(file, "diskGib:", "diskGiB:"),
            "a.yaml, document 1: Composition storage-pool: spec.pipeline[0].input.ceph.diskGib: must be set\n\
             a.yaml, document 1: Composition storage-pool: spec.pipeline[0].input.ceph.diskGiB: unknown field; did you \
             mean diskGib?"
        );
    }

    #[test]
    fn each_kind_has_its_composition_built_in() {
        let compositions = Compositions::built_in().unwrap();
        for kind in ClaimKind::ALL {
            let composition = compositions.named(kind.composition(), "a test").unwrap();
            assert_eq!(composition.kind, Some(kind));
        }
    }

    #[test]
    fn a_composition_is_found_by_name_or_by_labels_or_it_is_said_which_there_are() {
        let compositions = Compositions::built_in().unwrap();
        let missing = compositions
            .named("nowhere", "OpenStackCluster a/b")
            .unwrap_err()
            .to_string();
        assert!(
            missing.starts_with(
                "there is no composition nowhere, which OpenStackCluster a/b asks for"
            ),
            "{missing}"
        );
        assert!(missing.contains("openstack-staging"), "{missing}");

        let select = |environment: &str| {
            let labels = [("c5c3.io/environment".to_owned(), environment.to_owned())];
            compositions.selected(ClaimKind::OpenStackCluster, &labels.into(), "a test")
        };
        let staging = compositions.named("openstack-staging", "a test").unwrap();
        assert_eq!(select("staging").unwrap().input, staging.input);
        assert!(select("nowhere").is_err());
        assert!(select("pool").is_err(), "for another kind");
    }
}
