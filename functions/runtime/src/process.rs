//! A process that does nothing but serve.

use std::sync::Arc;
use std::time::Duration;

use c5c3_process::stop_signal;
use function_protocol::Function;
use tokio::runtime;

use crate::{Options, ServeError, serve};

/// Threads that serve connections. A call takes well under a millisecond, so two keep up with any core and one still
/// answers health checks while the other is busy.
const WORKERS: usize = 2;

/// How long threads with large requests may take to end once the server has stopped.
const LAST_THREADS: Duration = Duration::from_secs(1);

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// As [`serve`], and when the operating system gives no threads.
pub fn run(function: Arc<dyn Function>, options: &Options) -> Result<(), ServeError> {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let stopped = stop_signal()?;
        serve(function, options, stopped).await
    });
    runtime.shutdown_timeout(LAST_THREADS);
    served
}
