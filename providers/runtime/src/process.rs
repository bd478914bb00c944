//! A process that runs operators.

use std::path::Path;
use std::time::Duration;

use c5c3_process::stop_signal;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt;
use kube::{Client, Config};
use provider_composer::Operator;
use tokio::runtime;
use tower::{BoxError, ServiceBuilder};

use crate::driver::Driver;
use crate::kubeconfig::{plugin, redacting};
use crate::{ClusterConfig, Options, RunError, run_until};

/// How long threads may take to end after shutdown.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// TCP keepalive: the idle time before the first probe, the interval, and the number of unanswered probes after which a
/// connection is lost.
const KEEPALIVE: Duration = Duration::from_secs(30);
const PROBE: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

/// How long an idle connection is kept at least. Reconciles leave up to some thirty, each with its buffers, and the API server keeps them
/// for minutes.
const IDLE: Duration = Duration::from_secs(10);

/// Runs operators until SIGTERM or SIGINT.
///
/// # Errors
/// As [`run_until`], and when it isn't known which cluster is meant or the operating system gives no threads.
pub fn run(
    operators: Vec<Box<dyn Operator>>,
    drivers: Vec<Box<dyn Driver>>,
    options: &Options,
) -> Result<(), RunError> {
    // Reconciles run in this thread; the other one serves connections, health checks among them.
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        let stopped = stop_signal()?;
        let client = client(options.kubeconfig.as_deref()).await?;
        run_until(operators, drivers, client, options, stopped).await
    });
    runtime.shutdown_timeout(LAST_THREADS);
    result
}

/// A client of the cluster that a kubeconfig names; without one of `KUBECONFIG`, `~/.kube/config`, or the cluster that the process
/// runs in.
///
/// # Errors
/// It isn't known which cluster is meant.
pub async fn client(kubeconfig: Option<&Path>) -> Result<Client, RunError> {
    let cluster = match kubeconfig {
        Some(_) => ClusterConfig::read(kubeconfig, None).await?,
        None => ClusterConfig::infer().await?,
    };
    Ok(cluster.build(with_keepalive)?)
}

/// Returns kube's client with TCP keepalive: a watch may be silent for minutes, and without probes a lost connection
/// would never be noticed. Idle connections are closed.
fn with_keepalive(config: Config) -> kube::Result<Client> {
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    // Otherwise a handshake of TLS waits 40 ms for an acknowledgement that the API server delays.
    http.set_nodelay(true);
    http.set_keepalive(Some(KEEPALIVE));
    http.set_keepalive_interval(Some(PROBE));
    http.set_keepalive_retries(Some(PROBES));
    let https = config.rustls_https_connector_with_connector(http)?;
    let mut client = Http::builder(TokioExecutor::new());
    client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .map_err(redacting(plugin(&config.auth_info)))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client.build(https));
    Ok(Client::new(service, config.default_namespace))
}

#[cfg(test)]
mod tests {
    use std::fs::read_to_string;

    use futures::future::join;
    use hyper::Request;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    /// The state of an open connection in `/proc/self/net/tcp`.
    const ESTABLISHED: &str = "01";
    /// The timer there of a connection whose last bytes the other end hasn't acknowledged.
    const UNACKNOWLEDGED: &str = "01:";

    #[tokio::test]
    async fn client_probes_idle_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}").parse().unwrap();
        let client = with_keepalive(Config::new(url)).unwrap();
        let request = tokio::spawn(async move { client.apiserver_version().await.map(drop) });
        let (connection, _) = listener.accept().await.unwrap();
        connection.readable().await.unwrap();
        let remote = format!("0100007F:{port:04X}");
        let columns = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let look = || {
            let table = read_to_string("/proc/self/net/tcp").unwrap();
            let mut connections = table.lines().map(columns);
            // Connections to an earlier server of this port are listed for a minute after their end.
            let ours = connections
                .find(|columns| columns.get(2) == Some(&remote) && columns[3] == ESTABLISHED);
            ours.unwrap()
        };
        let mut ours = look();
        while ours[5].starts_with(UNACKNOWLEDGED) {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ours = look();
        }
        // The timer: 2 is keepalive's, and in hexadecimal hundredths of a second it has to go.
        let (timer, left) = ours[5].split_once(':').unwrap();
        let left = u64::from_str_radix(left, 16).unwrap();
        assert!(
            timer == "02" && left <= KEEPALIVE.as_secs() * 100,
            "{ours:?}"
        );
        request.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn client_closes_idle_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let client = with_keepalive(Config::new(url.parse().unwrap())).unwrap();
        let answer = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            assert!(connection.read(&mut [0; 4096]).await.unwrap() > 0);
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            connection.write_all(response).await.unwrap();
            connection
        };
        let request = Request::get("/").body(Vec::new()).unwrap();
        let (mut connection, answered) = join(answer, client.request_text(request)).await;
        assert_eq!(answered.unwrap(), "{}");
        let mut rest = [0; 1];
        let closed = timeout(IDLE * 4, connection.read(&mut rest)).await;
        assert_eq!(closed.unwrap().unwrap(), 0);
    }
}
