//! Acting on every object of a kind, as simulated operators do.

use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use kube::api::{Patch, PatchParams};
use kube::core::{DynamicObject, Request};
use kube::discovery::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::objects::Kind;
use crate::say::say;

/// How many objects of a kind are acted on at once.
const AT_ONCE: usize = 4;

/// How long to wait before a status is written once more that was refused.
const PAUSE: Duration = Duration::from_millis(500);

/// What is done with each object of some kinds, until this is dropped.
#[derive(Default)]
pub(crate) struct Watched(JoinSet<()>);

impl Watched {
    /// Does something with each object of a kind, and with each change of it.
    pub(crate) async fn each<F>(
        &mut self,
        cluster: &Cluster,
        kind: Kind,
        act: impl Fn(DynamicObject) -> F + Send + 'static,
    ) -> Result<()>
    where
        F: Future<Output = ()> + Send,
    {
        let (resource, _) = cluster.resource(kind.api_version, kind.kind).await?;
        let api: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
        self.0.spawn(async move {
            let seen = watcher(api, watcher::Config::default())
                .default_backoff()
                .applied_objects();
            // Whatever broke the watch, it begins anew.
            let seen = seen.filter_map(|object| std::future::ready(object.ok()));
            seen.for_each_concurrent(AT_ONCE, act).await;
        });
        Ok(())
    }
}

/// Merges into the status of an object, until it is written or the object no longer exists.
pub(crate) async fn report(
    client: &Client,
    resource: &ApiResource,
    object: &DynamicObject,
    status: &Value,
) {
    while let Err(error) = reported(client, resource, object, status).await {
        if matches!(&error, kube::Error::Api(refusal) if refusal.code == 404) {
            return;
        }
        say(format_args!("no status for {}: {error}", object.name_any()));
        sleep(PAUSE).await;
    }
}

async fn reported(
    client: &Client,
    resource: &ApiResource,
    object: &DynamicObject,
    status: &Value,
) -> Result<(), kube::Error> {
    let namespace = object.metadata.namespace.as_deref();
    let request = Request::new(DynamicObject::url_path(resource, namespace));
    let how = PatchParams::default().validation_strict();
    let status = Patch::Merge(json!({ "status": status }));
    let request = request.patch_subresource("status", &object.name_any(), &how, &status);
    let request = request.map_err(kube::Error::BuildRequest)?;
    client.request_text(request).await.map(drop)
}
