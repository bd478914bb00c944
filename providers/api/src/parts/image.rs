//! Container images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{is_default, reference::NamedRef};

/// A registry with its port and a path in it, or some of these.
pub(crate) const REPOSITORY: &str = r"^[a-z0-9]([-._a-zA-Z0-9]*)(:[0-9]+)?(/[-._a-z0-9]+)*$";

/// A container image. What is left out follows from the release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Image {
    /// Registry and name, for instance ghcr.io/openstack-control-planes/nova.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = REPOSITORY))]
    pub repository: Option<String>,
    /// Version, for instance 32.1.0, 32.1.0-p1, stable-2025.2 or a commit. The release is read from it where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 128),
        regex(pattern = r"^[a-zA-Z0-9_][-._a-zA-Z0-9]*$")
    )]
    pub tag: Option<String>,
    /// Digest, sha256: and 64 hexadecimal digits. It wins over the tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 71), regex(pattern = r"^sha256:[a-f0-9]{64}$"))]
    pub digest: Option<String>,
    /// When nodes pull the image. Without it as Kubernetes does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<PullPolicy>,
    /// Secrets with the registry's credentials.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(max = 8))]
    pub pull_secrets: Vec<NamedRef>,
    /// The fork that the image contains, where it isn't upstream's code. Some options exist in a fork only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
}

/// When nodes pull an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PullPolicy {
    /// Each time a container starts.
    Always,
    /// Where the node lacks it.
    IfNotPresent,
    /// Not at all: the node has it.
    Never,
}

/// A fork of an OpenStack service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fork {
    /// SAP's (<https://github.com/sapcc>); its Nova asks an external scheduler.
    Sap,
}
