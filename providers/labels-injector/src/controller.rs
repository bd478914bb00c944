//! Pods that the webhook missed, and nodes whose labels change.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tracing::{info, warn};

use crate::Shared;
use crate::cluster::{self, Seen};
use crate::labels::{Labels, copied};
use crate::metrics::Source;
use crate::state::{Change, Pod, PodName, State};

/// How often what failed is tried again. The same change of a pod is made at most once in that time, so that another writer of
/// these labels causes no loop.
const SWEEP: Duration = Duration::from_secs(30);

/// How long a change may take. Without a limit, an API server that doesn't answer would stop all changes.
const PATIENCE: Duration = Duration::from_secs(15);

/// How many pods are changed at once, and how many wait.
const AT_ONCE: usize = 8;
const WAITING: usize = 256;

/// Follows nodes and pods for ever.
pub async fn follow(shared: &Shared) {
    let (send, changes) = mpsc::channel::<Change>(WAITING);
    let work = ReceiverStream::new(changes).for_each_concurrent(AT_ONCE, |change| async move {
        shared.apply(Source::Controller, &change, PATIENCE).await;
    });
    let watch = async {
        let mut seen = pin!(cluster::watch(&shared.client));
        let mut lists = Lists::default();
        let mut changed: BTreeMap<PodName, Labels> = BTreeMap::new();
        let mut sweep = interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let found = tokio::select! {
                next = seen.next() => match next {
                    Some(Seen::Broken { kind, error }) => {
                        shared.metrics.watch_failed(kind);
                        warn!(kind, %error, "the watch broke, and is started again");
                        continue;
                    }
                    Some(next) => {
                        let found = lists.take(&mut shared.state(), next);
                        shared.set_ready(lists.has_nodes && lists.has_pods);
                        found
                    }
                    None => return,
                },
                _ = sweep.tick() => {
                    changed.clear();
                    shared.state().changes()
                }
            };
            for change in found {
                let last = changed.insert(change.pod.clone(), change.labels.clone());
                if last.as_ref() != Some(&change.labels) && send.send(change).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::join!(work, watch);
}

/// Lists that are being read, and whether each was read once.
#[derive(Default)]
struct Lists {
    nodes: BTreeSet<String>,
    pods: BTreeSet<PodName>,
    has_nodes: bool,
    has_pods: bool,
}

impl Lists {
    /// Takes what was seen. Returns what pods are to get.
    fn take(&mut self, state: &mut State, seen: Seen) -> Vec<Change> {
        match seen {
            Seen::Node(Event::Init) => self.nodes.clear(),
            Seen::Node(Event::InitApply(node)) => {
                self.nodes.insert(node.name_any());
                return state.set_node(node.name_any(), copied(node.meta().labels.as_ref()));
            }
            Seen::Node(Event::Apply(node)) => {
                return state.set_node(node.name_any(), copied(node.meta().labels.as_ref()));
            }
            Seen::Node(Event::Delete(node)) => state.remove_node(&node.name_any()),
            Seen::Node(Event::InitDone) => {
                let nodes = std::mem::take(&mut self.nodes);
                state.keep_nodes(|name| nodes.contains(name));
                if !self.has_nodes {
                    info!(nodes = nodes.len(), "nodes are read");
                }
                self.has_nodes = true;
            }
            Seen::Pod(Event::Init) => self.pods.clear(),
            Seen::Pod(Event::InitApply(pod)) => {
                self.pods.insert(name(&pod));
                return set(state, pod).into_iter().collect();
            }
            Seen::Pod(Event::Apply(pod)) => return set(state, pod).into_iter().collect(),
            Seen::Pod(Event::Delete(pod)) => state.remove_pod(&name(&pod)),
            Seen::Pod(Event::InitDone) => {
                let pods = std::mem::take(&mut self.pods);
                state.keep_pods(|name| pods.contains(name));
                if !self.has_pods {
                    info!(pods = pods.len(), "pods are read");
                }
                self.has_pods = true;
            }
            Seen::Broken { .. } => {}
        }
        Vec::new()
    }
}

fn name(pod: &cluster::Pod) -> PodName {
    PodName {
        namespace: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
    }
}

fn set(state: &mut State, pod: cluster::Pod) -> Option<Change> {
    let name = name(&pod);
    if pod.metadata.deletion_timestamp.is_some() {
        state.remove_pod(&name);
        return None;
    }
    let labels = copied(pod.metadata.labels.as_ref());
    let pod = Pod {
        uid: pod.metadata.uid.unwrap_or_default(),
        node: pod.spec.node_name?,
        labels,
    };
    state.set_pod(name, pod)
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;
    use crate::testing::shared;

    #[tokio::test(start_paused = true)]
    async fn watches_that_keep_failing_are_counted_by_kind() {
        let shared = shared(Some(403));
        tokio::select! {
            () = follow(&shared) => unreachable!("it follows for ever"),
            () = sleep(Duration::from_secs(300)) => {}
        }
        for kind in ["nodes", "pods"] {
            assert!(shared.metrics.watch_failures(kind) > 3, "{kind}");
        }
    }
}
