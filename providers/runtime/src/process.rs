//! A process that does nothing but carry operators.

use std::time::Duration;

use c5c3_process::stop_signal;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use provider_composer::Operator;
use tokio::runtime;

use crate::driver::Driver;
use crate::{CarryError, Options, carry};

/// How long threads may take to end once all is done.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// Carries operators until SIGTERM or SIGINT.
///
/// # Errors
/// As [`carry`], and when it isn't known which cluster is meant or the operating system gives no threads.
pub fn run(
    operators: Vec<Box<dyn Operator>>,
    drivers: Vec<Box<dyn Driver>>,
    options: &Options,
) -> Result<(), CarryError> {
    // Turns are taken in this thread; the other one serves connections, health checks among them.
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let carried = runtime.block_on(async {
        let stopped = stop_signal()?;
        let client = Client::try_from(config(options).await?).map_err(CarryError::Client)?;
        carry(operators, drivers, client, options, stopped).await
    });
    runtime.shutdown_timeout(LAST_THREADS);
    carried
}

async fn config(options: &Options) -> Result<Config, CarryError> {
    let Some(path) = &options.kubeconfig else {
        return Config::infer()
            .await
            .map_err(|error| CarryError::Cluster(error.to_string()));
    };
    let unusable = |error: kube::config::KubeconfigError| {
        CarryError::Kubeconfig(path.display().to_string(), error.to_string())
    };
    let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(unusable)
}
