//! The real OpenStack services of one release, which validate what they read: configuration files and policies.

mod table;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use provider_openstack::Release;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::output::{output, printed};
use crate::python;

pub use table::tables;

/// The program that loads the services' own option objects.
const OPTIONS: &str = include_str!("options.py");

/// Keystone, Glance, Placement and Neutron of one release, installed from PyPI.
pub struct OpenStack {
    /// The release.
    pub release: Release,
    programs: PathBuf,
}

/// A configuration file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ConfigurationFile {
    /// The service that reads it, for instance `glance`.
    pub service: &'static str,
    /// All of it.
    pub text: String,
}

/// Something that is wrong in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Fault {
    /// The section.
    pub section: String,
    /// The option.
    pub option: String,
    /// What is wrong with it.
    pub what: Wrong,
    /// What the service says of it.
    pub message: String,
}

/// What is wrong with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wrong {
    /// The file can't be read at all.
    File,
    /// There is no such option.
    Unknown,
    /// It has another name now.
    Renamed,
    /// It will go.
    Deprecated,
    /// The value isn't of its type, or none of its choices.
    Value,
    /// Nobody can authenticate with what is given.
    Auth,
}

impl OpenStack {
    /// The services of a release, installed first if they aren't in the cache yet.
    pub fn of(release: Release) -> Result<Self> {
        let programs = python::environment(&format!("openstack-{release}"))?;
        Ok(Self { release, programs })
    }

    /// What is wrong in each of some configuration files.
    pub fn faults(&self, files: &[ConfigurationFile]) -> Result<Vec<Vec<Fault>>> {
        self.ask("check", &serde_json::to_string(files)?)
    }

    /// What oslo.policy's own validator complains of in a file of policies; nothing where all is well.
    pub fn policy_complaints(&self, service: &str, rules: &str) -> Result<Option<String>> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(rules.as_bytes())?;
        let output = Command::new(self.programs.join("oslopolicy-validator"))
            .args(["--namespace", service])
            .env("OS_OSLO_POLICY__POLICY_FILE", file.path())
            .output()
            .context("cannot run oslopolicy-validator")?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((!output.status.success()).then_some(said))
    }

    /// Runs a program of Python among the services, and returns what it prints as JSON.
    ///
    /// # Errors
    /// When it fails, or prints something else.
    pub fn run<T: DeserializeOwned>(&self, program: &str, arguments: &[&str]) -> Result<T> {
        let mut python = Command::new(self.programs.join("python3"));
        let command = python.args(["-c", program]).args(arguments);
        let printed = output(command, &format!("of {}", self.release))?;
        serde_json::from_str(&printed).context("the program prints something else")
    }

    fn ask<T: DeserializeOwned>(&self, command: &str, input: &str) -> Result<T> {
        let mut program = Command::new(self.programs.join("python3"))
            .args(["-c", OPTIONS, command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run python3")?;
        if let Some(mut stdin) = program.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        let output = program.wait_with_output()?;
        let what = format!("the services of {} can't say what they read", self.release);
        serde_json::from_str(&printed(output, &what)?).context("options.py answers in another way")
    }
}
