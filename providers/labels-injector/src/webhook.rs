//! The webhook that the API server calls before it binds a pod to a node.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};

use crate::Shared;
use crate::metrics::Source;
use crate::review::{Bound, Review};
use crate::state::Change;

/// Where the API server asks.
pub const PATH: &str = "/pods/binding";

/// The largest question, in bytes. A binding is small; the user and groups of the scheduler come with it.
const LARGEST: usize = 256 * 1024;

/// How long a binding may be delayed. After that the controller labels the pod.
const PATIENCE: Duration = Duration::from_secs(1);

/// The pages of the webhook.
pub fn router(shared: Shared) -> Router {
    Router::new()
        .route(PATH, post(review))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(shared)
}

/// Labels the pod and allows the binding, whatever happens.
async fn review(State(shared): State<Shared>, body: Bytes) -> Response {
    let review: Review = match serde_json::from_slice(&body) {
        Ok(review) => review,
        Err(error) => {
            let message =
                format!("the body must be an AdmissionReview of a pod's binding: {error}\n");
            return (StatusCode::BAD_REQUEST, message).into_response();
        }
    };
    if let Some(change) = review.bound().and_then(|bound| change(&shared, bound)) {
        shared.apply(Source::Webhook, &change, PATIENCE).await;
    }
    Json(review.allow()).into_response()
}

fn change(shared: &Shared, bound: Bound) -> Option<Change> {
    let labels = shared.state().node(&bound.node)?.clone();
    (!labels.is_empty()).then_some(Change {
        pod: bound.pod,
        uid: bound.uid,
        labels,
    })
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::*;
    use crate::testing::shared;

    async fn ask(shared: Shared, path: &str, body: Vec<u8>) -> (u16, String) {
        let request = Request::post(path).body(Body::from(body)).unwrap();
        let response = router(shared).oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), LARGEST).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn binding_is_allowed_when_the_pod_cannot_be_labelled() {
        let answers = [
            ("n1", Some(403), 1),
            ("n1", Some(404), 0),
            ("n1", None, 1),
            ("unknown", Some(200), 0),
        ];
        for (node, status, failures) in answers {
            let review = json!({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "request": {
                    "uid": "review", "namespace": "default", "name": "web",
                    "object": {"target": {"kind": "Node", "name": node}},
                },
            });
            let review = review.to_string().into_bytes();
            let shared = shared(status);
            let (code, body) = ask(shared.clone(), PATH, review).await;
            assert_eq!(code, 200);
            assert_eq!(shared.metrics.failures(Source::Webhook), failures);
            let answer: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(
                answer["response"],
                json!({"uid": "review", "allowed": true})
            );
        }
    }

    #[tokio::test]
    async fn what_is_no_review_is_refused() {
        let (code, body) = ask(shared(Some(200)), PATH, b"{}".to_vec()).await;
        assert_eq!(code, 400);
        assert!(
            body.starts_with("the body must be an AdmissionReview"),
            "{body}"
        );
        let (code, _) = ask(shared(Some(200)), PATH, vec![b' '; LARGEST + 1]).await;
        assert_eq!(code, 413);
        let (code, _) = ask(shared(Some(200)), "/other", Vec::new()).await;
        assert_eq!(code, 404);
    }
}
