//! The Compositions: which input the function gets for which resource.

use std::collections::BTreeMap;
use std::path::Path;

use function_protocol::{Document, DocumentError};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::input::{self, InputError, Place};

/// Those that the packages install, in the form of their function's input.
const EMBEDDED: [(&str, &str); 6] = [
    embedded!("controlplane-production"),
    embedded!("hypervisor-pool"),
    embedded!("openstack-development"),
    embedded!("openstack-production"),
    embedded!("openstack-staging"),
    embedded!("storage-pool"),
];

macro_rules! embedded {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../compositions/input/", $name, ".yaml")),
        )
    };
}
use embedded;

/// Compositions by name.
#[derive(Clone, Debug)]
pub struct Compositions(BTreeMap<String, Composition>);

/// A Composition with our function in its pipeline.
#[derive(Clone, Debug)]
pub struct Composition {
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
    /// What is built in is malformed.
    #[error("the built-in composition {name} is malformed: {message}")]
    BuiltIn {
        /// Its name.
        name: &'static str,
        /// Why.
        message: String,
    },
    /// There is none of a name.
    #[error("there is no composition {name}, which {by} asks for; there are: {known}")]
    Missing {
        /// The name.
        name: String,
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
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    pipeline: Vec<Step>,
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
        let read = |(name, text): (&'static str, &str)| {
            let malformed = |message| CompositionError::BuiltIn { name, message };
            let input: Value = serde_saphyr::from_str(text)
                .map_err(|error| malformed(error.without_snippet().to_string()))?;
            let input =
                Document::from_value(&input).map_err(|error| malformed(error.to_string()))?;
            Ok((
                name.to_owned(),
                Composition {
                    step: STEP.to_owned(),
                    input,
                },
            ))
        };
        EMBEDDED
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Those of a folder (or one file): Compositions under their names, or inputs under the names of their files.
    ///
    /// # Errors
    /// Something in it is neither.
    pub fn read(folder: &Path) -> Result<Self, CompositionError> {
        let mut compositions = BTreeMap::new();
        for file in input::files(folder)? {
            let stem = file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            for (place, document) in input::documents(&file)? {
                let Some((name, step, input)) = recognised(&stem, document) else {
                    return Err(CompositionError::Unknown(place));
                };
                let input = Document::from_value(&input)
                    .map_err(|source| CompositionError::Malformed { place, source })?;
                compositions.insert(name, Composition { step, input });
            }
        }
        Ok(Self(compositions))
    }

    /// The Composition of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, name: &str, by: &str) -> Result<&Composition, CompositionError> {
        self.0.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            CompositionError::Missing {
                name: name.to_owned(),
                by: by.to_owned(),
                known: known.join(", "),
            }
        })
    }
}

/// Name, step and input of a document.
fn recognised(stem: &str, document: Value) -> Option<(String, String, Value)> {
    if is_input(&document) {
        return Some((stem.to_owned(), STEP.to_owned(), document));
    }
    let written: Written = serde_json::from_value(document).ok()?;
    let mut steps = written.spec.pipeline.into_iter();
    let step = steps.find(|step| is_input(&step.input))?;
    (written.kind == "Composition").then_some((written.metadata.name, step.step, step.input))
}

fn is_input(document: &Value) -> bool {
    let kind = document["kind"].as_str().unwrap_or_default();
    document["apiVersion"] == "c5c3.io/v1alpha1"
        && ["OpenStackPresets", "ClusterPresets"].contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::ClaimKind;

    #[test]
    fn each_kind_has_its_composition_built_in() {
        let compositions = Compositions::built_in().unwrap();
        for kind in ClaimKind::ALL {
            assert!(compositions.get(kind.composition(), "a test").is_ok());
        }
        let missing = compositions
            .get("nowhere", "OpenStackCluster a/b")
            .unwrap_err();
        let message = missing.to_string();
        assert!(
            message.starts_with(
                "there is no composition nowhere, which OpenStackCluster a/b asks for"
            )
        );
        assert!(message.contains("openstack-staging"), "{message}");
    }
}
