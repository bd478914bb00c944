//! ShootKubeconfig: a Secret with a kubeconfig of one of Gardener's clusters, replaced before it expires.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Condition,
    custom_resource::CustomResource,
    kind::{Column, Kind},
    list,
    parts::{is_default, number},
    pattern::{KEY, LABEL, NAME},
    rule::Rule,
};

const TARGET_IS_NOT_THE_GARDENS: Rule = Rule::new(
    "self.garden.name != self.target.name",
    "the target is the Secret with the kubeconfig of Gardener's API: give the target a name of its own",
);

const TARGET_STAYS: Rule = Rule::immutable(
    "target can't be changed: create another ShootKubeconfig, and delete this one once nothing uses its Secret",
);

/// Which kubeconfig is requested, and where it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [TARGET_IS_NOT_THE_GARDENS]))]
pub struct ShootKubeconfigSpec {
    /// The kubeconfig of Gardener's API, of a user who may create the subresource adminkubeconfig, or viewerkubeconfig, of the Shoot.
    pub garden: KubeconfigKey,
    /// The cluster.
    pub shoot: ShootRef,
    /// What the kubeconfig allows in the cluster.
    #[serde(default)]
    pub role: ShootRole,
    /// Seconds that a kubeconfig is requested for. Gardener shortens it to what its API server allows, by default a day.
    #[serde(default = "number::<86_400>")]
    #[schemars(range(min = 600, max = 2_592_000))]
    pub expiration_seconds: u32,
    /// The Secret that gets the kubeconfig.
    #[schemars(extend("x-kubernetes-validations" = [TARGET_STAYS]))]
    pub target: KubeconfigKey,
}

/// A kubeconfig in a Secret of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KubeconfigKey {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME))]
    pub name: String,
    /// Key of the kubeconfig. Flux looks for `value`.
    #[serde(default = "kubeconfig")]
    #[schemars(length(min = 1, max = 253), regex(pattern = KEY))]
    pub key: String,
}

fn kubeconfig() -> String {
    "kubeconfig".to_owned()
}

/// A Shoot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShootRef {
    /// Namespace of Gardener's project, for instance garden-c5c3.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub namespace: String,
    /// Name of the Shoot.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub name: String,
}

/// What a kubeconfig allows in its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ShootRole {
    /// Everything.
    #[default]
    Admin,
    /// To read everything but Secrets.
    Viewer,
}

impl Kind for ShootKubeconfigSpec {
    type Status = ShootKubeconfigStatus;
    const DESCRIPTION: &'static str =
        "A Secret with a kubeconfig of one of Gardener's clusters, replaced before it expires.";
    const GROUP: &'static str = "gardener.c5c3.io";
    const KIND: &'static str = "ShootKubeconfig";
    const PLURAL: &'static str = "shootkubeconfigs";
    const SHORT_NAME: &'static str = "skc";
    const COLUMNS: &'static [Column] = &[
        Column::new("Shoot", "string", ".spec.shoot.name"),
        Column::new("Secret", "string", ".spec.target.name"),
        Column::new("Expires", "string", ".status.expires"),
    ];
}

impl CustomResource for ShootKubeconfigSpec {}

/// What the kubeconfig-operator says of the kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ShootKubeconfigStatus {
    /// Ready is True while the Secret has a kubeconfig that isn't due for renewal.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(transform = list::by_type)]
    pub conditions: Vec<Condition>,
    /// When the kubeconfig in the Secret expires, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub expires: Option<String>,
    /// When the next one will be requested, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub next_renewal: Option<String>,
}
