//! The addresses of hosts, and those that no request is sent to.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

/// The names of hosts that services are found by, with their addresses; none: those that the system knows.
pub(crate) type Addresses = BTreeMap<String, Vec<IpAddr>>;

/// An address at which no server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no request is sent to {0}, because it is a link-local, multicast or unspecified address: correct the address of \
     the server's host, or the server's URL where a clouds.yaml has it"
)]
pub(crate) struct ForbiddenAddress(IpAddr);

/// Fails for link-local addresses, where clouds have their metadata services, and for those that aren't of one server. Loopback
/// addresses are allowed: all that an operator's pod serves there is its health and its metrics.
pub(crate) fn check(address: IpAddr) -> Result<(), ForbiddenAddress> {
    let is_forbidden = match address.to_canonical() {
        IpAddr::V4(v4) => {
            v4.is_link_local() || v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast()
        }
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unspecified() || v6.is_multicast(),
    };
    match is_forbidden {
        true => Err(ForbiddenAddress(address)),
        false => Ok(()),
    }
}

/// Fails if the host of a URL is such an address itself. The connector resolves no addresses.
pub(crate) fn check_host(host: &str) -> Result<(), ForbiddenAddress> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse().map_or(Ok(()), check)
}

/// Resolves the names of hosts. The connector connects to the addresses that are checked here.
#[derive(Clone)]
pub(crate) struct Resolver(Option<Arc<Addresses>>);

impl Resolver {
    /// Resolves names to these addresses alone, if there are any.
    pub(crate) fn new(addresses: Addresses) -> Self {
        Self(Some(addresses).filter(|all| !all.is_empty()).map(Arc::new))
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    // The port comes from the URL.
    fn call(&mut self, name: Name) -> Self::Future {
        let known = self.0.clone();
        async move {
            let found: Vec<SocketAddr> = match known {
                None => tokio::net::lookup_host((name.as_str(), 0)).await?.collect(),
                Some(known) => {
                    let addresses = known.get(name.as_str()).ok_or_else(|| {
                        io::Error::other(
                            "the control plane reports no address of it for hypervisors",
                        )
                    })?;
                    addresses.iter().map(|ip| SocketAddr::new(*ip, 0)).collect()
                }
            };
            for address in &found {
                check(address.ip()).map_err(io::Error::other)?;
            }
            Ok(found.into_iter())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_no_servers_address_are_refused() {
        for host in [
            "169.254.169.254",
            "[fe80::a9fe:a9fe]",
            "[::ffff:169.254.169.254]",
            "0.0.0.0",
            "[::]",
            "224.0.0.1",
            "[ff02::1]",
            "255.255.255.255",
        ] {
            let message = check_host(host).err().map(|error| error.to_string());
            assert!(
                message
                    .is_some_and(|text| text.contains("correct the address of the server's host")),
                "{host}"
            );
        }
        for host in [
            "127.0.0.1",
            "[::1]",
            "10.96.0.10",
            "[fd00::1]",
            "192.0.2.1",
            "keystone.example",
        ] {
            assert_eq!(check_host(host), Ok(()), "{host}");
        }
    }

    /// The system reads more spellings of an address than a URL's host is compared with.
    #[tokio::test]
    async fn addresses_are_checked_after_their_names_are_resolved() {
        let metadata = "169.254.169.254".parse().unwrap();
        let known = Addresses::from([("keystone".to_owned(), vec![metadata])]);
        for (resolver, name) in [
            (Resolver::new(known), "keystone"),
            (Resolver::new(Addresses::new()), "2852039166"),
            (Resolver::new(Addresses::new()), "0xa9fea9fe"),
        ] {
            let refusal = { resolver }.call(name.parse().unwrap()).await;
            let message = refusal.err().map(|error| error.to_string());
            assert_eq!(
                message,
                Some(ForbiddenAddress(metadata).to_string()),
                "{name}"
            );
        }
    }
}
