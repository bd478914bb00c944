//! Provenance: what the packages were built from, as a statement of in-toto (<https://in-toto.io/Statement/v1>) with a predicate of SLSA
//! (<https://slsa.dev/spec/v1.0/provenance>). Who publishes the packages signs it.

use std::path::Path;
use std::process::Command;

use c5c3_program::Compiler;
use serde_json::{Value, json};

use super::bom::Registry;
use super::oci::sha256;
use crate::pins::Pin;

/// How the packages are built: by `cargo xtask package` with these external parameters.
const BUILD_TYPE: &str = "https://c5c3.io/build/xtask-package/v1";

/// What the statement is about.
pub struct Sources<'a> {
    /// Who builds, as an URI.
    pub builder: &'a str,
    /// What decides the packages' contents besides their sources.
    pub parameters: Value,
    /// What compiles the program.
    pub compiler: Compiler,
    /// The commit, or `None` where the working tree has changes or isn't one of git.
    pub commit: Option<String>,
    /// `Cargo.lock`.
    pub lock: Vec<u8>,
    /// The crates in the program.
    pub crates: &'a [Pin],
}

impl Sources<'_> {
    /// The statement about files, by name and contents.
    pub fn statement(&self, files: &[(&str, &[u8])]) -> Value {
        let subjects = files.iter().map(
            |(name, contents)| json!({ "name": name, "digest": { "sha256": sha256(contents) } }),
        );
        let commit = self
            .commit
            .iter()
            .map(|commit| json!({ "name": "source", "digest": { "gitCommit": commit } }));
        let lock = json!({ "name": "Cargo.lock", "digest": { "sha256": sha256(&self.lock) } });
        let crates = self
            .crates
            .iter()
            .map(|pin| json!({ "uri": Registry::Cargo.url(pin), "digest": { "sha256": pin.hashes.first() } }));
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": subjects.collect::<Vec<_>>(),
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": {
                "buildDefinition": {
                    "buildType": BUILD_TYPE,
                    "externalParameters": self.parameters,
                    "internalParameters": { "host": self.compiler.host },
                    "resolvedDependencies": commit.chain([lock, self.rustc()]).chain(crates).collect::<Vec<_>>(),
                },
                "runDetails": { "builder": { "id": self.builder } },
            },
        })
    }

    /// The compiler, which a second build needs in the same version to give the same program.
    fn rustc(&self) -> Value {
        let release = &self.compiler.release;
        let mut rustc = json!({ "name": "rustc", "uri": format!("pkg:generic/rustc@{release}") });
        if let Some(commit) = &self.compiler.commit {
            rustc["digest"] = json!({ "gitCommit": commit });
        }
        rustc
    }
}

/// The commit of a working tree without changes.
pub fn commit(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments);
        let said = c5c3_program::output_of(git, root).ok()?;
        Some(said.trim().to_owned())
    };
    let changes = git(&["status", "--porcelain"])?;
    changes.is_empty().then(|| git(&["rev-parse", "HEAD"]))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_what_was_built_from_what() {
        let sources = Sources {
            builder: "https://example.com/builder",
            parameters: json!({ "version": "v1.0.0" }),
            compiler: Compiler {
                release: "1.95.0".to_owned(),
                commit: Some("4567".to_owned()),
                host: "x86_64-unknown-linux-gnu".to_owned(),
            },
            commit: Some("0123".to_owned()),
            lock: b"lock".to_vec(),
            crates: &[Pin {
                name: "tokio".to_owned(),
                version: "1.0.0".to_owned(),
                hashes: vec!["00ff".to_owned()],
            }],
        };
        assert_eq!(
            sources.statement(&[("function-c5c3.xpkg", b"package")]),
            json!({
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [{
                    "name": "function-c5c3.xpkg",
                    "digest": { "sha256": sha256(b"package") },
                }],
                "predicateType": "https://slsa.dev/provenance/v1",
                "predicate": {
                    "buildDefinition": {
                        "buildType": "https://c5c3.io/build/xtask-package/v1",
                        "externalParameters": { "version": "v1.0.0" },
                        "internalParameters": { "host": "x86_64-unknown-linux-gnu" },
                        "resolvedDependencies": [
                            { "name": "source", "digest": { "gitCommit": "0123" } },
                            { "name": "Cargo.lock", "digest": { "sha256": sha256(b"lock") } },
                            {
                                "name": "rustc",
                                "uri": "pkg:generic/rustc@1.95.0",
                                "digest": { "gitCommit": "4567" },
                            },
                            { "uri": "pkg:cargo/tokio@1.0.0", "digest": { "sha256": "00ff" } },
                        ],
                    },
                    "runDetails": { "builder": { "id": "https://example.com/builder" } },
                },
            })
        );
    }
}
