//! The files in packages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use c5c3_api::Generation;
use serde_json::Value;

use super::xpkg::{Kind, Metadata};
use crate::files::{entries, read};
use crate::generate::INPUTS;

/// Reads `package/<name>/crossplane.yaml`.
///
/// # Errors
/// When it can't be read or describes another package or kind.
pub fn metadata(root: &Path, kind: Kind, name: &str) -> Result<Metadata> {
    let path = root.join("package").join(name).join("crossplane.yaml");
    let metadata: Metadata =
        serde_saphyr::from_str(&read(&path)?).with_context(|| format!("in {}", path.display()))?;
    ensure!(
        metadata.kind == kind && metadata.metadata.name == name,
        "{} describes the {:?} {:?}: it must describe the {kind:?} {name:?}",
        path.display(),
        metadata.kind,
        metadata.metadata.name,
    );
    Ok(metadata)
}

/// The definitions, then the compositions of a generation, each in the order of their files' names.
///
/// # Errors
/// When a folder is empty, or holds a document that this generation's Crossplane would refuse in a configuration.
pub fn documents(root: &Path, generation: Generation) -> Result<Vec<Value>> {
    let definition = match generation {
        Generation::V1 => "apiextensions.crossplane.io/v1",
        Generation::V2 => "apiextensions.crossplane.io/v2",
    };
    let parts = [
        ("xrds", definition, "CompositeResourceDefinition"),
        (
            "compositions",
            "apiextensions.crossplane.io/v1",
            "Composition",
        ),
    ];
    let mut documents = Vec::new();
    for (part, api_version, kind) in parts {
        let folder = root.join(part).join(generation.version());
        documents.extend(of_kind(&folder, api_version, kind)?);
    }
    Ok(documents)
}

/// The definitions of the function's inputs, in the order of their files' names.
///
/// # Errors
/// When there is none, or the folder holds something else.
pub fn inputs(root: &Path) -> Result<Vec<Value>> {
    of_kind(
        &root.join(INPUTS),
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
    )
}

fn of_kind(folder: &Path, api_version: &str, kind: &str) -> Result<Vec<Value>> {
    let mut names = BTreeSet::new();
    let mut documents = Vec::new();
    for path in yaml_files(folder)? {
        let read: Vec<Value> = serde_saphyr::from_multiple(&read(&path)?)
            .with_context(|| format!("in {}", path.display()))?;
        for document in read {
            let name = document["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if document["apiVersion"] != api_version || document["kind"] != kind || name.is_empty()
            {
                bail!(
                    "{} holds something else than a named {kind} of {api_version}",
                    path.display()
                );
            }
            ensure!(
                names.insert(name.clone()),
                "{} holds a second {kind} named {name}",
                path.display()
            );
            documents.push(document);
        }
    }
    ensure!(
        !documents.is_empty(),
        "{} holds no {kind}: the package needs one",
        folder.display()
    );
    Ok(documents)
}

fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files = entries(folder)?;
    files.retain(|path| path.extension() == Some("yaml".as_ref()));
    Ok(files)
}
