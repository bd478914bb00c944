//! A folder that scripts of pods take for the root of their file system, with programs of its own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The file that all programs of a test are links to: it runs the script with the link's name. A program that a test writes itself may be
/// busy (`ETXTBSY`): a process that another test starts at that moment inherits the file, open for writing.
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/hypervisor_pool/program.sh"
);

pub struct Root(TempDir);

impl Root {
    pub fn new() -> Self {
        let root = Self(tempfile::tempdir().unwrap());
        for folder in ["bin", "dev"] {
            fs::create_dir(root.path(folder)).unwrap();
        }
        root
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds a program that scripts find before all others. It finds the folder in `$ROOT`.
    pub fn program(&self, name: &str, script: &str) {
        self.program_in("bin", name, script);
    }

    /// Adds a program in another folder than that of the others.
    pub fn program_in(&self, folder: &str, name: &str, script: &str) {
        self.write(&format!("programs/{name}"), script);
        let folder = self.path(folder);
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join(name);
        if !program.exists() {
            symlink(PROGRAM, program).unwrap();
        }
    }

    /// A script, as a pod runs it, with these beginnings of paths in the folder.
    pub fn script(&self, script: &str, paths: &[&str]) -> Command {
        let root = self.0.path().display();
        // The folder's own path may have one of them.
        let marked = paths.iter().fold(script.to_owned(), |script, path| {
            script.replace(path, &format!("\0{path}"))
        });
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-euc", &marked.replace('\0', &root.to_string()), "script"])
            .env("ROOT", self.0.path())
            .env("PATH", format!("{root}/bin:{path}"));
        command
    }

    /// What is below a folder: the text of each file, and nothing for a folder.
    pub fn tree(&self, folder: &str) -> BTreeMap<String, Option<String>> {
        let mut tree = BTreeMap::new();
        let top = self.path(folder);
        if top.is_dir() {
            add(&top, &top, &mut tree);
        }
        tree
    }
}

fn add(top: &Path, folder: &Path, tree: &mut BTreeMap<String, Option<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(top).unwrap().display().to_string();
        let is_folder = path.is_dir();
        tree.insert(
            name,
            (!is_folder).then(|| fs::read_to_string(&path).unwrap()),
        );
        if is_folder {
            add(top, &path, tree);
        }
    }
}
