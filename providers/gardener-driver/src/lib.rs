//! The driver of Gardener's API: it requests kubeconfigs of Shoots.
//!
//! What is understood is in [`provider_kubeconfig::garden`]. A kubeconfig is requested every hour, so each request has a connection
//! of its own. Gardener's types are in pkg/apis/authentication/v1alpha1 of <https://github.com/gardener/gardener>, and what it refuses is
//! in pkg/apiserver/registry/core/shoot/storage/kubeconfig.go.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use c5c3_api::shoot_kubeconfig::ShootRole;
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::api::PostParams;
use kube::client::Body;
use kube::core::Request;
use kube::{Client, Config};
use provider_kubeconfig::garden::{Answer, Issued, Query, SYSTEM, VALID};
use provider_runtime::{ClusterConfig, DriverError, TypedDriver};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

/// The driver of Gardener's API.
pub struct Gardener;

impl TypedDriver for Gardener {
    const SYSTEM: &'static str = SYSTEM;
    const VALIDITY: Duration = Duration::from_secs(VALID as u64);
    type Query = Query;
    type Answer = Answer;
    type Call = IgnoredAny;

    async fn answer(&self, query: Query) -> Result<Answer, DriverError> {
        let client = match client(&query.access.kubeconfig).await {
            Ok(client) => client,
            Err(why) => return Ok(Answer::Refused(why)),
        };
        let began = Timestamp::now();
        let (code, body) = exchange(&client, &query).await?;
        match code {
            200..300 => issued(&body, began).await,
            _ => refusal(code, &body),
        }
    }
}

/// Returns a client, or why the kubeconfig can't be used.
async fn client(kubeconfig: &str) -> Result<Client, String> {
    let access = ClusterConfig::parse(kubeconfig, "the kubeconfig of Gardener's API").await;
    let mut access = access.map_err(|error| error.to_string())?;
    // The operator tries again by itself. Within one request, kube would do so for minutes, and the operator says nothing meanwhile.
    access.config.default_retry = false;
    if !is_private(&access.config) {
        let advice = "the kubeconfig of Gardener's API can't be used: server of the cluster must begin with https://";
        return Err(advice.to_owned());
    }
    access.client().map_err(|error| error.to_string())
}

/// Whether no one reads the request on its way. Without TLS, it would also reach what isn't an API server, such as the metadata services
/// of clouds. At loopback addresses, an operator's pod serves its health and its metrics alone.
fn is_private(config: &Config) -> bool {
    let url = &config.cluster_url;
    let host = url.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = host.parse().ok();
    url.scheme_str() == Some("https") || address.is_some_and(|address| address.is_loopback())
}

/// The largest response that is read, in bytes.
const LARGEST: usize = 1 << 20;

/// Requests a kubeconfig. Returns the status code, and the body. kube's own requests log a response that they can't read, and a
/// kubeconfig in it.
async fn exchange(client: &Client, query: &Query) -> Result<(u16, Vec<u8>), DriverError> {
    let (kind, subresource) = match query.role {
        ShootRole::Admin => ("AdminKubeconfigRequest", "adminkubeconfig"),
        ShootRole::Viewer => ("ViewerKubeconfigRequest", "viewerkubeconfig"),
    };
    let body = json!({
        "apiVersion": "authentication.gardener.cloud/v1alpha1",
        "kind": kind,
        "spec": { "expirationSeconds": query.seconds },
    });
    let namespace = &query.namespace;
    let shoots = format!("/apis/core.gardener.cloud/v1beta1/namespaces/{namespace}/shoots");
    let how = PostParams::default();
    let body = body.to_string().into_bytes();
    let request = Request::new(shoots).create_subresource(subresource, &query.shoot, &how, body);
    let request = request.map_err(|_| DriverError::not_understood(SYSTEM))?;
    let response = client.send(request.map(Body::from)).await;
    let response = response.map_err(|error| match &error {
        kube::Error::Service(error) => unreachable(error.as_ref()),
        kube::Error::HyperError(error) => unreachable(error),
        _ => strange(),
    })?;
    let code = response.status().as_u16();
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    let body = body.map_err(|_| strange())?.to_bytes();
    Ok((code, body.to_vec()))
}

/// What Gardener answers, as far as it is read.
#[derive(Deserialize)]
struct Response {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    kubeconfig: ByteString,
    expiration_timestamp: String,
}

/// Reads the kubeconfig that was requested at a moment. One that can't be used replaces none that can.
async fn issued(body: &[u8], began: Timestamp) -> Result<Answer, DriverError> {
    let response: Response = serde_json::from_slice(body).map_err(|_| strange())?;
    let kubeconfig = response.status.kubeconfig.0;
    let kubeconfig = String::from_utf8(kubeconfig).map_err(|_| strange())?;
    let usable = ClusterConfig::parse(&kubeconfig, "the kubeconfig that Gardener issued").await;
    usable.map_err(|error| DriverError::Unavailable(error.to_string()))?;
    Ok(Answer::Issued(Issued {
        kubeconfig,
        issued: began.to_string(),
        expires: response.status.expiration_timestamp,
    }))
}

/// An answer that isn't valid. An error would quote it.
fn strange() -> DriverError {
    let message = "Gardener's API answered with something that isn't a kubeconfig";
    DriverError::Unavailable(message.to_owned())
}

/// The longest message of Gardener's that is shown, in characters.
const LONGEST: usize = 1_000;

/// Why an API server refuses a request: a Status, as the API conventions of Kubernetes have it.
#[derive(Deserialize)]
struct Refusal {
    kind: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
}

/// What a refusal means. One of Gardener's quotes the request, which has no secret. What isn't an API server's is not quoted: whoever names
/// a server in a Secret would read in the condition what that server answers the operator.
fn refusal(code: u16, body: &[u8]) -> Result<Answer, DriverError> {
    let refusal: Option<Refusal> = serde_json::from_slice(body).ok();
    let refusal = refusal.filter(|refusal| refusal.kind == "Status");
    let message = match &refusal {
        Some(refusal) if !refusal.message.is_empty() => {
            refusal.message.chars().take(LONGEST).collect()
        }
        Some(refusal) => format!("{} ({code})", refusal.reason),
        None => format!(
            "the server in the kubeconfig of Gardener's API answers with the status code {code}"
        ),
    };
    match code {
        404 if refusal.is_some() => Ok(Answer::Pending(message)),
        404 => Ok(Answer::Refused(format!(
            "{message}, so it isn't Gardener's: correct server of the cluster"
        ))),
        // A Shoot that Gardener hasn't created yet has no address.
        422 if message.contains("advertised address") => Ok(Answer::Pending(message)),
        429 | 500.. => Err(DriverError::Unavailable(format!(
            "Gardener's API fails: {message}"
        ))),
        _ => Ok(Answer::Refused(message)),
    }
}

/// Gardener's API can't be reached: the innermost error says why.
fn unreachable(error: &(dyn Error + 'static)) -> DriverError {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    DriverError::Unavailable(format!("Gardener's API can't be reached: {cause}"))
}
