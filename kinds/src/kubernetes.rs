//! Kubernetes' own kinds, as far as claims compose them: those of k8s-openapi write their fields in another order.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::kind::kinds;
use crate::{ResourceKind, Spec};

kinds! { Spec "" "v1":
    ResourceQuota "ResourceQuota" "resourcequotas",
    LimitRange "LimitRange" "limitranges",
}

/// Spec of a Namespace, of which nothing is composed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Namespace {}

impl Spec for Namespace {
    const KIND: ResourceKind = ResourceKind::cluster_scoped("", "v1", "Namespace", "namespaces");
}

/// Spec of a ResourceQuota.
#[derive(Clone, Debug, Serialize)]
pub struct ResourceQuota {
    /// The most of each resource that a namespace may have, for instance `requests.cpu`.
    pub hard: BTreeMap<String, String>,
}

/// Spec of a LimitRange.
#[derive(Clone, Debug, Serialize)]
pub struct LimitRange {
    /// What counts for objects of one type.
    pub limits: [Limit; 1],
}

/// What counts for objects of one type in a namespace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limit {
    /// `Container`.
    #[serde(rename = "type")]
    pub type_: &'static str,
    /// What a container requests that states no requests, by resource.
    pub default_request: BTreeMap<String, String>,
}
