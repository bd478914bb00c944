//! Acting on every object of a kind, as simulated operators do.

use anyhow::Result;
use futures::StreamExt;
use kube::Api;
use kube::core::DynamicObject;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::task::JoinSet;

use crate::cluster::Cluster;
use crate::objects::Kind;

/// How many objects of a kind are acted on at once.
const AT_ONCE: usize = 4;

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
