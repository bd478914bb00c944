//! What tests share.

use std::sync::Arc;

use axum::http::{Request, Response};
use kube::client::Body;
use serde_json::json;

use crate::Shared;
use crate::labels::KEYS;
use crate::metrics::Metrics;

/// An injector that knows a node in a zone, and whose API server answers every request with a status, or not at all.
pub(crate) fn shared(status: Option<u16>) -> Shared {
    let answer = move |_: Request<Body>| async move {
        let Some(status) = status else {
            return std::future::pending().await;
        };
        let body =
            json!({"kind": "Status", "code": status, "message": "refused", "reason": "Forbidden"});
        let response = Response::builder().status(status);
        response.body(Body::from(body.to_string().into_bytes()))
    };
    let shared = Shared {
        client: kube::Client::new(tower::service_fn(answer), "default"),
        state: Arc::default(),
        is_ready: Arc::default(),
        metrics: Metrics::default(),
    };
    let labels = [(KEYS[4], "zone-a".to_owned())].into();
    shared.state().set_node("n1".to_owned(), labels);
    shared
}
