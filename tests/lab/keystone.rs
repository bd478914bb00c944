//! A real Keystone, so that K-ORC finds an OpenStack: on SQLite, served on loopback over plain HTTP, with nothing beside it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use crate::eventually;
use crate::machine::{Machine, Program};
use crate::probe;
use crate::tools;

/// How long it may take to load.
const READY: Duration = Duration::from_secs(90);

const NAME: &str = "keystone";

/// The cloud's name in a `clouds.yaml`.
const CLOUD: &str = "admin";

/// A running Keystone with its administrator: user and project `admin` of the domain `Default`, role `admin`.
pub struct Keystone {
    machine: Arc<Machine>,
    program: Program,
    configuration: PathBuf,
    port: u16,
    password: String,
}

impl Keystone {
    /// The region that its own endpoints are in.
    pub const REGION: &str = "RegionOne";

    /// Fills an empty one, starts it, and waits until it listens.
    pub async fn start(machine: &Arc<Machine>, password: &str) -> Result<Self> {
        let programs = tools::keystone()?;
        let folder = machine.folder().join(NAME);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let place = folder.display();
        let configuration = folder.join("keystone.conf");
        fs::write(
            &configuration,
            format!(
                "[database]\nconnection = sqlite:///{place}/keystone.db\n\
                 [fernet_tokens]\nkey_repository = {place}/fernet-keys\n\
                 [credential]\nkey_repository = {place}/credential-keys\n"
            ),
        )?;
        let port = machine.port();
        let keystone = Self {
            machine: machine.clone(),
            // Keystone takes the arguments of whatever program loads it for its own: it must see none. One thread: SQLite refuses a
            // transaction that writes what another one is writing.
            program: Program::new(programs.join("python3"))
                .arg("-c")
                .arg(format!(
                    "from keystone.wsgi.api import application\n\
                     from waitress import serve\n\
                     serve(application, listen='127.0.0.1:{port}', threads=1)"
                ))
                .env("OS_KEYSTONE_CONFIG_FILES", &configuration),
            configuration,
            port,
            password: password.to_owned(),
        };
        let configuration = &keystone.configuration;
        let manage =
            || Program::new(programs.join("keystone-manage")).flag("config-file", configuration);
        machine
            .run("keystone-manage", &manage().arg("db_sync"))
            .await?;
        for keys in ["fernet_setup", "credential_setup"] {
            let setup = manage()
                .arg(keys)
                .flag("keystone-user", "root")
                .flag("keystone-group", "root");
            machine.run("keystone-manage", &setup).await?;
        }
        let bootstrap = manage()
            .arg("bootstrap")
            .env("OS_BOOTSTRAP_PASSWORD", password)
            .env("OS_BOOTSTRAP_REGION_ID", Self::REGION)
            .env("OS_BOOTSTRAP_PUBLIC_URL", keystone.url())
            .env("OS_BOOTSTRAP_INTERNAL_URL", keystone.url())
            .env("OS_BOOTSTRAP_ADMIN_URL", keystone.url());
        machine.run("keystone-manage", &bootstrap).await?;
        let services = manage()
            .arg("project_setup")
            .flag("project-name", "service");
        machine.run("keystone-manage", &services).await?;
        keystone.serve().await?;
        Ok(keystone)
    }

    /// Starts it again after a `kill`, with everything it knew.
    ///
    /// # Errors
    /// When it still runs, or doesn't listen in time.
    pub async fn serve(&self) -> Result<()> {
        self.machine.start(NAME, &self.program)?;
        eventually("Keystone listens", READY, async || {
            self.machine.check(NAME)?;
            probe::listens(self.port).await
        })
        .await
    }

    /// Adds options that it reads when it starts again.
    ///
    /// # Errors
    /// When its configuration can't be written.
    pub fn configure(&self, options: &str) -> Result<()> {
        let before = fs::read_to_string(&self.configuration)?;
        fs::write(&self.configuration, before + options)
            .with_context(|| format!("cannot write {}", self.configuration.display()))
    }

    /// Kills it in the middle of whatever it does.
    pub fn kill(&self) -> Result<()> {
        self.machine.kill(NAME)
    }

    /// Where it is, version and all.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v3", self.port)
    }

    /// A `clouds.yaml` with one cloud, `admin`: its administrator.
    pub fn clouds(&self) -> String {
        json!({"clouds": {CLOUD: {
            "auth": {
                "auth_url": self.url(),
                "username": "admin",
                "password": self.password,
                "project_name": "admin",
                "user_domain_name": "Default",
                "project_domain_name": "Default",
            },
            "region_name": Self::REGION,
        }}})
        .to_string()
    }
}
