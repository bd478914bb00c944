//! Copies labels of nodes to the pods on them, so that pods can read where they are.
//!
//! A webhook labels a pod while it is bound. A controller labels the pods that the webhook missed, and follows nodes whose labels
//! change. `labels`, `state` and `review` are pure; `cluster` alone talks to the API server. Replicas need no leader: a label that a
//! pod has is not written again.

mod cluster;
mod controller;
mod labels;
mod metrics;
mod review;
mod state;
#[cfg(test)]
mod testing;
mod webhook;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use c5c3_process::tls::{Clients, Connections, Credentials, TlsError};
use c5c3_process::{Answer, ListenError, listen, pages, serve, stop_signal};
use kube::Client;
use prometheus_client::registry::Registry;
use provider_runtime::RunError;
use tokio::runtime;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::metrics::{Metrics, Source};
use crate::state::{Change, State};
use crate::webhook::router;

pub use crate::labels::KEYS;

/// Where the webhook is served.
pub const DEFAULT_WEBHOOK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8443);

/// The options of a labels injector.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kubeconfig; none: `KUBECONFIG`, `~/.kube/config`, or the cluster that the process runs in.
    pub kubeconfig: Option<PathBuf>,
    /// Where the webhook is served.
    pub webhook: SocketAddr,
    /// The folder with tls.crt and tls.key of the webhook, read again when they change.
    pub certificates: PathBuf,
    /// For `/healthz`, `/readyz` and `/metrics`; none: not served.
    pub address: Option<SocketAddr>,
}

/// Why labels aren't copied.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cluster isn't known.
    #[error(transparent)]
    Cluster(#[from] RunError),
    /// The webhook's certificate can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A port can't be opened.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The operating system refuses what is needed.
    #[error(transparent)]
    System(#[from] std::io::Error),
}

/// What webhook and controller share.
#[derive(Clone)]
pub(crate) struct Shared {
    client: Client,
    state: Arc<Mutex<State>>,
    is_ready: Arc<AtomicBool>,
    metrics: Metrics,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    /// Gives a pod its labels within a time limit. A failure is counted and logged; the controller tries again.
    async fn apply(&self, source: Source, change: &Change, limit: Duration) {
        let applied = timeout(limit, cluster::apply(&self.client, change)).await;
        self.metrics.count(source, matches!(applied, Ok(Ok(()))));
        let (namespace, pod) = (&change.pod.namespace, &change.pod.name);
        match applied {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                warn!(namespace, pod, %error, "the pod cannot be labelled; it is tried again");
            }
            Err(_) => warn!(
                namespace,
                pod, "the API server doesn't answer in time; the pod is labelled later"
            ),
        }
    }
}

/// Serves the webhook and follows nodes and pods until SIGTERM or SIGINT.
///
/// # Errors
/// As [`run_until`], and when the operating system gives no thread.
pub fn run(options: &Options) -> Result<(), Error> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { run_until(options, stop_signal()?).await })
}

/// Serves the webhook and follows nodes and pods until `shutdown`.
///
/// # Errors
/// The cluster isn't known, the certificate can't be used, or a port can't be opened.
pub async fn run_until(options: &Options, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    let client = provider_runtime::client(options.kubeconfig.as_deref()).await?;
    let credentials = Credentials::read(&options.certificates, Clients::Any)?;
    let (listener, address) = listen("the webhook", options.webhook).await?;
    let health_listener = match options.address {
        Some(address) => Some(listen("health and metrics", address).await?.0),
        None => None,
    };
    let mut registry = Registry::default();
    let shared = Shared {
        client,
        state: Arc::default(),
        is_ready: Arc::default(),
        metrics: Metrics::new(&mut registry),
    };
    info!(%address, "serving");
    let connections = Connections::accept(listener, address, credentials.current());
    let is_ready = Arc::clone(&shared.is_ready);
    let health = async {
        let Some(listener) = health_listener else {
            return std::future::pending().await;
        };
        let page = move |path: &str| match path {
            "/healthz" => Answer::Text("ok\n".to_owned()),
            "/readyz" if is_ready.load(Ordering::Relaxed) => Answer::Text("ok\n".to_owned()),
            "/readyz" => Answer::Unavailable("nodes and pods aren't read yet\n".to_owned()),
            "/metrics" => c5c3_process::metrics(&registry),
            _ => Answer::NotFound,
        };
        serve(listener, pages(page)).await;
    };
    tokio::select! {
        () = serve(connections, router(shared.clone())) => {}
        () = credentials.follow() => {}
        () = controller::follow(&shared) => {}
        () = health => {}
        () = shutdown => {}
    }
    info!("stopping");
    Ok(())
}
