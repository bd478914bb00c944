//! What Crossplane wants a package to be. Specification: contributing/specifications/xpkg.md of crossplane/crossplane.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::oci::{Image, Layer, READABLE, RUNNABLE};
use super::program::StaticProgram;
use super::reference::{Location, Version};

const ANNOTATION: &str = "io.crossplane.xpkg";
const BASE: &str = "base";
const STREAM: &str = "package.yaml";

/// A user without a name or rights, the same that other images without a shell have. A number, so that a kubelet can check
/// `runAsNonRoot`.
const NOBODY: &str = "65532";
/// Where Crossplane calls a function.
const FUNCTION_PORT: &str = "9443/tcp";

/// The document that describes a package: `crossplane.yaml` in its source, the first document in what is built.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// `meta.pkg.crossplane.io/v1`.
    pub api_version: String,
    /// What is packaged.
    pub kind: Kind,
    /// Name and annotations.
    pub metadata: ObjectMetadata,
    /// What the package can do and needs.
    pub spec: Specification,
}

/// The kinds of package that are built here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A composition function with its image.
    Function,
    /// Definitions and compositions.
    Configuration,
}

/// The part of Kubernetes' object metadata that a package has.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectMetadata {
    /// The package's name.
    pub name: String,
    /// Maintainer, source, license, description, readme; their keys start with `meta.crossplane.io/`.
    pub annotations: BTreeMap<String, String>,
}

/// The specification of a package.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Specification {
    /// What a function is for; Crossplane 1.20 doesn't look at it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The Crossplane it runs on.
    pub crossplane: Constraint,
    /// The packages it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
}

/// A constraint on versions, such as `>=v1.20.0`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// The constraint.
    pub version: String,
}

/// A package that another one needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dependency {
    /// `pkg.crossplane.io/v1`.
    pub api_version: String,
    /// What is needed.
    pub kind: DependencyKind,
    /// Where it is.
    pub package: Location,
    /// Constraint on its version.
    pub version: String,
}

/// The kinds of package that this project's packages depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DependencyKind {
    /// provider-kubernetes.
    Provider,
    /// Our function.
    Function,
}

/// A package before it becomes an image.
pub struct Package {
    /// What it says of itself.
    pub metadata: Metadata,
    /// What Crossplane installs from it.
    pub documents: Vec<Value>,
}

impl Package {
    /// The package as an image; with a program, it is also the image that a function's pods run.
    ///
    /// `crossplane xpkg push` reads the label of a layer and writes the annotation; other tools keep the annotation as it
    /// is. So the layer with the documents has both.
    ///
    /// # Errors
    /// When a layer can't be put together.
    pub fn image(&self, program: Option<&StaticProgram>, version: &Version) -> io::Result<Image> {
        let mut documents = Layer::with_file(STREAM, READABLE, &self.stream()?)?;
        let annotation = (ANNOTATION.to_owned(), BASE.to_owned());
        documents.annotations.extend([annotation]);
        let mut labels = self.labels(version);
        labels.insert(
            format!("{ANNOTATION}:{}", documents.digest()),
            BASE.to_owned(),
        );
        let mut run = json!({ "Labels": labels });
        let mut layers = Vec::new();
        if let Some(program) = program {
            layers.push(Layer::with_file("c5c3", RUNNABLE, &program.contents)?);
            run["Entrypoint"] = json!(["/c5c3", "function"]);
            run["User"] = json!(NOBODY);
            run["ExposedPorts"] = json!({ FUNCTION_PORT: {} });
        }
        layers.push(documents);
        Ok(Image {
            layers,
            architecture: program.map(|program| program.architecture),
            run,
        })
    }

    /// The documents as a YAML stream. Each is written as JSON, which is YAML that every parser reads alike.
    fn stream(&self) -> io::Result<Vec<u8>> {
        let mut stream = Vec::new();
        write_document(&mut stream, &self.metadata)?;
        for document in &self.documents {
            write_document(&mut stream, document)?;
        }
        Ok(stream)
    }

    fn labels(&self, version: &Version) -> BTreeMap<String, String> {
        let annotations = &self.metadata.metadata.annotations;
        let mut labels = BTreeMap::from([
            (
                "org.opencontainers.image.title".to_owned(),
                self.metadata.metadata.name.clone(),
            ),
            (
                "org.opencontainers.image.version".to_owned(),
                version.to_string(),
            ),
        ]);
        for (label, annotation) in [
            ("description", "description"),
            ("source", "source"),
            ("licenses", "license"),
        ] {
            if let Some(text) = annotations.get(&format!("meta.crossplane.io/{annotation}")) {
                labels.insert(format!("org.opencontainers.image.{label}"), text.clone());
            }
        }
        labels
    }
}

fn write_document(stream: &mut Vec<u8>, document: &impl Serialize) -> io::Result<()> {
    stream.extend_from_slice(b"---\n");
    serde_json::to_writer_pretty(&mut *stream, document)?;
    stream.push(b'\n');
    Ok(())
}
