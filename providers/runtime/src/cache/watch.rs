//! Keeps the cache of a kind up to date: a list, then a watch. Failures are expected.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use kube::core::WatchEvent;
use provider_composer::ResourceKind;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::Cache;
use super::entry::Place;
use super::objects::State;
use crate::RunError;
use crate::api::{Api, ApiError, Extent, PAGE};
use crate::backoff::Backoff;
use crate::origin::Origin;

/// How long the last state is valid while the watch is broken: a restart of the API server isn't reported.
const GRACE: Duration = Duration::from_secs(15);

/// A watch that ends sooner is repeated after a pause.
const SHORT: Duration = Duration::from_secs(1);

/// The delay for a kind that has a definition and isn't served yet, or whose definition can't be read.
const ABSENT: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(300));
const BROKEN: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(30));

/// The delay while the API server asks to be asked again soon, for instance until it has loaded a new kind.
const TOO_MANY: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));

/// How often in a row the API server may leave it unanswered whose a definition is, before the kind is read all the same.
const UNANSWERED: u32 = 3;

/// How often it is asked for the definition of a kind that it already serves. After its start, and after a definition was created or
/// upgraded, it takes a moment until that is published.
const UNPUBLISHED: u32 = 10;

/// Keeps the cache of a kind up to date. Returns why it can't where the kind's definition is another project's or an earlier version's.
pub(crate) async fn follow(
    cache: &Cache,
    api: &Api,
    kind: ResourceKind,
    namespace: &str,
) -> RunError {
    let ResourceKind { plural, group, .. } = kind;
    let mut follower = Follower {
        cache,
        api,
        kind,
        namespace,
        extent: Cache::extent(kind),
        version: None,
        failures: 0,
        unanswered: 0,
    };
    let mut broken: Option<Instant> = None;
    loop {
        let began = Instant::now();
        match follower.round(&mut broken).await {
            Ok(Origin::Foreign) => return RunError::Foreign { plural, group },
            Ok(Origin::Outdated) => return RunError::Outdated { plural, group },
            Ok(_) if began.elapsed() > SHORT => follower.failures = 0,
            Ok(_) => {
                follower.failures += 1;
                sleep(BROKEN.after(follower.failures)).await;
            }
            Err(error) => {
                follower.failures += 1;
                let since = *broken.get_or_insert_with(Instant::now);
                follower.broken(&error, since);
                match error.code() {
                    Some(404) => {
                        // Another project may define the kind next.
                        cache.origins.forget(kind).await;
                        if cache.installed(kind, ABSENT.after(follower.failures)).await {
                            follower.failures = 0;
                        }
                    }
                    code => sleep(delay(code, follower.failures)).await,
                }
            }
        }
    }
}

/// How long to wait after an answer and so many failures in a row.
fn delay(code: Option<u16>, failures: u32) -> Duration {
    match code {
        Some(429) => TOO_MANY.after(failures),
        _ => BROKEN.after(failures),
    }
}

struct Follower<'a> {
    cache: &'a Cache,
    api: &'a Api,
    kind: ResourceKind,
    /// Empty: all of them.
    namespace: &'a str,
    extent: Extent,
    /// The resourceVersion at which the next watch begins; none: list first.
    version: Option<String>,
    failures: u32,
    /// How often in a row it was not answered whose the definition is.
    unanswered: u32,
}

impl Follower<'_> {
    /// Returns whose the definition is, which is asked until it is known to be this project's.
    async fn origin(&mut self) -> Result<Origin, ApiError> {
        match self.cache.origins.of(self.api, self.kind).await {
            Ok(origin) => {
                self.unanswered = 0;
                Ok(origin)
            }
            Err(error) if self.unanswered < UNANSWERED => {
                self.unanswered += 1;
                Err(error)
            }
            Err(error) => {
                let why = error.shown(self.kind);
                warn!(kind = self.kind.kind, %why, "not known whose the definition is");
                Ok(Origin::Unknown)
            }
        }
    }

    /// Returns whose the definition of a kind is that was listed, so that it is published soon, as is one that has just been upgraded.
    async fn published(&mut self) -> Result<Origin, ApiError> {
        let mut origin = Origin::Unpublished;
        for _ in 0..UNPUBLISHED {
            origin = self.origin().await?;
            match origin {
                Origin::Unpublished | Origin::Outdated => sleep(SHORT).await,
                _ => break,
            }
        }
        Ok(origin)
    }

    /// Lists if necessary, and watches until the watch ends, unless the definition is another project's or an earlier version's. Returns
    /// whose it is.
    async fn round(&mut self, broken: &mut Option<Instant>) -> Result<Origin, ApiError> {
        let mut origin = self.origin().await?;
        if origin == Origin::Foreign {
            return Ok(origin);
        }
        let version = match self.version.clone() {
            Some(version) => {
                if origin == Origin::Outdated {
                    origin = self.published().await?;
                }
                version
            }
            None => {
                let version = self.list().await?;
                origin = self.published().await?;
                version
            }
        };
        if matches!(origin, Origin::Foreign | Origin::Outdated) {
            return Ok(origin);
        }
        if self.version.is_none() {
            self.live(broken);
            self.version = Some(version.clone());
        }
        let events = match self
            .api
            .watch(self.kind, self.namespace, self.extent, &version)
            .await
        {
            Err(error) if error.code() == Some(410) => {
                self.version = None;
                return Ok(origin);
            }
            other => other?,
        };
        self.live(broken);
        let mut events = pin!(events);
        while let Some(event) = events.try_next().await? {
            let reached = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.saw(&object).map(|seen| seen.resource_version)
                }
                WatchEvent::Deleted(object) => self.saw_deleted(&object),
                WatchEvent::Bookmark(mark) => Ok(Some(mark.metadata.resource_version)),
                WatchEvent::Error(status) if status.code == 410 => {
                    self.version = None;
                    return Ok(origin);
                }
                WatchEvent::Error(status) => return Err(ApiError::Refused(status)),
            };
            // All are listed again after an object that can't be understood: none is passed over.
            let last = self.version.take();
            self.version = reached?.or(last);
        }
        Ok(origin)
    }

    async fn list(&self) -> Result<String, ApiError> {
        let mut seen = BTreeSet::new();
        let (mut from, mut limit) = (String::new(), PAGE);
        loop {
            let page = self
                .api
                .list(self.kind, self.namespace, self.extent, &from, &mut limit)
                .await?;
            for item in page.items {
                seen.insert(self.saw(&item)?.place());
            }
            from = page.metadata.r#continue;
            if from.is_empty() {
                let version = page.metadata.resource_version;
                let reached = version.parse().unwrap_or_default();
                let gone = self
                    .cache
                    .objects(self.kind, self.namespace)
                    .map(|mut objects| objects.listed(&seen, reached));
                for (place, change) in gone.into_iter().flatten() {
                    self.cache.changed(self.kind, &place, &change);
                }
                return Ok(version);
            }
        }
    }

    fn saw(&self, received: &RawValue) -> Result<Identity, ApiError> {
        let identity = Identity::of(received)?;
        let place = identity.place();
        // The responses to this process's own writes are known, and so is most of a list that is read again.
        let version = identity.resource_version.as_deref().unwrap_or_default();
        let objects = self.cache.objects(self.kind, self.namespace);
        if objects.is_some_and(|mut objects| objects.reach(&place, version)) {
            return Ok(identity);
        }
        let object = serde_json::from_str(received.get());
        let mut object: Value = object.map_err(kube::Error::SerdeError)?;
        // The items of a list have no apiVersion and kind.
        object["apiVersion"] = self.kind.api_version().into();
        object["kind"] = self.kind.kind.into();
        let is_whole = self.extent == Extent::Whole;
        let seen = self.cache.seen(self.kind, &place, object, is_whole);
        let seen = seen.ok_or(ApiError::Metadata)?;
        let change = self
            .cache
            .objects(self.kind, self.namespace)
            .and_then(|mut objects| objects.saw(&place, seen));
        if let Some(change) = change {
            self.cache.changed(self.kind, &place, &change);
        }
        Ok(identity)
    }

    /// Removes an object. Returns its last resourceVersion.
    fn saw_deleted(&self, received: &RawValue) -> Result<Option<String>, ApiError> {
        let identity = Identity::of(received)?;
        let place = identity.place();
        let version = identity.resource_version.as_deref();
        let version = version.and_then(|version| version.parse().ok());
        let version = version.unwrap_or(u64::MAX);
        let change = self
            .cache
            .objects(self.kind, self.namespace)
            .and_then(|mut objects| objects.saw_deleted(&place, version));
        if let Some(change) = change {
            self.cache.changed(self.kind, &place, &change);
        }
        Ok(identity.resource_version)
    }

    fn live(&mut self, broken: &mut Option<Instant>) {
        self.failures = 0;
        *broken = None;
        self.cache.set_state(self.kind, self.namespace, State::Live);
    }

    fn broken(&mut self, error: &ApiError, since: Instant) {
        let kind = self.kind;
        let plural = format!("{}.{}", kind.plural, kind.group);
        let plural = plural.trim_end_matches('.');
        let code = error.code();
        if let Some(403 | 404) = code {
            self.version = None;
        }
        let why = match code {
            Some(404) => format!(
                "the kind {kind} ({plural}, {}) is not installed",
                kind.version
            ),
            Some(403) => format!(
                "the operator is not allowed to read {plural}: {}",
                error.shown(kind)
            ),
            _ => format!("{plural} can't be read now: {}", error.shown(kind)),
        };
        let is_recent = since.elapsed() < GRACE;
        let state = match (code, self.cache.state(kind, self.namespace)) {
            (Some(404), _) => State::Absent(why.into()),
            // An API server that has just started refuses everybody until it knows the roles.
            (_, State::Live | State::Stale(_)) if is_recent => State::Stale(why.into()),
            (Some(403), _) => State::Unknown(why.into()),
            (_, State::Starting) if is_recent => {
                warn!(kind = kind.kind, %why, "not looked at yet");
                return;
            }
            _ => State::Unknown(why.into()),
        };
        self.cache.set_state(kind, self.namespace, state);
    }
}

/// Which version of which object was received.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    name: String,
    namespace: Option<String>,
    resource_version: Option<String>,
}

impl Identity {
    /// Of an object, of which no more is parsed.
    fn of(received: &RawValue) -> Result<Self, ApiError> {
        #[derive(Deserialize)]
        struct Object {
            metadata: Identity,
        }
        let object = serde_json::from_str::<Object>(received.get());
        object
            .map(|object| object.metadata)
            .map_err(|_| ApiError::Metadata)
    }

    fn place(&self) -> Place {
        Place::new(self.namespace.as_deref().unwrap_or_default(), &self.name)
    }
}

#[cfg(test)]
mod tests {
    use provider_composer::Key;
    use serde_json::json;

    use super::*;
    use crate::testing::{SECRET, Server, things};

    #[tokio::test]
    async fn event_of_a_version_that_is_known_is_not_parsed() {
        let server = Server::default();
        let (cache, api) = (Cache::new(&things(), &[]), server.api());
        let follower = Follower {
            cache: &cache,
            api: &api,
            kind: SECRET,
            namespace: "",
            extent: Extent::Metadata,
            version: None,
            failures: 0,
            unanswered: 0,
        };
        let metadata =
            |version: &str| json!({ "name": "one", "namespace": "a", "resourceVersion": version });
        cache.learn(
            &Key::new(SECRET, "a", "one"),
            json!({ "metadata": metadata("2") }),
        );
        // JSON, and more than a number can be.
        let unreadable = |version: &str| {
            let text = format!(r#"{{"metadata":{},"spec":1e999}}"#, metadata(version));
            RawValue::from_string(text).unwrap()
        };
        for version in ["1", "2"] {
            assert!(follower.saw(&unreadable(version)).is_ok());
        }
        assert!(follower.saw(&unreadable("3")).is_err());
    }

    #[test]
    fn api_server_that_loads_a_kind_is_asked_again_within_seconds() {
        assert!((1..100).all(|failures| delay(Some(429), failures) <= Duration::from_secs(5)));
        assert!(delay(Some(429), 1) >= Duration::from_millis(500));
        assert!(delay(Some(500), 100) >= Duration::from_secs(15));
        assert!(delay(None, 100) >= Duration::from_secs(15));
    }
}
