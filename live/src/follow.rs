//! What our operators work on, shown again whenever it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use c5c3_plan::Key;
use futures::stream::{SelectAll, StreamExt};
use futures::{Stream, pin_mut};
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use tokio::time::timeout;

use crate::cluster::{Cluster, Served, manifest};
use crate::error::Error;
use crate::screen::{Screen, Shown};
use crate::snapshot::{Selection, Snapshot, served};

/// Changes that come together are shown together: so long a pause ends them.
const PAUSE: Duration = Duration::from_millis(100);

/// What is heard of a kind.
type News = (Served, Result<Event<DynamicObject>, watcher::Error>);

/// Shows everything that our operators work on, and again whenever it changes, until the process ends or `show` says so.
/// `screen` is asked each time, since a terminal can become another size.
///
/// # Errors
/// The cluster can't be looked at, or what is shown can't be written.
pub async fn follow<E: From<Error>>(
    cluster: &Cluster,
    selection: &Selection,
    screen: impl Fn() -> Screen,
    mut show: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut kinds = Vec::new();
    for listed in served(cluster).await? {
        // Looked at once before, so that what is forbidden is said and not tried for ever.
        let _ = cluster
            .list(&listed.api_version, &listed.kind, listed.selector)
            .await?;
        let kind = cluster.served(&listed.api_version, &listed.kind).await?;
        kinds.extend(kind.map(|kind| (kind, listed.selector)));
    }
    let mut heard = Heard {
        pending: kinds.len(),
        ..Heard::default()
    };
    let news = news(cluster, kinds);
    pin_mut!(news);
    let mut shown = Shown::default();
    while let Some(first) = news.next().await {
        let mut next = Some(first);
        while let Some((served, event)) = next {
            match event {
                Ok(event) => heard.take(&served, event)?,
                // It only has to list again, as happens from time to time.
                Err(watcher::Error::WatchError(status)) if status.code == 410 => {}
                Err(error) => heard.miss(&served, why(cluster, &served, error)),
            }
            next = timeout(PAUSE, news.next()).await.ok().flatten();
        }
        let trouble = heard.silent.values().next().map(String::as_str);
        if heard.pending == 0 || trouble.is_some() {
            let text = shown.next(&heard.snapshot, selection, screen(), trouble);
            if !text.is_empty() {
                show(&text)?;
            }
        }
    }
    Ok(())
}

/// Everything that is heard of every kind. A watch that breaks is begun again, after a while that grows.
fn news(cluster: &Cluster, kinds: Vec<(Served, &'static str)>) -> impl Stream<Item = News> {
    let streams = kinds.into_iter().map(|(served, selector)| {
        let config = watcher::Config::default().labels(selector);
        let changes = watch(cluster.api(&served, None), config).default_backoff();
        changes.map(move |event| (served.clone(), event)).boxed()
    });
    streams.collect::<SelectAll<_>>()
}

/// Why nothing is heard of a kind.
fn why(cluster: &Cluster, served: &Served, error: watcher::Error) -> Error {
    let plural = served.plural();
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            if status.code == 404 =>
        {
            Error::NotServed(plural)
        }
        watcher::Error::InitialListFailed(error) => cluster.refused("list", &plural, error),
        watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => {
            cluster.refused("watch", &plural, error)
        }
        watcher::Error::WatchError(status) => {
            cluster.refused("watch", &plural, kube::Error::Api(status))
        }
        watcher::Error::NoResourceVersion => Error::NotServed(plural),
    }
}

/// What was heard so far.
#[derive(Default)]
struct Heard {
    snapshot: Snapshot,
    /// How many kinds were not listed yet.
    pending: usize,
    /// Why nothing is heard, by kind.
    silent: BTreeMap<String, String>,
    /// What was found so far, of the kinds that are being looked at anew: until that is done, what was there stays.
    found: BTreeMap<String, BTreeSet<Key>>,
}

impl Heard {
    fn take(&mut self, served: &Served, event: Event<DynamicObject>) -> Result<(), Error> {
        let kind = served.plural();
        self.silent.remove(&kind);
        match event {
            Event::Apply(object) => {
                self.snapshot.insert(manifest(served, object)?);
            }
            Event::Delete(object) => self.snapshot.remove(&manifest(served, object)?),
            Event::Init => {
                self.found.insert(kind, BTreeSet::new());
            }
            Event::InitApply(object) => {
                let key = self.snapshot.insert(manifest(served, object)?);
                self.found.entry(kind).or_default().insert(key);
            }
            Event::InitDone => {
                let found = self.found.remove(&kind).unwrap_or_default();
                let resource = &served.resource;
                self.snapshot.0.retain(|key, _| {
                    let other =
                        key.kind != resource.kind || key.api_version != resource.api_version;
                    other || found.contains(key)
                });
                self.pending = self.pending.saturating_sub(1);
            }
        }
        Ok(())
    }

    fn miss(&mut self, served: &Served, why: Error) {
        self.silent.insert(served.plural(), why.to_string());
    }
}

#[cfg(test)]
mod tests {
    use kube::discovery::ApiResource;
    use serde_json::json;

    use super::*;

    fn things() -> Served {
        Served {
            resource: ApiResource {
                group: "test".to_owned(),
                version: "v1".to_owned(),
                api_version: "test/v1".to_owned(),
                kind: "Thing".to_owned(),
                plural: "things".to_owned(),
            },
            namespaced: false,
        }
    }

    fn thing(name: &str) -> DynamicObject {
        serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap()
    }

    fn names(heard: &Heard) -> Vec<&str> {
        let keys = heard.snapshot.0.keys();
        keys.map(|key| key.name.as_str()).collect()
    }

    #[test]
    fn what_is_looked_at_anew_stays_until_it_is_known_to_be_gone() {
        let mut heard = Heard {
            pending: 1,
            ..Heard::default()
        };
        let take = |heard: &mut Heard, event| heard.take(&things(), event).unwrap();
        take(&mut heard, Event::Init);
        take(&mut heard, Event::InitApply(thing("a")));
        assert_eq!(heard.pending, 1);
        take(&mut heard, Event::InitDone);
        assert_eq!(heard.pending, 0);
        take(&mut heard, Event::Apply(thing("b")));

        take(&mut heard, Event::Init);
        assert_eq!(names(&heard), ["a", "b"]);
        take(&mut heard, Event::InitApply(thing("b")));
        assert_eq!(names(&heard), ["a", "b"]);
        take(&mut heard, Event::InitDone);
        assert_eq!(names(&heard), ["b"]);
        take(&mut heard, Event::Delete(thing("b")));
        assert!(names(&heard).is_empty());
    }

    #[test]
    fn silence_ends_with_the_next_word() {
        let mut heard = Heard {
            pending: 1,
            ..Heard::default()
        };
        heard.miss(&things(), Error::NotServed("things.test".to_owned()));
        assert!(heard.silent["things.test"].contains("things.test"));
        heard.take(&things(), Event::Init).unwrap();
        assert!(heard.silent.is_empty());
    }
}
