//! Git repositories and charts under the names of the hosts that have them elsewhere, by HTTPS.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio::process;

use crate::charts::publish;
use crate::machine::Machine;
use crate::output::output;
use crate::serve::Server;
use crate::tools::Module;

/// The port of HTTPS.
const PORT: u16 = 443;

/// The first part of an answer about a repository's references, by Git's protocol.
const SERVICE: &str = "001e# service=git-upload-pack\n0000";

/// Serves files and Git repositories of a folder, by the names of their hosts.
pub struct GitHost {
    folder: PathBuf,
    _server: Server,
}

/// A repository, and the folder whose files are committed to it.
pub struct Repository {
    git: PathBuf,
    tree: PathBuf,
}

impl GitHost {
    /// Takes the place of hosts for all programs that are started from now on. Whoever asks must trust the machine's authority.
    pub async fn start(machine: &Machine, hosts: &[&str]) -> Result<Self> {
        let names: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        machine.resolve_to_loopback(&names)?;
        let folder = machine.folder().join("hosts-of-git");
        fs::create_dir_all(&folder)?;
        let identity = machine.authority().server(hosts)?;
        let served: Arc<Path> = folder.as_path().into();
        let answer = move |request| answer(Arc::clone(&served), request);
        Ok(Self {
            folder,
            _server: Server::start(PORT, Some(&identity), answer).await?,
        })
    }

    /// An empty repository at `<host>/<path>`, for the files of a folder.
    pub fn repository(&self, place: &str, tree: &Path) -> Result<Repository> {
        let repository = Repository {
            git: self.folder.join(place),
            tree: tree.to_owned(),
        };
        fs::create_dir_all(&repository.git)?;
        repository.git(&["init", "--quiet", "--initial-branch=main"])?;
        Ok(repository)
    }

    /// Publishes the chart of Crossplane 2 as a version in the repository of charts at `<host>/<path>`.
    pub fn publish_crossplane(&self, place: &str, version: &str) -> Result<()> {
        let repository = self.folder.join(place);
        fs::create_dir_all(&repository)?;
        let chart = Module::CrossplaneV2
            .folder()?
            .join("cluster/charts/crossplane");
        publish(&chart, version, &repository)
    }
}

impl Repository {
    /// Commits what these paths of the folder have now.
    ///
    /// # Errors
    /// When nothing has changed, or Git fails.
    pub fn commit(&self, message: &str, paths: &[&str]) -> Result<()> {
        let add: Vec<&str> = ["add", "--all", "--"]
            .iter()
            .chain(paths)
            .copied()
            .collect();
        self.git(&add)?;
        self.git(&["commit", "--quiet", "--message", message])
    }

    /// Gives the last commit a tag.
    ///
    /// # Errors
    /// When there is such a tag, or Git fails.
    pub fn tag(&self, name: &str) -> Result<()> {
        self.git(&["tag", name])
    }

    /// Reverts the last commit, as users do.
    pub fn revert(&self) -> Result<()> {
        self.git(&["revert", "--no-edit", "HEAD"])
    }

    /// Replaces a text that a file of the folder must have.
    ///
    /// # Errors
    /// When the file can't be read or written, or hasn't the text.
    pub fn replace(&self, file: &str, from: &str, to: &str) -> Result<()> {
        let path = self.tree.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        ensure!(text.contains(from), "{file} hasn't {from:?}");
        fs::write(&path, text.replace(from, to)).with_context(|| format!("cannot write {file}"))
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let mut git = Command::new("git");
        let command = git
            .args(arguments)
            .current_dir(&self.tree)
            .env("GIT_DIR", &self.git)
            .env("GIT_WORK_TREE", &self.tree)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "lab")))
            .envs(
                ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "lab@example.com")),
            );
        output(command, &format!("git {arguments:?}")).map(drop)
    }
}

/// Answers from the folder of the host that is asked.
async fn answer(folder: Arc<Path>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let host = request.headers().get("host");
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let place = |path: &str| folder.join(host).join(path);
    let body = if let Some(repository) = path.strip_suffix("/info/refs") {
        let repository = place(repository);
        upload_pack(&repository, &["--advertise-refs"], Bytes::new())
            .await
            .map(|references| [SERVICE.as_bytes(), references.as_slice()].concat())
    } else if let Some(repository) = path.strip_suffix("/git-upload-pack") {
        let repository = place(repository);
        let wants = request.into_body().collect().await?.to_bytes();
        upload_pack(&repository, &[], wants).await
    } else {
        fs::read(place(&path)).context("no such file")
    };
    let (status, kind) = match (&body, path.rsplit('/').next()) {
        (Err(_), _) => (StatusCode::NOT_FOUND, "text/plain"),
        (_, Some("refs")) => (
            StatusCode::OK,
            "application/x-git-upload-pack-advertisement",
        ),
        (_, Some("git-upload-pack")) => (StatusCode::OK, "application/x-git-upload-pack-result"),
        _ => (StatusCode::OK, "application/octet-stream"),
    };
    let response = Response::builder()
        .status(status)
        .header("content-type", kind);
    Ok(response.body(Full::new(body.unwrap_or_default().into()))?)
}

/// What Git sends of a repository to one who wants this.
async fn upload_pack(repository: &Path, arguments: &[&str], wants: Bytes) -> Result<Vec<u8>> {
    let mut child = process::Command::new("git")
        .args(["upload-pack", "--stateless-rpc"])
        .args(arguments)
        .arg(repository)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run git")?;
    let mut input = child.stdin.take().context("git has no input")?;
    input.write_all(&wants).await?;
    drop(input);
    let output = child.wait_with_output().await?;
    ensure!(output.status.success(), "git upload-pack fails");
    Ok(output.stdout)
}
