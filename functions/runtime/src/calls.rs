//! One call: from a request to its response.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use function_protocol::v1::{RunFunctionRequest, RunFunctionResponse, Severity};
use function_protocol::{Fatal, Function, Request, Response, answer};
use prost::Message;
use tonic::Status;
use tracing::{debug, error, warn};

use crate::metrics::{Metrics, Outcome};

/// Requests larger than this leave the threads that serve connections, so that health checks don't wait for them. Smaller
/// ones take less than a few milliseconds, and changing threads would cost more than it gains.
const LARGE: usize = 1 << 20;

/// What Crossplane's client reads at most: gRPC's default, which it leaves alone.
const READ_BY_CROSSPLANE: usize = 4 << 20;

/// Answers calls.
pub(crate) struct Calls {
    function: Arc<dyn Function>,
    metrics: Metrics,
}

impl Calls {
    pub(crate) fn new(function: Arc<dyn Function>, metrics: Metrics) -> Self {
        Self { function, metrics }
    }

    pub(crate) async fn answer(
        self: Arc<Self>,
        version: &'static str,
        request: RunFunctionRequest,
    ) -> Result<RunFunctionResponse, Status> {
        let size = request.encoded_len();
        if size <= LARGE {
            return Ok(self.compose(version, size, request));
        }
        let composing = tokio::task::spawn_blocking(move || self.compose(version, size, request));
        composing
            .await
            .map_err(|stopped| Status::unavailable(format!("the function is stopping: {stopped}")))
    }

    fn compose(
        &self,
        version: &'static str,
        size: usize,
        request: RunFunctionRequest,
    ) -> RunFunctionResponse {
        let _in_flight = self.metrics.in_flight();
        let started = Instant::now();
        let (request, response) = Request::split(request);
        // What the call is about, for logs.
        let subject = request.head().cloned().unwrap_or_default();
        let panicked = AtomicBool::new(false);
        let guarded = |request: Request, response: &mut Response| {
            // A panic leaves a partial response, of which nothing is sent after a Fatal.
            let compose = AssertUnwindSafe(|| self.function.compose(request, response));
            catch_unwind(compose).unwrap_or_else(|_| {
                panicked.store(true, Ordering::Relaxed);
                Err(Fatal::new("the function failed on this resource because of a defect: report it with the function's log"))
            })
        };
        let response = answer(&guarded, request, response);
        let took = started.elapsed();

        let tag = response.meta.as_ref().map_or("", |meta| &meta.tag);
        let fatal = response
            .results
            .iter()
            .find(|result| result.severity() == Severity::Fatal);
        let outcome = match fatal {
            Some(_) if panicked.load(Ordering::Relaxed) => {
                error!(%subject, tag, ?took, "the function panicked");
                Outcome::Panic
            }
            Some(fatal) => {
                warn!(%subject, tag, ?took, message = fatal.message, "fatal result");
                Outcome::Fatal
            }
            None => {
                let (results, conditions) = (response.results.len(), response.conditions.len());
                let waiting = response.requirements.is_some();
                let composed = subject.metadata.resource_version.as_str();
                debug!(%subject, version = composed, tag, ?took, results, conditions, waiting, "composed");
                Outcome::Ok
            }
        };
        let answered = response.encoded_len();
        if answered > READ_BY_CROSSPLANE {
            warn!(%subject, tag, bytes = answered, "Crossplane reads no response beyond 4 MiB");
        }
        self.metrics.record(version, outcome, took, size, answered);
        response
    }
}
