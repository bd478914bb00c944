//! The cluster, as far as labels are copied: its nodes and pods, and the only write.

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1;
use kube::api::{ObjectMeta, PartialObjectMeta, Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Config, watcher};
use kube::{Api, Client, Resource};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::state::Change;

/// How many objects are listed at a time: whoever may create pods decides how large they are.
const PAGE: u32 = 50;

/// Pods that are bound to a node.
const BOUND: &str = "spec.nodeName!=";

/// A pod without what isn't read.
#[derive(Clone, Debug, Deserialize, Serialize, Resource)]
#[resource(inherit = "v1::Pod")]
pub struct Pod {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Its spec.
    pub spec: PodSpec,
}

/// The spec of a pod without what isn't read.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The node that it is bound to.
    pub node_name: Option<String>,
}

/// What is seen of a cluster.
#[derive(Debug)]
pub enum Seen {
    /// A node.
    Node(watcher::Event<PartialObjectMeta<v1::Node>>),
    /// A pod on a node.
    Pod(watcher::Event<Pod>),
    /// A watch that broke; it is started again.
    Broken {
        /// What was watched.
        kind: &'static str,
        /// Why it broke.
        error: watcher::Error,
    },
}

/// Watches nodes and bound pods.
pub fn watch(client: &Client) -> impl Stream<Item = Seen> + use<> {
    let config = Config::default().page_size(PAGE);
    let nodes = Api::<PartialObjectMeta<v1::Node>>::all(client.clone());
    let nodes = watcher(nodes, config.clone());
    let nodes = nodes.default_backoff().map(|event| match event {
        Ok(event) => Seen::Node(event),
        Err(error) => Seen::Broken {
            kind: "nodes",
            error,
        },
    });
    let pods = watcher(Api::<Pod>::all(client.clone()), config.fields(BOUND));
    let pods = pods.default_backoff().map(|event| match event {
        Ok(event) => Seen::Pod(event),
        Err(error) => Seen::Broken {
            kind: "pods",
            error,
        },
    });
    futures::stream::select(nodes, pods)
}

/// Gives a pod its labels. A pod that is gone, or that was replaced by another of its name, is left alone.
///
/// # Errors
/// The API server refuses it or can't be reached.
pub async fn apply(client: &Client, change: &Change) -> kube::Result<()> {
    let pods: Api<v1::Pod> = Api::namespaced(client.clone(), &change.pod.namespace);
    let mut metadata = json!({ "labels": change.labels });
    if let Some(uid) = &change.uid {
        metadata["uid"] = json!(uid);
    }
    let patch = Patch::Strategic(json!({ "metadata": metadata }));
    let patched = pods
        .patch_metadata(&change.pod.name, &PatchParams::default(), &patch)
        .await;
    match patched {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(error),
    }
}
