//! The server: its ports, its services, its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use c5c3_process::{Answer, listen};
use function_protocol::Function;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tonic::transport::server::{Router, TcpIncoming};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tracing::{info, warn};

use crate::calls::Calls;
use crate::metrics::Metrics;
use crate::service::FunctionRunner;
use crate::service::v1::function_runner_service_server as v1;
use crate::service::v1beta1::function_runner_service_server as v1beta1;
use crate::{Options, ServeError, Tls};
use c5c3_process::tls::{Clients, Credentials, accept};

/// How long calls may take to finish once the server is told to stop. A call takes milliseconds.
const GRACE: Duration = Duration::from_secs(5);

/// A client that is gone without a word is noticed after this and [`KEEPALIVE_TIMEOUT`].
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Calls that one connection may have open. A core reconciles a few dozen composites at a time, and has its other calls wait; a client
/// that opens more gets no memory for them.
const MAX_STREAMS: u32 = 128;

/// A server with its ports open and its certificates read, not serving yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    metrics: Option<(TcpListener, SocketAddr)>,
    credentials: Option<Credentials>,
    max_message_bytes: usize,
}

/// Serves until `shutdown`; then health says NOT_SERVING and calls in flight get a few seconds to finish.
///
/// # Errors
/// As [`Server::bind`] and [`Server::serve`].
pub async fn serve(
    function: Arc<dyn Function>,
    options: &Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    Server::bind(options).await?.serve(function, shutdown).await
}

impl Server {
    /// Reads the certificates and opens the ports.
    ///
    /// # Errors
    /// A certificate file is missing or unusable, or a port is in use.
    pub async fn bind(options: &Options) -> Result<Self, ServeError> {
        let credentials = match &options.tls {
            Tls::Insecure => None,
            Tls::Directory(directory) => Some(Credentials::read(directory, Clients::Verified)?),
        };
        let (listener, address) = listen("the function", options.address).await?;
        let metrics = match options.metrics_address {
            Some(address) => Some(listen("metrics", address).await?),
            None => None,
        };
        Ok(Self {
            listener,
            address,
            metrics,
            credentials,
            max_message_bytes: options.max_message_bytes,
        })
    }

    /// Where the function protocol is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where metrics are served, if they are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|(_, address)| *address)
    }

    /// Serves until `shutdown`; then health says NOT_SERVING and calls in flight get a few seconds to finish.
    ///
    /// # Errors
    /// The gRPC server stopped by itself.
    pub async fn serve(
        self,
        function: Arc<dyn Function>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        info!(
            address = %self.address,
            metrics = self.metrics_address().map(tracing::field::display),
            tls = self.credentials.is_some(),
            "serving"
        );
        let mut registry = Registry::default();
        let calls = Arc::new(Calls::new(function, Metrics::new(&mut registry)));
        let (health, router) = services(calls, self.max_message_bytes).await?;
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { stopped.await.unwrap_or_default() };

        let grpc = async {
            match self.credentials {
                Some(credentials) => {
                    let connections = accept(self.listener, credentials.current());
                    tokio::select! {
                        served = router.serve_with_incoming_shutdown(connections, stopped) => served,
                        () = credentials.follow() => Ok(()),
                    }
                }
                None => {
                    let connections = TcpIncoming::from(self.listener).with_nodelay(Some(true));
                    router
                        .serve_with_incoming_shutdown(connections, stopped)
                        .await
                }
            }
        };
        let metrics = async {
            match self.metrics {
                Some((listener, _)) => {
                    let pages = move |path: &str| match path {
                        "/metrics" => c5c3_process::metrics(&registry),
                        _ => Answer::NotFound,
                    };
                    c5c3_process::serve(listener, c5c3_process::pages(pages)).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::pin!(grpc);
        tokio::pin!(metrics);

        tokio::select! {
            served = &mut grpc => return Ok(served?),
            () = &mut metrics => {}
            () = shutdown => {}
        }
        info!("stopping");
        report(&health, ServingStatus::NotServing).await;
        if stop.send(()).is_err() {
            return Ok(());
        }
        tokio::select! {
            served = timeout(GRACE, grpc) => match served {
                Ok(served) => Ok(served?),
                Err(_) => {
                    warn!(?GRACE, "stopped with connections still open");
                    Ok(())
                }
            },
            () = metrics => Ok(()),
        }
    }
}

async fn services(
    calls: Arc<Calls>,
    max_message_bytes: usize,
) -> Result<(HealthReporter, Router), ServeError> {
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(function_protocol::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let (health, health_service) = tonic_health::server::health_reporter();
    report(&health, ServingStatus::Serving).await;
    let runner = Arc::new(FunctionRunner(calls));
    let v1 = v1::FunctionRunnerServiceServer::from_arc(Arc::clone(&runner));
    let v1beta1 = v1beta1::FunctionRunnerServiceServer::from_arc(runner);
    let router = tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .max_concurrent_streams(MAX_STREAMS)
        .add_service(v1.max_decoding_message_size(max_message_bytes))
        .add_service(v1beta1.max_decoding_message_size(max_message_bytes))
        .add_service(health_service)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?);
    Ok((health, router))
}

/// Of the server, which has the empty name, and of both versions of the service.
async fn report(health: &HealthReporter, status: ServingStatus) {
    for service in ["", v1::SERVICE_NAME, v1beta1::SERVICE_NAME] {
        health.set_service_status(service, status).await;
    }
}
