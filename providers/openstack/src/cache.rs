//! The cache of a service.

use c5c3_api::parts::{Cache, CacheBackend, HostPort, name_of};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Service as KubernetesService;
use provider_composer::{Progress, Reason};

use crate::config::Section;
use crate::graph::MEMCACHED;
use crate::host::in_url;
use crate::prerequisite::Prerequisite;
use crate::service::Service;

/// Memcached's port.
const PORT: u16 = 11211;

/// A server of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheServer {
    /// The name or the address, an IPv6 one without its brackets.
    host: String,
    port: u16,
    /// Whether it has addresses of IPv6 only.
    is_ipv6: bool,
}

impl CacheServer {
    /// `host:port` with brackets around an IPv6 address, as pymemcache and python-binary-memcached take it. Pymemcache resolves names to
    /// addresses of both families (pymemcache 4.0, client/base.py, `_connect`).
    fn plain(&self) -> String {
        format!("{}:{}", in_url(&self.host), self.port)
    }

    /// The server as python-memcached takes it, which keystonemiddleware uses too. It connects by IPv4 unless `inet6:` stands before the
    /// address, or the name, in brackets (python-memcached 1.62, memcache.py, `_Host`).
    pub(crate) fn for_python_memcached(&self) -> String {
        match self.is_ipv6 {
            true => format!("inet6:[{}]:{}", self.host, self.port),
            false => self.plain(),
        }
    }
}

impl From<&HostPort> for CacheServer {
    fn from(server: &HostPort) -> Self {
        Self {
            host: server.host().to_owned(),
            port: server.port().unwrap_or(PORT),
            is_ipv6: server.host().contains(':'),
        }
    }
}

/// Returns the servers of a cache. Clients choose a server by the hash of the key, so each member is listed by its own name.
///
/// # Errors
/// The StatefulSet doesn't exist yet.
pub fn cache(service: &Service<'_>, cache: &Cache) -> Prerequisite<Vec<CacheServer>> {
    if !cache.servers.is_empty() {
        return Ok(cache.servers.iter().map(CacheServer::from).collect());
    }
    let name = cache
        .cluster_ref
        .as_ref()
        .map_or(MEMCACHED, |cluster| &cluster.name);
    let set = service.body::<StatefulSet>(name);
    let waiting = || {
        let message = format!("waits for StatefulSet {name}");
        Progress::waiting(Reason::WaitingFor("Cache"), message)
    };
    let set = set.required(waiting)?.spec;
    let headless = set.service_name.unwrap_or_else(|| name.to_owned());
    // The API server writes the families of a Service, by which the names of its pods have addresses.
    let headless_service = service.body::<KubernetesService>(&headless);
    let families = headless_service
        .known()
        .map_err(Progress::unknown)?
        .and_then(|found| found.spec?.ip_families);
    let is_ipv6 = families.is_some_and(|families| families == ["IPv6"]);
    let members = 0..set.replicas.unwrap_or(1);
    Ok(members
        .map(|member| CacheServer {
            host: format!("{name}-{member}.{headless}.{}.svc", service.namespace),
            port: PORT,
            is_ipv6,
        })
        .collect())
}

/// Configures a service's cache
/// (<https://docs.openstack.org/oslo.cache/latest/configuration/>).
pub fn configure(section: &mut Section, wanted: CacheBackend, servers: &[CacheServer]) {
    let servers = servers.iter().map(|server| match wanted {
        CacheBackend::Memcached | CacheBackend::Pool => server.for_python_memcached(),
        CacheBackend::Pymemcache | CacheBackend::Bmemcached => server.plain(),
    });
    section
        .set("enabled", true)
        .set("backend", name_of(wanted))
        .list("memcache_servers", servers);
    if wanted == CacheBackend::Pymemcache {
        // Without a retry, a request fails if a server is unavailable; with it, the lookup is a cache miss. No server is ever
        // marked as dead: if it is the only one, all requests would fail.
        section
            .set("enable_retry_client", true)
            .set("retry_attempts", 2)
            .set("hashclient_retry_attempts", u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[rstest::rstest]
    #[case(CacheBackend::Pymemcache, "[2001:db8::1]:11211,cache-0:11211")]
    #[case(CacheBackend::Bmemcached, "[2001:db8::1]:11211,cache-0:11211")]
    #[case(CacheBackend::Memcached, "inet6:[2001:db8::1]:11211,cache-0:11211")]
    #[case(CacheBackend::Pool, "inet6:[2001:db8::1]:11211,cache-0:11211")]
    fn cache_servers_are_written_as_the_client_takes_them(
        #[case] backend: CacheBackend,
        #[case] servers: &str,
    ) {
        let given = ["[2001:db8::1]:11211", "cache-0"]
            .map(|server| CacheServer::from(&server.parse::<HostPort>().unwrap()));
        let mut config = Config::default();
        configure(config.section("cache"), backend, &given);
        let line = format!("\nmemcache_servers = {servers}\n");
        let file = config.masked();
        assert!(file.contains(&line), "{file}");
    }
}
