//! A program, and how it is started.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// How long most processes may take to leave by themselves once asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How to start a process.
pub struct Program {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) grace: Duration,
}

impl Program {
    /// A program without arguments. It inherits nothing of the environment but `PATH`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            grace: GRACE,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Adds another program as arguments: this one starts it.
    #[must_use]
    pub fn then(mut self, program: Self) -> Self {
        self.arguments.push(program.path.into());
        self.arguments.extend(program.arguments);
        self.variables.extend(program.variables);
        self
    }

    /// Adds `--name=value`.
    #[must_use]
    pub fn flag(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let mut flag = OsString::from(format!("--{name}="));
        flag.push(value.as_ref());
        self.arguments.push(flag);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets how long it may take to leave by itself once asked to.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}
