//! The cache of a service.

use c5c3_api::parts::{Cache, CacheBackend};
use k8s_openapi::api::apps::v1::StatefulSet;
use provider_composer::{Lookup, ObservedState, Progress, Reason};

use crate::awaited::Awaited;
use crate::config::Section;
use crate::service::Service;

/// The Memcached of a control plane.
pub(crate) const MEMCACHED: &str = "openstack-memcached";
/// Memcached's port.
const PORT: u16 = 11211;

/// Returns the servers of a cache, each `host:port`. Clients choose a server by the hash of the key, so each member is listed by its
/// own name.
///
/// # Errors
/// The StatefulSet doesn't exist yet.
pub fn cache(
    service: &Service<'_>,
    cache: &Cache,
    observed: &ObservedState<'_>,
) -> Awaited<Vec<String>> {
    if !cache.servers.is_empty() {
        let servers = cache.servers.iter().map(|server| match server.port() {
            Some(_) => server.to_string(),
            None => format!("{server}:{PORT}"),
        });
        return Ok(servers.collect());
    }
    let name = cache
        .cluster_ref
        .as_ref()
        .map_or(MEMCACHED, |cluster| &cluster.name);
    match observed.get::<StatefulSet>(service.namespace, name) {
        Lookup::Found(set) => {
            let spec = set.body.spec;
            let headless = spec.service_name.unwrap_or_else(|| name.to_owned());
            let members = 0..spec.replicas.unwrap_or(1);
            Ok(members
                .map(|member| {
                    format!(
                        "{name}-{member}.{headless}.{}.svc:{PORT}",
                        service.namespace
                    )
                })
                .collect())
        }
        Lookup::Missing => Err(Progress::waiting(
            Reason::WaitingFor("Cache"),
            format!("waits for StatefulSet {name}"),
        )),
        Lookup::Unknown(message) => Err(Progress::Unknown { message }),
    }
}

/// Configures a service's cache
/// (<https://docs.openstack.org/oslo.cache/latest/configuration/>).
pub fn configure(section: &mut Section, wanted: CacheBackend, servers: &[String]) {
    let servers = servers.iter().map(|server| match wanted {
        CacheBackend::Memcached | CacheBackend::Pool => for_python_memcached(server),
        CacheBackend::Pymemcache | CacheBackend::Bmemcached => server.clone(),
    });
    section
        .set("enabled", true)
        .set("backend", backend(wanted))
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

/// A server as python-memcached takes it, which keystonemiddleware uses too. It needs `inet6:` before an IPv6 address in brackets
/// (python-memcached 1.62, memcache.py, `_Host`); pymemcache and python-binary-memcached take the brackets alone.
pub(crate) fn for_python_memcached(server: &str) -> String {
    match server.starts_with('[') {
        true => format!("inet6:{server}"),
        false => server.to_owned(),
    }
}

fn backend(backend: CacheBackend) -> &'static str {
    match backend {
        CacheBackend::Pymemcache => "dogpile.cache.pymemcache",
        CacheBackend::Memcached => "dogpile.cache.memcached",
        CacheBackend::Bmemcached => "dogpile.cache.bmemcached",
        CacheBackend::Pool => "oslo_cache.memcache_pool",
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
        let given = ["[2001:db8::1]:11211", "cache-0:11211"].map(str::to_owned);
        let mut config = Config::default();
        configure(config.section("cache"), backend, &given);
        let line = format!("\nmemcache_servers = {servers}\n");
        let file = config.masked();
        assert!(file.contains(&line), "{file}");
    }
}
