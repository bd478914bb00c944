//! A tenant's own computer: outside of the cloud, with what the Secret of a claim has.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use k8s_openapi::ByteString;
use lab::{Cloud, Fabric, Image, Machine, Program, Result, tools};

use super::tasks;

/// A computer that reaches public addresses alone, and has the clouds.yaml of a tenant.
pub struct Laptop<'a> {
    machine: Arc<Machine>,
    fabric: &'a Fabric,
    folder: PathBuf,
}

impl<'a> Laptop<'a> {
    /// One that finds the names of a text like `/etc/hosts`, with the values of a Secret and what servers are to boot.
    pub async fn new(
        machine: &Arc<Machine>,
        cloud: &Cloud,
        fabric: &'a Fabric,
        hosts: &str,
        secret: &BTreeMap<String, ByteString>,
    ) -> Result<Self> {
        let folder = machine.folder().join("laptop");
        let clouds = folder.join("clouds");
        fs::create_dir_all(&clouds)?;
        for (key, value) in secret {
            fs::write(clouds.join(key), &value.0)?;
        }
        fs::write(folder.join("hosts"), hosts)?;
        for (module, text) in tasks::MODULES {
            fs::write(folder.join(format!("{module}.py")), text)?;
        }
        cloud
            .node
            .unpack(&Image::guest()?, "guest", &folder)
            .await?;
        Ok(Self {
            machine: Arc::clone(machine),
            fabric,
            folder,
        })
    }

    /// Runs a task of tenant.py to its end, and returns what it prints.
    pub async fn run(&self, task: &str) -> Result<String> {
        let name = format!("laptop-{task}");
        let log = self.machine.log(&name);
        let before = fs::read_to_string(&log).unwrap_or_default().len();
        let python = Program::new(tools::keystone()?.join("python3"))
            .arg(self.folder.join("tenant.py"))
            .arg(task)
            .arg(&self.folder)
            .env("PATIENCE", tasks::patience());
        let program = self.fabric.outside(&self.folder.join("hosts"), python);
        self.machine.run(&name, &program).await?;
        let written = fs::read_to_string(&log)?;
        Ok(written.get(before..).unwrap_or_default().to_owned())
    }
}
