//! A Ceph in a pod with a network of its own, which keeps what it is given in memory.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, ensure};
use kube::core::DynamicObject;
use serde_json::Value;

use crate::cloud::Cloud;
use crate::eventually;
use crate::minutes;
use crate::node::{Container, STORAGE};
use crate::objects::kind;

/// A pod of the lab's own image.
const POD: &str = include_str!("node/ceph.yaml");

/// The option of RBD that limits writes.
const WRITES: &str = "rbd_qos_write_bps_limit";

/// A Ceph of one monitor, one manager and one OSD.
pub struct Ceph {
    container: Container,
    address: Ipv4Addr,
}

impl Ceph {
    /// The subnet that it is in. Pods and hypervisors reach it through the first node.
    pub const NETWORK: &str = STORAGE;

    /// Starts it on a cloud's node, in a pod of this name.
    pub async fn start(cloud: &Cloud, name: &str) -> Result<Self> {
        cloud.cluster.apply(&POD.replace("NAME", name)).await?;
        let place = format!("ceph/{name}");
        let what = format!("{name} has an OSD and a manager");
        eventually(&what, minutes(2), async || {
            let pod: DynamicObject = cloud.cluster.get(kind("v1", "Pod"), &place).await?;
            let address = pod.data["status"]["podIP"].as_str();
            let address = address.with_context(|| format!("{place} has no address yet"))?;
            let ceph = Self {
                container: cloud.node.container(&place).await?,
                address: address.parse()?,
            };
            let state = ceph.run(&["ceph", "--connect-timeout", "5", "osd", "stat"])?;
            ensure!(state.contains("1 up"), "{state}");
            let manager = ceph.run(&["ceph", "--connect-timeout", "5", "mgr", "stat"])?;
            ensure!(manager.contains("\"available\": true"), "{manager}");
            Ok(ceph)
        })
        .await
    }

    /// Where its monitor is, as `mon_host` of a ceph.conf has it.
    pub fn monitors(&self) -> String {
        format!("[v2:{0}:3300,v1:{0}:6789]", self.address)
    }

    /// The identifier by which services tell it from another Ceph, for instance Cinder before it clones an image.
    pub fn id(&self) -> Result<String> {
        self.run(&["ceph", "fsid"])
    }

    /// The address of its monitor, manager and OSD.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Makes a pool for RBD, if there is none of that name.
    pub fn make_pool(&self, name: &str) -> Result<()> {
        self.run(&["ceph", "osd", "pool", "create", name, "8"])?;
        self.run(&["rbd", "pool", "init", name]).map(drop)
    }

    /// Makes a user with what it may do, by the part of Ceph, and gives its key.
    pub fn make_user<'a>(
        &self,
        name: &str,
        capabilities: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<String> {
        let user = format!("client.{name}");
        let mut words = vec!["ceph", "auth", "get-or-create-key", &user];
        for (part, capability) in capabilities {
            words.extend([part, capability]);
        }
        self.run(&words)
    }

    /// Makes an image of one MiB in a pool.
    pub fn make_image(&self, pool: &str, name: &str) -> Result<()> {
        let image = format!("{pool}/{name}");
        self.run(&["rbd", "create", "--size", "1M", &image])
            .map(drop)
    }

    /// The names of the images in a pool.
    pub fn images(&self, pool: &str) -> Result<Vec<String>> {
        let names = self.run(&["rbd", "ls", pool])?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// The parent of an image that is a clone, as `pool/image@snapshot`; nothing for another.
    pub fn parent(&self, pool: &str, image: &str) -> Result<String> {
        let info = self.run(&[
            "rbd",
            "info",
            "--format",
            "json",
            &format!("{pool}/{image}"),
        ])?;
        let info: Value = serde_json::from_str(&info)?;
        let part = |name: &str| info["parent"][name].as_str().unwrap_or_default();
        Ok(match info["parent"].is_null() {
            true => String::new(),
            false => format!("{}/{}@{}", part("pool"), part("image"), part("snapshot")),
        })
    }

    /// The SHA-256 of all that an image has.
    pub fn checksum(&self, pool: &str, image: &str) -> Result<String> {
        let export = r#"rbd export --no-progress "$0" - | sha256sum"#;
        let image = format!("{pool}/{image}");
        let printed = self.run(&["bash", "-o", "pipefail", "-c", export, &image])?;
        let checksum = printed.split_whitespace().next();
        checksum
            .map(str::to_owned)
            .with_context(|| format!("{image} has no checksum"))
    }

    /// Limits what clients that open an image of a pool from now on write to it, in bytes per second.
    pub fn limit_writes(&self, pool: &str, bytes: u32) -> Result<()> {
        let bytes = bytes.to_string();
        self.run(&["rbd", "config", "pool", "set", pool, WRITES, &bytes])
            .map(drop)
    }

    /// Ends the limit of a pool.
    pub fn unlimit_writes(&self, pool: &str) -> Result<()> {
        self.run(&["rbd", "config", "pool", "remove", pool, WRITES])
            .map(drop)
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        self.container.run(words)
    }
}
