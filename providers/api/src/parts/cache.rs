//! The cache of a service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{host::HostPort, is_default, reference::NamedRef};
use crate::rule::Rule;

pub(crate) const ONE_CACHE: Rule = Rule::new(
    "!has(self.clusterRef) || !has(self.servers)",
    "clusterRef and servers both name the cache: give clusterRef for one in this cluster, or servers for any other",
);

/// Where a service keeps what it would otherwise compute or ask again.
///
/// With neither clusterRef nor servers, the Memcached of the same control plane is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [ONE_CACHE]))]
pub struct Cache {
    /// The Memcached StatefulSet, in the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<NamedRef>,
    /// Members of an external Memcached, each host:port.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(length(min = 1, max = 16))]
    pub servers: Vec<HostPort>,
    /// How oslo.cache speaks to Memcached.
    pub backend: CacheBackend,
}

/// The backends of oslo.cache that speak to Memcached
/// (<https://docs.openstack.org/oslo.cache/latest/configuration/>).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CacheBackend {
    /// Pymemcache, the one that oslo.cache recommends with TLS.
    #[default]
    #[serde(rename = "dogpile.cache.pymemcache")]
    Pymemcache,
    /// Python-memcached.
    #[serde(rename = "dogpile.cache.memcached")]
    Memcached,
    /// Python-binary-memcached, which can authenticate.
    #[serde(rename = "dogpile.cache.bmemcached")]
    Bmemcached,
    /// Python-memcached behind a pool of connections.
    #[serde(rename = "oslo_cache.memcache_pool")]
    Pool,
}
