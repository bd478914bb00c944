//! The leases of nodes as the API server reports them, change by change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, WatchParams};
use kube::core::{ObjectMeta, WatchEvent};
use kube::{Api, Client};
use lab::{Result, ensure};
use tokio::task::JoinHandle;

/// Label of a leased node: the control plane.
pub const LEASE: &str = "c5c3.node-restriction.kubernetes.io/control-plane";
const PHASE: &str = "c5c3.node-restriction.kubernetes.io/lease-phase";

/// The lease of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Who leases it.
    pub control_plane: Option<String>,
    /// How far the end of the lease has come.
    pub phase: Option<String>,
}

/// What was seen.
#[derive(Default)]
pub struct Seen {
    /// The leases now, by node.
    pub nodes: BTreeMap<String, Lease>,
    faults: Vec<String>,
}

/// Watches the leases until it is dropped.
pub struct Leases {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Drop for Leases {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Leases {
    /// Begins to watch.
    pub fn watch(client: Client) -> Self {
        let seen = Arc::<Mutex<Seen>>::default();
        let into = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let nodes = Api::<Node>::all(client);
            loop {
                // It ends with the API server.
                let _ = follow(&nodes, &into).await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        Self { seen, task }
    }

    /// What was seen.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }

    /// The nodes of a control plane in a phase.
    pub fn of(&self, control_plane: &str, phase: Option<&str>) -> Vec<String> {
        let wanted = Lease {
            control_plane: Some(control_plane.to_owned()),
            phase: phase.map(str::to_owned),
        };
        let seen = self.seen();
        let nodes = seen.nodes.iter().filter(|(_, lease)| **lease == wanted);
        nodes.map(|(name, _)| name.clone()).collect()
    }

    /// Fine if each lease ended only when the node was wiped, and no node changed hands without being free.
    pub fn are_exclusive(&self) -> Result<()> {
        let seen = self.seen();
        ensure!(seen.faults.is_empty(), "{:#?}", seen.faults);
        Ok(())
    }
}

async fn follow(nodes: &Api<Node>, seen: &Mutex<Seen>) -> kube::Result<()> {
    let list = nodes.list_metadata(&ListParams::default()).await?;
    for node in list.items {
        locked(seen).saw(&node.metadata);
    }
    let version = list.metadata.resource_version.unwrap_or_default();
    let events = nodes
        .watch_metadata(&WatchParams::default(), &version)
        .await?;
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.try_next().await? {
        if let WatchEvent::Added(node) | WatchEvent::Modified(node) = event {
            locked(seen).saw(&node.metadata);
        }
    }
    Ok(())
}

impl Seen {
    fn saw(&mut self, node: &ObjectMeta) {
        let name = node.name.clone().unwrap_or_default();
        let label = |label: &str| node.labels.as_ref()?.get(label).cloned();
        let now = Lease {
            control_plane: label(LEASE),
            phase: label(PHASE),
        };
        let before = self
            .nodes
            .insert(name.clone(), now.clone())
            .unwrap_or_default();
        let changes_hands =
            before.control_plane.is_some() && before.control_plane != now.control_plane;
        let is_freed = now.control_plane.is_none() && before.phase.as_deref() == Some("Wiping");
        if changes_hands && !is_freed {
            self.faults
                .push(format!("{name}: {before:?}, then {now:?}"));
        }
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
