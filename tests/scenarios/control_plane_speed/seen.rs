//! ControlPlanes as somebody sees them who watches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures::StreamExt;
use kube::core::{DynamicObject, GroupVersionKind};
use kube::discovery::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use lab::{Cluster, Result, ensure};
use serde_json::Value;
use tokio::task::JoinSet;

/// Status and reason of a condition.
type Said = (String, String);

/// What was seen of one ControlPlane.
#[derive(Default)]
struct One {
    said: BTreeMap<String, Said>,
    transitions: usize,
    ready: Option<Instant>,
}

/// What was seen of all, by their names, since the watch began.
pub struct Seen {
    all: Arc<Mutex<BTreeMap<String, One>>>,
    _watch: JoinSet<()>,
}

impl Seen {
    /// Begins to watch.
    pub fn begin(cluster: &Cluster) -> Self {
        let kind = GroupVersionKind::gvk("c5c3.io", "v1alpha1", "ControlPlane");
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
        let all = Arc::<Mutex<BTreeMap<String, One>>>::default();
        let mut watch = JoinSet::new();
        let events = Arc::clone(&all);
        watch.spawn(async move {
            let versions = watcher(api, watcher::Config::default()).applied_objects();
            let versions = versions.filter_map(async |version| version.ok());
            versions
                .for_each(async |version| {
                    let mut all = events.lock().unwrap_or_else(PoisonError::into_inner);
                    all.entry(version.name_any()).or_default().see(&version);
                })
                .await;
        });
        Self { all, _watch: watch }
    }

    /// Fine when so many are ready.
    pub fn are_ready(&self, count: usize) -> Result<()> {
        let all = self.all();
        let ready = all.values().filter(|one| one.ready.is_some()).count();
        ensure!(ready >= count, "{ready} of {count} are ready");
        Ok(())
    }

    /// When one was ready.
    pub fn ready(&self, name: &str) -> Option<Instant> {
        self.all().get(name)?.ready
    }

    /// How often a condition of one came to have another status or reason.
    pub fn transitions(&self, name: &str) -> usize {
        self.all().get(name).map_or(0, |one| one.transitions)
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, One>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl One {
    fn see(&mut self, version: &DynamicObject) {
        let conditions = version.data["status"]["conditions"].as_array();
        for condition in conditions.into_iter().flatten() {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            let said = (text("status"), text("reason"));
            let before = self.said.insert(text("type"), said.clone());
            self.transitions += usize::from(before.is_none_or(|before| before != said));
        }
        let is_ready =
            |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
        if conditions.into_iter().flatten().any(is_ready) {
            self.ready.get_or_insert_with(Instant::now);
        }
    }
}
