//! Kubernetes Events for changed conditions.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt, stream};
use jiff::Timestamp;
use provider_composer::reconcile::Event;
use provider_composer::{Key, ResourceKind};
use serde_json::json;
use tokio::time::Instant;
use tracing::debug;

use crate::api::Api;
use crate::lease_guard::LeaseGuard;
use crate::reconcile::AT_ONCE;

const EVENT: ResourceKind = ResourceKind::namespaced("events.k8s.io", "v1", "Event", "events");

/// An event isn't repeated within this time.
const ONCE: Duration = Duration::from_secs(600);

/// The largest note that the API server accepts.
const LONGEST: usize = 1000;

/// Writes events. An event that can't be written is dropped: the condition has the same message.
pub(crate) struct Events {
    api: Api,
    /// The identity of this replica.
    instance: String,
    published: Mutex<HashMap<(String, String, String), Instant>>,
}

impl Events {
    pub(crate) fn new(api: Api, instance: String) -> Self {
        Self {
            api,
            instance,
            published: Mutex::default(),
        }
    }

    /// Writes those that are new, a few at a time.
    pub(crate) async fn publish(
        &self,
        guard: &LeaseGuard,
        operator: &str,
        subject: &Key,
        uid: &str,
        events: &[Event],
    ) {
        let new = events.iter().filter(|event| self.is_new(uid, event));
        let writes: Vec<_> = new
            .map(|event| self.write(guard, operator, subject, uid, event))
            .collect();
        stream::iter(writes)
            .for_each_concurrent(AT_ONCE, |write| write)
            .await;
    }

    async fn write(
        &self,
        guard: &LeaseGuard,
        operator: &str,
        subject: &Key,
        uid: &str,
        new: &Event,
    ) {
        let now = Timestamp::now();
        let namespace = subject.namespace.as_deref().unwrap_or("default");
        let stem: String = subject.name.chars().take(200).collect();
        let name = format!("{stem}.{:x}{:04x}", now.as_microsecond(), fastrand::u16(..));
        let event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": { "name": name, "namespace": namespace },
            "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
            "reportingController": operator,
            "reportingInstance": self.instance,
            "action": "Reconcile",
            "reason": new.reason,
            "type": if new.is_warning { "Warning" } else { "Normal" },
            "note": new.note.chars().take(LONGEST).collect::<String>(),
            "regarding": {
                "apiVersion": subject.kind.api_version(),
                "kind": subject.kind.kind,
                "name": subject.name,
                "namespace": subject.namespace,
                "uid": uid,
            },
        });
        let key = Key::new(EVENT, namespace, &name);
        if let Err(error) = self.api.create(guard, operator, &key, &event).await {
            debug!(%error, "an event is lost");
        }
    }

    fn is_new(&self, uid: &str, event: &Event) -> bool {
        let now = Instant::now();
        let mut published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        published.retain(|_, until| *until > now);
        let what = format!("{}/{}", event.status, event.reason);
        published
            .insert((uid.to_owned(), event.condition.clone(), what), now + ONCE)
            .is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Server, THING};

    #[tokio::test(start_paused = true)]
    async fn events_of_one_status_are_written_together_and_each_once() {
        let server = Server::default();
        let pause = Duration::from_secs(1);
        server.state().delay = Some(("/events", pause));
        let published = Events::new(server.api(), "test".to_owned());
        let of = |condition: &str| Event {
            condition: condition.to_owned(),
            status: "True".to_owned(),
            reason: "Ready".to_owned(),
            note: format!("{condition} is True"),
            is_warning: false,
        };
        let events = ["DatabaseReady", "APIReady", "Ready"].map(of);
        let (guard, subject) = (LeaseGuard::forever(), Key::new(THING, "a", "one"));
        let began = Instant::now();
        for _ in 0..2 {
            let publish = published.publish(&guard, "things", &subject, "1", &events);
            publish.await;
        }
        assert!(began.elapsed() < pause * 2, "{:?}", began.elapsed());
        assert_eq!(server.state().events.len(), events.len());
    }
}
