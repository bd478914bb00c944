//! Watches of the API server in memory.

use futures::channel::mpsc::UnboundedSender;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::content::shown;

/// A change of an object.
pub(super) struct Change {
    pub type_: &'static str,
    pub plural: String,
    pub namespace: String,
    pub object: Value,
}

/// A watcher, by what it watches.
pub(super) struct Watch {
    pub plural: String,
    pub namespace: Option<String>,
    pub metadata: bool,
    pub events: UnboundedSender<Bytes>,
}

impl Watch {
    /// Whether a watcher is still connected.
    pub fn tell(&self, change: &Change) -> bool {
        let namespace = self.namespace.as_ref();
        let concerns = self.plural == change.plural
            && namespace.is_none_or(|wanted| *wanted == change.namespace);
        let object = shown(&change.object, self.metadata);
        let event = json!({ "type": change.type_, "object": object });
        !concerns
            || self
                .events
                .unbounded_send(format!("{event}\n").into())
                .is_ok()
    }
}
