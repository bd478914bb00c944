//! Reads packages, and checks how their parts refer to each other.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub fn files(archive: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut archive = tar::Archive::new(archive);
    let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mtime().unwrap(), 0);
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).unwrap();
        (
            entry.path().unwrap().to_str().unwrap().to_owned(),
            (entry.header().mode().unwrap(), contents),
        )
    };
    archive.entries().unwrap().map(read).collect()
}

fn json_file(files: &BTreeMap<String, (u32, Vec<u8>)>, path: &str) -> Value {
    serde_json::from_slice(&files[path].1).unwrap()
}

pub fn blob(descriptor: &Value) -> String {
    format!(
        "blobs/{}",
        descriptor["digest"].as_str().unwrap().replace(':', "/")
    )
}

/// The manifest and config of an archive, after a look at how its parts refer to each other.
pub fn image(archive: &[u8]) -> (Value, Value) {
    let files = files(archive);
    for (path, (_, contents)) in files.iter().filter(|(path, _)| path.starts_with("blobs/")) {
        assert_eq!(
            *path,
            format!("blobs/sha256/{:x}", Sha256::digest(contents))
        );
    }
    assert_eq!(
        json_file(&files, "oci-layout"),
        json!({ "imageLayoutVersion": "1.0.0" })
    );
    let manifest = json_file(
        &files,
        &blob(&json_file(&files, "index.json")["manifests"][0]),
    );
    let config = json_file(&files, &blob(&manifest["config"]));
    let layers: Vec<_> = manifest["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(blob)
        .collect();
    let saved = json_file(&files, "manifest.json");
    assert_eq!(
        saved,
        json!([{ "Config": blob(&manifest["config"]), "RepoTags": null, "Layers": layers }])
    );
    for (layer, diff_id) in layers
        .iter()
        .zip(config["rootfs"]["diff_ids"].as_array().unwrap())
    {
        assert_eq!(
            *diff_id,
            format!("sha256:{:x}", Sha256::digest(unzipped(&files[layer].1)))
        );
    }
    (manifest, config)
}

pub fn unzipped(layer: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(layer).read_to_end(&mut plain).unwrap();
    plain
}

/// The files of the layer that Crossplane reads.
fn base(archive: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
    let (manifest, _) = image(archive);
    let annotated =
        |layer: &&Value| layer["annotations"] == json!({ "io.crossplane.xpkg": "base" });
    let layers: Vec<_> = manifest["layers"]
        .as_array()
        .unwrap()
        .iter()
        .filter(annotated)
        .collect();
    assert_eq!(layers.len(), 1, "Crossplane wants one base layer");
    files(&unzipped(&files(archive)[&blob(layers[0])].1))
}

pub fn documents(archive: &[u8]) -> Vec<Value> {
    let base = base(archive);
    assert_eq!(base.keys().collect::<Vec<_>>(), ["package.yaml"]);
    serde_saphyr::from_multiple(std::str::from_utf8(&base["package.yaml"].1).unwrap()).unwrap()
}
