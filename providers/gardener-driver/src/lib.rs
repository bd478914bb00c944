//! The driver of Gardener's API: it requests kubeconfigs of Shoots.
//!
//! What is understood is in [`provider_kubeconfig::garden`]. A kubeconfig is requested every few hours, so each request has a connection
//! of its own. Gardener's types are in pkg/apis/authentication/v1alpha1 of <https://github.com/gardener/gardener>, and what it refuses is
//! in pkg/apiserver/registry/core/shoot/storage/kubeconfig.go.

use std::error::Error;
use std::time::Duration;

use c5c3_api::shoot_kubeconfig::ShootRole;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::api::{DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::{Api, Client};
use provider_kubeconfig::garden::{Answer, Issued, Query, SYSTEM, VALID};
use provider_runtime::{ClusterConfig, ConfigError, Driver, DriverError};
use serde::Deserialize;
use serde_json::{Value, json};

/// The driver of Gardener's API.
pub struct Gardener;

impl Driver for Gardener {
    fn system(&self) -> &'static str {
        SYSTEM
    }

    fn validity(&self) -> Duration {
        Duration::from_secs(VALID.into())
    }

    fn observe<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        async move {
            let query: Query = serde_json::from_str(query).map_err(|_| not_understood())?;
            let answer = answer(&query).await?;
            serde_json::to_value(answer).map_err(|_| not_understood())
        }
        .boxed()
    }

    fn call<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        async { Err(not_understood()) }.boxed()
    }
}

fn not_understood() -> DriverError {
    DriverError::Refused(
        "a request to Gardener's API isn't valid: run the same version of everything".to_owned(),
    )
}

async fn answer(query: &Query) -> Result<Answer, DriverError> {
    let client = match client(query).await {
        Ok(client) => client,
        Err(error) => return Ok(Answer::Refused(error.to_string())),
    };
    let began = Timestamp::now();
    match issue(client, query).await {
        Ok(response) => {
            let kubeconfig = String::from_utf8(response.status.kubeconfig.0)
                .map_err(|_| DriverError::Unavailable(STRANGE.to_owned()))?;
            Ok(Answer::Issued(Issued {
                kubeconfig,
                issued: began.to_string(),
                expires: response.status.expiration_timestamp,
            }))
        }
        Err(error) => refusal(&error),
    }
}

async fn client(query: &Query) -> Result<Client, ConfigError> {
    let kubeconfig = &query.access.kubeconfig;
    let config = ClusterConfig::parse(kubeconfig, "the kubeconfig of Gardener's API").await?;
    config.client()
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

async fn issue(client: Client, query: &Query) -> kube::Result<Response> {
    let (kind, subresource) = match query.role {
        ShootRole::Admin => ("AdminKubeconfigRequest", "adminkubeconfig"),
        ShootRole::Viewer => ("ViewerKubeconfigRequest", "viewerkubeconfig"),
    };
    let request = json!({
        "apiVersion": "authentication.gardener.cloud/v1alpha1",
        "kind": kind,
        "spec": { "expirationSeconds": query.seconds },
    });
    let shoot = GroupVersionKind::gvk("core.gardener.cloud", "v1beta1", "Shoot");
    let shoot = ApiResource::from_gvk_with_plural(&shoot, "shoots");
    let shoots = Api::<DynamicObject>::namespaced_with(client, &query.namespace, &shoot);
    let how = PostParams::default();
    shoots
        .create_subresource(subresource, &query.shoot, &how, &request)
        .await
}

/// The longest message of Gardener's that is shown, in characters.
const LONGEST: usize = 1_000;

/// What is said of an answer that isn't valid. An error would quote it.
const STRANGE: &str = "Gardener's API answered with something that isn't a kubeconfig";

/// What an error means. An error of Gardener's quotes the request, which has no secret.
fn refusal(error: &kube::Error) -> Result<Answer, DriverError> {
    match error {
        kube::Error::Api(status) => {
            let message = match status.message.as_str() {
                "" => format!("{} ({})", status.reason, status.code),
                // A proxy answers with a whole page.
                message => message.chars().take(LONGEST).collect(),
            };
            match status.code {
                404 => Ok(Answer::Pending(message)),
                // A Shoot that Gardener hasn't created yet has no address.
                422 if message.contains("advertised address") => Ok(Answer::Pending(message)),
                429 | 500.. => Err(DriverError::Unavailable(format!(
                    "Gardener's API fails: {message}"
                ))),
                _ => Ok(Answer::Refused(message)),
            }
        }
        kube::Error::Service(error) => Err(unreachable(error.as_ref())),
        kube::Error::HyperError(error) => Err(unreachable(error)),
        _ => Err(DriverError::Unavailable(STRANGE.to_owned())),
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
