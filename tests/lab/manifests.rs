//! The objects of manifests: of texts, files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use kube::core::DynamicObject;

/// The objects of a manifest of one or more YAML documents.
pub fn documents(manifest: &str) -> Result<Vec<DynamicObject>> {
    // Most manifests of scenarios are one JSON document, of up to a megabyte: YAML takes many times as long to read.
    if let Ok(object) = serde_json::from_str(manifest) {
        return Ok(vec![object]);
    }
    let documents: Vec<Option<DynamicObject>> = serde_saphyr::from_multiple(manifest)
        .map_err(|error| anyhow!("not a manifest: {error}"))?;
    Ok(documents.into_iter().flatten().collect())
}

/// The objects of one file.
pub(crate) fn read(file: &Path) -> Result<Vec<DynamicObject>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    documents(&text).with_context(|| format!("in {}", file.display()))
}

/// The objects of every YAML file of a folder, in the order of their names.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<DynamicObject>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot read {}", folder.display()))?;
    files.retain(|file| {
        file.extension() == Some("yaml".as_ref()) && !file.ends_with("kustomization.yaml")
    });
    files.sort();
    let mut objects = Vec::new();
    for file in files {
        objects.extend(read(&file)?);
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn manifest_is_read_as_json_or_yaml() {
        let json = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "1"}}"#;
        let flow = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '1'}}";
        let read = documents(json).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].data, json!({ "data": { "b": "1" } }));
        assert_eq!(documents(flow).unwrap(), read);
        let both = documents(&format!("{json}\n---\n{flow}\n")).unwrap();
        assert_eq!(both, [read.clone(), read].concat());
    }
}
