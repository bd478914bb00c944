//! Container images as bytes: layers, config, manifest, and one archive that holds them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, Header};

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The permissions of a file that anyone may read.
pub const READABLE: u32 = 0o644;
/// The permissions of a file that anyone may read and run.
pub const RUNNABLE: u32 = 0o755;

/// One gzipped tar of an image. The same files give the same bytes.
pub struct Layer {
    compressed: Vec<u8>,
    /// Digest of the tar before compression.
    diff_id: String,
    /// Annotations of its descriptor in the manifest.
    pub annotations: BTreeMap<String, String>,
}

impl Layer {
    /// A layer with one file at `path`, relative to the image's root.
    ///
    /// # Errors
    /// When the path doesn't fit a tar header.
    pub fn with_file(path: &str, mode: u32, contents: &[u8]) -> io::Result<Self> {
        let mut files = Builder::new(Vec::new());
        append(&mut files, path, mode, contents)?;
        let plain = files.into_inner()?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&plain)?;
        Ok(Self {
            compressed: gzip.finish()?,
            diff_id: digest(&plain),
            annotations: BTreeMap::new(),
        })
    }

    /// Digest of the compressed layer, `sha256:...`.
    pub fn digest(&self) -> String {
        digest(&self.compressed)
    }
}

/// An image of one platform.
pub struct Image {
    /// From the lowest to the topmost.
    pub layers: Vec<Layer>,
    /// The processor in OCI's words, such as `amd64`; none for an image without programs.
    pub architecture: Option<&'static str>,
    /// The labels, and how a container of the image is run.
    pub run: Value,
}

impl Image {
    /// The image as a tar that is both an OCI image layout and what `docker save` writes: tools for either read it, and
    /// the annotations of layers, which the latter can't express, are kept for those of the former. Specification:
    /// <https://github.com/opencontainers/image-spec/blob/main/image-layout.md>.
    ///
    /// # Errors
    /// When the archive can't be put together.
    pub fn archive(&self) -> io::Result<Vec<u8>> {
        let config = self.config().to_string().into_bytes();
        let manifest = self.manifest(&config).to_string().into_bytes();
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [descriptor(MANIFEST_TYPE, &manifest)],
        });
        let saved = json!([{
            "Config": blob(&config),
            "RepoTags": null,
            "Layers": self.layers.iter().map(|layer| blob(&layer.compressed)).collect::<Vec<_>>(),
        }]);

        let mut files = BTreeMap::from([
            (
                "oci-layout".to_owned(),
                json!({ "imageLayoutVersion": "1.0.0" })
                    .to_string()
                    .into_bytes(),
            ),
            ("index.json".to_owned(), index.to_string().into_bytes()),
            ("manifest.json".to_owned(), saved.to_string().into_bytes()),
            (blob(&manifest), manifest),
            (blob(&config), config),
        ]);
        files.extend(
            self.layers
                .iter()
                .map(|layer| (blob(&layer.compressed), layer.compressed.clone())),
        );

        let mut archive = Builder::new(Vec::new());
        for (path, contents) in &files {
            append(&mut archive, path, READABLE, contents)?;
        }
        archive.into_inner()
    }

    fn config(&self) -> Value {
        json!({
            "architecture": self.architecture.unwrap_or_default(),
            "os": self.architecture.map_or("", |_| "linux"),
            "config": self.run,
            "rootfs": { "type": "layers", "diff_ids": self.layers.iter().map(|layer| &layer.diff_id).collect::<Vec<_>>() },
        })
    }

    fn manifest(&self, config: &[u8]) -> Value {
        let layers = self.layers.iter().map(|layer| {
            let mut layer_descriptor = descriptor(LAYER_TYPE, &layer.compressed);
            if !layer.annotations.is_empty() {
                layer_descriptor["annotations"] = json!(layer.annotations);
            }
            layer_descriptor
        });
        json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": descriptor(CONFIG_TYPE, config),
            "layers": layers.collect::<Vec<_>>(),
        })
    }
}

fn descriptor(media_type: &str, contents: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(contents), "size": contents.len() })
}

fn blob(contents: &[u8]) -> String {
    format!("blobs/{}", digest(contents).replace(':', "/"))
}

fn digest(contents: &[u8]) -> String {
    format!("sha256:{}", sha256(contents))
}

/// SHA-256 in hexadecimal.
pub fn sha256(contents: &[u8]) -> String {
    format!("{:x}", Sha256::digest(contents))
}

/// Owner, group and time are those of nobody and never, so that only path, mode and contents decide the bytes.
fn append(files: &mut Builder<Vec<u8>>, path: &str, mode: u32, contents: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_size(contents.len() as u64);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    files.append_data(&mut header, path, contents)
}
