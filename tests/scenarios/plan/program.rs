//! Our program, as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use lab::{Build, Result, ensure, our_program};

/// What a run of the program has said.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    pub fn says(&self, text: &str) -> Result<()> {
        ensure!(self.stdout.contains(text), "{text:?} isn't said: {self:?}");
        Ok(())
    }

    pub fn complains(&self, text: &str) -> Result<()> {
        ensure!(self.stderr.contains(text), "{text:?} isn't said: {self:?}");
        Ok(())
    }

    pub fn is_silent_on(&self, text: &str) -> Result<()> {
        let shown = self.stdout.contains(text) || self.stderr.contains(text);
        ensure!(!shown, "{text:?} is said: {self:?}");
        Ok(())
    }
}

pub fn against(kubeconfig: &Path, file: &Path) -> Result<Run> {
    let mut program = program()?;
    program.arg("plan").arg("--filename").arg(file);
    program.arg("--against").arg(kubeconfig);
    Ok(Run::of(program.output()?))
}

pub fn divided(kubeconfig: &Path, claim: &Path) -> Result<Run> {
    let mut program = program()?;
    program.arg("plan").arg(claim).arg("examples/pools");
    program.arg("--pool").arg(kubeconfig);
    Ok(Run::of(program.output()?))
}

pub fn status(kubeconfig: &Path, arguments: &[&str]) -> Result<Run> {
    let mut program = program()?;
    program.arg("status").arg("--kubeconfig").arg(kubeconfig);
    Ok(Run::of(program.args(arguments).output()?))
}

fn program() -> Result<Command> {
    let mut program = Command::new(our_program(Build::Debug)?);
    program.current_dir(workspace());
    Ok(program)
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Somebody who follows what runs, into a file.
pub struct Lines {
    program: Child,
    file: tempfile::NamedTempFile,
}

impl Lines {
    pub fn of(kubeconfig: &Path) -> Result<Self> {
        let file = tempfile::NamedTempFile::new()?;
        let mut program = program()?;
        program.args(["status", "--watch", "--kubeconfig"]);
        let program = program
            .arg(kubeconfig)
            .stdout(Stdio::from(file.reopen()?))
            .spawn()?;
        Ok(Self { program, file })
    }

    pub fn all(&self) -> Result<String> {
        Ok(fs::read_to_string(self.file.path())?)
    }

    pub fn have(&self, line: &str) -> Result<()> {
        let lines = self.all()?;
        ensure!(
            lines.lines().any(|other| other == line),
            "{line:?} isn't among:\n{lines}"
        );
        Ok(())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It has ended already, or is reaped here: nothing is left either way.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
