//! A read-only web page of claims, pools, nodes and storage, with the rights of its viewer.
//!
//! `request` is which page is asked for, `parts` what is on it, `read` lists that, `tables` and `pages` draw it, and `server` answers. Only
//! `read` talks to the API server; drawing is pure.

mod cache;
mod cells;
mod frame;
mod pages;
mod parts;
mod read;
mod request;
mod server;
mod tables;

use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use c5c3_live::{Access, Cluster};
use c5c3_process::tls::{Clients, Connections, Credentials, TlsError};
use c5c3_process::{Answer, ListenError, listen, pages, serve, stop_signal};
use prometheus_client::registry::Registry;
use provider_composer::ResourceKind;
use tokio::net::TcpListener;
use tracing::info;

use crate::server::{Dashboard, Viewers};

/// Where the dashboard is served.
pub const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT);
const DEFAULT_PORT: u16 = 8090;

/// The options of a dashboard.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cluster.
    pub access: Access,
    /// Whether each viewer sends a token, with whose rights the cluster is read. Otherwise it is read with the kubeconfig's.
    pub per_viewer: bool,
    /// Where the dashboard is served.
    pub address: SocketAddr,
    /// The folder with tls.crt and tls.key, read again when they change; none: without TLS.
    pub certificates: Option<PathBuf>,
    /// For `/healthz`, `/readyz` and `/metrics`; none: not served.
    pub metrics_address: Option<SocketAddr>,
}

/// Why there is no dashboard.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Others would see what the kubeconfig's user may see.
    #[error(
        "others can connect to {0} and would see whatever the kubeconfig's user may list: choose a loopback address such as \
         127.0.0.1:{port}, or add --per-viewer",
        port = .0.port()
    )]
    Exposed(SocketAddr),
    /// Tokens would be sent unencrypted.
    #[error(
        "viewers would send their tokens to {0} unencrypted: add --tls-certs-dir, or choose a loopback address that only an \
         authenticating proxy connects to"
    )]
    Unencrypted(SocketAddr),
    /// The cluster isn't known.
    #[error(transparent)]
    Cluster(#[from] c5c3_live::Error),
    /// The certificate can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A port can't be opened.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The operating system refuses what is needed.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl Options {
    /// Whether viewers see only what they may list, and no token is sent unencrypted.
    fn check(&self) -> Result<(), Error> {
        match (self.address.ip().is_loopback(), self.per_viewer) {
            (true, _) => Ok(()),
            (false, false) => Err(Error::Exposed(self.address)),
            (false, true) if self.certificates.is_none() => Err(Error::Unencrypted(self.address)),
            (false, true) => Ok(()),
        }
    }
}

/// The kinds that a dashboard lists. A viewer who may list them sees everything.
pub fn kinds() -> Vec<ResourceKind> {
    let tables = tables::ALL.iter().map(|table| table.kind);
    let mut kinds: Vec<ResourceKind> = tables.chain(parts::KINDS).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Serves a dashboard until SIGTERM or SIGINT.
///
/// # Errors
/// The options would show too much, the cluster isn't known, the certificate can't be used, or a port can't be opened.
pub async fn run(options: &Options) -> Result<(), Error> {
    options.check()?;
    let shutdown = stop_signal()?;
    let (cluster, viewers) = match options.per_viewer {
        true => (Cluster::anonymous(&options.access).await?, Viewers::Bearers),
        false => (Cluster::reach(&options.access).await?, Viewers::Own),
    };
    let mut registry = Registry::default();
    let dashboard = Dashboard::new(cluster, viewers, &mut registry);
    let credentials = options.certificates.as_deref();
    let credentials = credentials.map(|folder| Credentials::read(folder, Clients::Any));
    let credentials = credentials.transpose()?;
    let (listener, address) = listen("the dashboard", options.address).await?;
    let metrics = match options.metrics_address {
        Some(address) => Some(listen("health and metrics", address).await?.0),
        None => None,
    };
    let scheme = credentials.as_ref().map_or("http", |_| "https");
    info!(url = format!("{scheme}://{address}/"), "serving");
    tokio::select! {
        () = served(listener, address, credentials, server::router(Arc::new(dashboard))) => {}
        () = measured(metrics, registry) => {}
        () = shutdown => {}
    }
    info!("stopping");
    Ok(())
}

async fn served(
    listener: TcpListener,
    address: SocketAddr,
    credentials: Option<Credentials>,
    router: Router,
) {
    let Some(credentials) = credentials else {
        return serve(listener, router).await;
    };
    let connections = Connections::accept(listener, address, credentials.current());
    tokio::select! {
        () = serve(connections, router) => {}
        () = credentials.follow() => {}
    }
}

async fn measured(listener: Option<TcpListener>, registry: Registry) {
    let Some(listener) = listener else {
        return pending().await;
    };
    let page = move |path: &str| match path {
        "/healthz" | "/readyz" => Answer::Text("ok\n".to_owned()),
        "/metrics" => c5c3_process::metrics(&registry),
        _ => Answer::NotFound,
    };
    serve(listener, pages(page)).await;
}

#[cfg(test)]
mod tests;
