//! Answers requests.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use c5c3_live::{BearerToken, Cluster};
use jiff::Timestamp;
use maud::Markup;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use sha2::{Digest, Sha256};

use crate::cache::Cache;
use crate::frame::{self, STYLE};
use crate::pages;
use crate::read::{self, Unknown};
use crate::request::{Refusal, Request};

/// Nothing is loaded but the stylesheet; no script runs, and no other page shows this one in a frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Whose rights count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewers {
    /// Those of the kubeconfig, for whoever connects on this machine.
    Own,
    /// Those of the token that each request has.
    Bearers,
}

/// A dashboard.
pub struct Dashboard {
    cluster: Cluster,
    viewers: Viewers,
    cache: Cache<Page>,
    answers: Family<Answer, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    code: u16,
}

/// A page as it is sent.
#[derive(Clone)]
struct Page {
    status: StatusCode,
    text: Arc<str>,
}

impl Page {
    fn of(status: StatusCode, markup: Markup) -> Self {
        Self {
            status,
            text: markup.into_string().into(),
        }
    }

    fn problem(status: StatusCode, title: &str, advice: &str) -> Self {
        Self::of(status, frame::problem(title, advice))
    }
}

impl Dashboard {
    /// A dashboard of a cluster, with its metrics.
    pub fn new(cluster: Cluster, viewers: Viewers, registry: &mut Registry) -> Self {
        let answers = Family::default();
        let help = "Pages that were sent, by HTTP status";
        registry.register("c5c3_dashboard_pages", help, answers.clone());
        Self {
            cluster,
            viewers,
            cache: Cache::default(),
            answers,
        }
    }

    async fn page(&self, uri: &Uri, headers: &HeaderMap) -> Page {
        if self.viewers == Viewers::Own && !is_this_machine(headers) {
            return Page::problem(
                StatusCode::MISDIRECTED_REQUEST,
                "Another host",
                "This dashboard answers at localhost, 127.0.0.1 and [::1] only.",
            );
        }
        let token = match self.viewers {
            Viewers::Own => None,
            Viewers::Bearers => match token(headers) {
                Some(token) => Some(token),
                None => return unknown(),
            },
        };
        let request = match Request::parse(uri.path(), uri.query().unwrap_or_default()) {
            Ok(request) => request,
            Err(Refusal::NotFound) => {
                let advice = "The pages are /, /pools and /storage.";
                return Page::problem(StatusCode::NOT_FOUND, "No such page", advice);
            }
            Err(Refusal::Parameter(name)) => {
                let advice =
                    format!("The parameter {name:?} is unknown, or its value isn't valid.");
                return Page::problem(StatusCode::BAD_REQUEST, "No such page", &advice);
            }
        };
        let viewer = token.as_ref().map(|token| Sha256::digest(token.as_bytes()));
        let viewer = viewer.map_or_else(Vec::new, |digest| digest.to_vec());
        let key = (viewer, request.url());
        let draw = async {
            let read = match &token {
                Some(token) => read::read(&self.cluster.as_viewer(token), &request).await,
                None => read::read(&self.cluster, &request).await,
            };
            let (server, now) = (self.cluster.server(), Timestamp::now());
            match read {
                Ok(content) => {
                    Page::of(StatusCode::OK, pages::draw(&request, &content, server, now))
                }
                Err(Unknown) => unknown(),
            }
        };
        self.cache.get(key, draw).await
    }
}

/// The page for someone whom the cluster doesn't know.
fn unknown() -> Page {
    Page::problem(
        StatusCode::UNAUTHORIZED,
        "Not logged in",
        "The cluster doesn't know who you are. Log in again. The proxy in front of the dashboard must send your token of the \
         cluster as the header Authorization: Bearer.",
    )
}

/// The token of a request. Two of them count as none: the proxy may have set either.
fn token(headers: &HeaderMap) -> Option<BearerToken> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?;
    match values.next() {
        None => BearerToken::of(value.as_bytes()),
        Some(_) => None,
    }
}

/// Whether a browser was told to connect to this machine. A site that gives its own name an address of this machine must not read
/// the page.
fn is_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host.host()))
}

/// All that is served. Nothing but GET and HEAD is answered.
pub fn router(dashboard: Arc<Dashboard>) -> Router {
    let style = async || {
        let kind = [
            (CONTENT_TYPE, "text/css; charset=utf-8"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (CACHE_CONTROL, "max-age=300"),
        ];
        (kind, include_str!("style.css"))
    };
    Router::new()
        .route(STYLE, get(style))
        .fallback(get(respond))
        .with_state(dashboard)
}

async fn respond(
    State(dashboard): State<Arc<Dashboard>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let Page { status, text } = dashboard.page(&uri, &headers).await;
    let answer = Answer {
        code: status.as_u16(),
    };
    dashboard.answers.get_or_create(&answer).inc();
    let policies = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    let mut response = (status, policies, text.to_string()).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let scheme = axum::http::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    }
    response
}
