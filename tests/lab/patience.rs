//! Requests that an API server under load couldn't answer are sent again; what it refuses isn't.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::scale::scaled;

/// How long a request is sent again.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the message begins by which an applied object is refused that has unknown fields.
const UNTYPED: &str = "failed to create typed patch object";

const PAUSE: Duration = Duration::from_millis(500);

/// Sends a request until the API server answers it. It may be sent more than once.
///
/// # Errors
/// What the API server refuses, at once; and the last error when there is no answer for 10 s.
pub(crate) async fn answered<T>(mut send: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + scaled(PATIENCE);
    loop {
        match send().await {
            Err(error) if is_transient(&error) && Instant::now() < deadline => {
                tokio::time::sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}

/// Whether the same request may succeed a moment later: the API server has too many of them, failed itself or by a webhook that it
/// calls, or couldn't be reached.
fn is_transient(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => match status.code {
            // Fields that the kind hasn't are refused with this code, too.
            500 => !status.message.starts_with(UNTYPED),
            code => code == 429 || code > 500,
        },
        Some(kube::Error::HyperError(_) | kube::Error::Service(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    /// How often a request is sent that is answered with a status at first, and then with success.
    async fn sent(code: u16, message: &str) -> usize {
        let mut sent = 0;
        let _ = answered(async || {
            sent += 1;
            if sent > 1 {
                return Ok(());
            }
            let status = Status::failure(message, "").with_code(code);
            Err(kube::Error::Api(Box::new(status)).into())
        })
        .await;
        sent
    }

    #[tokio::test]
    async fn refusals_are_final_and_failures_are_not() {
        for code in [400, 403, 404, 409, 410, 422] {
            assert_eq!(sent(code, "").await, 1, "{code}");
        }
        for code in [429, 500, 503, 504] {
            assert_eq!(sent(code, "").await, 2, "{code}");
        }
        let unknown = "failed to create typed patch object (/a; v1, Kind=Pod): .sepc: field not declared in schema";
        assert_eq!(sent(500, unknown).await, 1);
    }
}
