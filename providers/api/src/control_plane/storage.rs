//! The storage pools that a control plane consumes, as its services see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{parts::NamedRef, pattern::LABEL, rule};

/// The storage pools of a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Storage {
    /// Names of the pools; images and ephemeral disks live in the first, and each becomes a volume type.
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 63), regex(pattern = LABEL)),
        extend("x-kubernetes-validations" = [rule::UNIQUE])
    )]
    pub storage_clusters: Vec<String>,
    /// What the services find in Ceph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceph: Option<ControlPlaneCeph>,
}

/// Ceph as the services of one control plane see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControlPlaneCeph {
    /// The RBD pools by purpose.
    pub pools: CephPoolNames,
    /// The filesystem for shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<NamedRef>,
    /// The object store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_store: Option<NamedRef>,
    /// Ceph users, each with the Secret in the control plane's namespace that holds its key.
    #[schemars(length(max = 64))]
    pub clients: Vec<CephClientRef>,
}

/// Names of the RBD pools of one control plane, the same in every storage pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CephPoolNames {
    /// Cinder's volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub volumes: Option<String>,
    /// Glance's images.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub images: Option<String>,
    /// Nova's ephemeral disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub ephemeral: Option<String>,
}

/// A Ceph user of one service in one storage pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CephClientRef {
    /// The OpenStack service: cinder, glance, nova or manila; backup for cinder-backup.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub service: String,
    /// The storage pool whose Ceph knows the user.
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL))]
    pub storage_cluster: String,
    /// The user's name, without the prefix client.
    #[schemars(length(min = 1, max = 128))]
    pub user: String,
    /// Secret with `userID`, `userKey`, `keyring` and `ceph.conf`.
    pub secret_ref: NamedRef,
}
