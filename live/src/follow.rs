//! What our operators work on, shown again whenever it changes.

use std::collections::BTreeMap;
use std::time::Duration;

use c5c3_plan::Paint;
use futures::stream::{SelectAll, StreamExt};
use futures::{Stream, pin_mut};
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use tokio::time::timeout;

use crate::cluster::{Cluster, Served, manifest};
use crate::error::Error;
use crate::snapshot::{Selection, Snapshot, served};

/// Changes that come together are shown together: so long a pause ends them.
const PAUSE: Duration = Duration::from_millis(100);

/// Where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// A terminal, on which the tree is drawn over the one before.
    Terminal(Paint),
    /// A pipe, into which a line goes for each change.
    Lines,
}

/// Shows everything that our operators work on, and again whenever it changes, until the process ends or `show` says so.
///
/// # Errors
/// The cluster can't be looked at, or what is shown can't be written.
pub async fn follow<E: From<Error>>(
    cluster: &Cluster,
    selection: &Selection,
    screen: Screen,
    mut show: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut kinds = Vec::new();
    for sought in served(cluster).await? {
        // Looked at once before, so that what is forbidden is said and not tried for ever.
        let _ = cluster
            .list(&sought.api_version, &sought.kind, sought.selector)
            .await?;
        let kind = cluster.served(&sought.api_version, &sought.kind).await?;
        kinds.extend(kind.map(|kind| (kind, sought.selector)));
    }
    let mut pending = kinds.len();
    let changes = changes(cluster, kinds);
    pin_mut!(changes);
    let mut snapshot = Snapshot::default();
    let mut shown = BTreeMap::new();
    while let Some(first) = changes.next().await {
        let mut next = Some(first);
        while let Some((served, event)) = next {
            pending -= usize::from(take(&mut snapshot, &served, event)?).min(pending);
            next = timeout(PAUSE, changes.next()).await.ok().flatten();
        }
        if pending == 0 {
            draw(&snapshot, selection, screen, &mut shown, &mut show)?;
        }
    }
    Ok(())
}

/// Every change of every kind. A watch that breaks is begun again.
fn changes(
    cluster: &Cluster,
    kinds: Vec<(Served, &'static str)>,
) -> impl Stream<Item = (Served, Event<DynamicObject>)> {
    let streams = kinds.into_iter().map(|(served, selector)| {
        let config = watcher::Config::default().labels(selector);
        let changes = watch(cluster.all(&served), config).default_backoff();
        changes
            .filter_map(|event| async { event.ok() })
            .map(move |event| (served.clone(), event))
            .boxed()
    });
    streams.collect::<SelectAll<_>>()
}

/// Takes a change into account. Whether it ends the first look at a kind.
fn take(
    snapshot: &mut Snapshot,
    served: &Served,
    event: Event<DynamicObject>,
) -> Result<bool, Error> {
    match event {
        Event::Apply(object) | Event::InitApply(object) => {
            snapshot.insert(manifest(served, object)?);
            Ok(false)
        }
        Event::Delete(object) => {
            snapshot.remove(&manifest(served, object)?);
            Ok(false)
        }
        Event::Init => {
            snapshot.0.retain(|key, _| {
                key.kind != served.resource.kind || key.api_version != served.resource.api_version
            });
            Ok(false)
        }
        Event::InitDone => Ok(true),
    }
}

fn draw<E>(
    snapshot: &Snapshot,
    selection: &Selection,
    screen: Screen,
    shown: &mut BTreeMap<String, String>,
    show: &mut impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    match screen {
        Screen::Terminal(paint) => {
            // To the upper left corner; what is left of each line, and of the screen, is cleared: nothing flickers.
            let tree = snapshot.tree(selection, paint).replace('\n', "\u{1b}[K\n");
            show(&format!("\u{1b}[H{tree}\u{1b}[J"))
        }
        Screen::Lines => {
            let now = snapshot.lines(selection);
            let mut news = String::new();
            for (title, state) in &now {
                if shown.get(title) != Some(state) {
                    news += &format!("{title}: {state}\n");
                }
            }
            for title in shown.keys().filter(|title| !now.contains_key(*title)) {
                news += &format!("{title}: gone\n");
            }
            *shown = now;
            match news.is_empty() {
                true => Ok(()),
                false => show(&news),
            }
        }
    }
}
