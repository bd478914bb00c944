//! The registry of a node.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cluster::ADDRESS;
use crate::eventually;
use crate::image::Image;
use crate::machine::{Machine, Program};
use crate::probe;
use crate::tools::Tool;

use super::{Node, READY};

const NAME: &str = "registry";

/// A registry for all nodes, which ends with the scenario.
pub(super) struct Registry {
    url: String,
    host: String,
}

impl Registry {
    pub(super) async fn start(machine: &Machine) -> Result<Self> {
        let port = machine.port();
        let host = format!("127.0.0.1:{port}");
        let blobs = machine.folder().join("registry");
        fs::create_dir_all(&blobs).with_context(|| format!("cannot create {}", blobs.display()))?;
        let program = Program::new(Tool::Crane.path()?)
            .args(["registry", "serve"])
            .flag("address", format!("0.0.0.0:{port}"))
            .flag("disk", &blobs);
        machine.start(NAME, &program)?;
        eventually("the registry listens", READY, async || {
            machine.check(NAME)?;
            probe::listens(port).await
        })
        .await?;
        Ok(Self {
            url: format!("http://{ADDRESS}:{port}"),
            host,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Takes an image under the name that it has in its own registry.
    pub(super) async fn take(&self, machine: &Machine, image: &Image) -> Result<()> {
        let push = Program::new(Tool::Crane.path()?)
            .arg("push")
            .arg(image.layout())
            .arg(self.place(image));
        machine.run("push", &push).await
    }

    /// What this machine calls an image in it.
    fn place(&self, image: &Image) -> String {
        format!("{}/{}", self.host, image.path())
    }
}

impl Node {
    /// Puts a folder of an image that is offered to pods into one of this machine.
    ///
    /// # Errors
    /// When the image isn't offered, or has no such folder.
    pub async fn unpack(&self, image: &Image, folder: &str, to: &Path) -> Result<()> {
        let archive = to.join("image.tar");
        let export = Program::new(Tool::Crane.path()?)
            .arg("export")
            .arg(self.registry.place(image))
            .arg(&archive);
        self.machine.run("export", &export).await?;
        let unpack = Program::new("tar")
            .arg("--extract")
            .flag("file", &archive)
            .flag("directory", to)
            .arg(folder);
        self.machine.run("unpack", &unpack).await
    }
}
