//! Claims, pools and resources of operators, read from files and folders.

mod files;
mod found;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub use self::files::{Place, documents, files};
use self::found::{Found, Skipped};
use crate::kind::ClaimKind;
use crate::manifest::Manifest;
use crate::resource::is_secret;

/// A claim or a pool, as its user wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// What it is.
    pub kind: ClaimKind,
    /// As written; a claim without a namespace is in `default`.
    pub manifest: Manifest,
}

/// What was found in files.
#[derive(Debug, Default)]
pub struct Files {
    /// Claims and pools, by kind and path: the order of the files doesn't matter.
    pub given: Vec<Given>,
    /// ControlPlanes and other resources of operators, given without a claim, and the Secrets that they read.
    pub resources: Vec<Manifest>,
    /// Shoots of running clusters.
    pub shoots: Vec<Manifest>,
    /// What was skipped, and why.
    pub skipped: Vec<String>,
}

/// Why files can't be used. Each line names the file and, where there is one, the document.
#[derive(Debug, Error)]
pub enum InputError {
    /// It isn't there, or may not be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A pipe, a socket or a device.
    #[error("{}: must be a regular file or a folder; `-` reads the standard input", .0.display())]
    NotAFile(PathBuf),
    /// A folder without YAML.
    #[error("{}: there is no .yaml, .yml or .json file in it", .0.display())]
    Empty(PathBuf),
    /// No document of a kind that can be planned.
    #[error(
        "there is nothing to plan: give files with an OpenStackCluster, ControlPlaneCluster, HypervisorCluster, \
         StorageCluster, ControlPlane or another resource that an operator reconciles{}",
        found(.0)
    )]
    Nothing(
        /// What was skipped, and why.
        Vec<String>,
    ),
    /// Malformed YAML.
    #[error("{place}: {message}")]
    Malformed {
        /// File and document.
        place: Place,
        /// What and where.
        message: String,
    },
    /// Documents that the API server would refuse; a line for each problem.
    #[error("{}", .0.join("\n"))]
    Refused(
        /// File, document, resource and problem.
        Vec<String>,
    ),
}

/// So much of what was skipped is named.
const NAMED: usize = 3;

fn found(skipped: &[String]) -> String {
    let named = skipped.iter().take(NAMED);
    let named: String = named.map(|skipped| format!("; {skipped}")).collect();
    match skipped.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// Reads claims, pools and resources from files, and from every YAML file in folders. `-` is the standard input.
///
/// # Errors
/// A file can't be read or isn't YAML, the API server would refuse something in it, or there is nothing to plan.
pub fn read(paths: &[PathBuf]) -> Result<Files, InputError> {
    let mut found = Found::default();
    for path in paths {
        for file in files(path)? {
            found.read(&file)?;
        }
    }
    if !found.refused.is_empty() {
        return Err(InputError::Refused(found.refused));
    }
    if found
        .resources
        .values()
        .all(|(manifest, _)| is_secret(manifest))
    {
        for (_, place) in std::mem::take(&mut found.resources).into_values() {
            found.skip(
                &place,
                "v1 Secret: given without a resource that reads it".to_owned(),
            );
        }
    }
    let skipped: Vec<String> = found.skipped.iter().map(Skipped::to_string).collect();
    if found.given.is_empty() && found.resources.is_empty() {
        return Err(InputError::Nothing(skipped));
    }
    Ok(Files {
        given: found
            .given
            .into_iter()
            .map(|((kind, _, _), (manifest, _))| Given { kind, manifest })
            .collect(),
        resources: found
            .resources
            .into_values()
            .map(|(manifest, _)| manifest)
            .collect(),
        shoots: found.shoots.into_values().map(|(shoot, _)| shoot).collect(),
        skipped,
    })
}
