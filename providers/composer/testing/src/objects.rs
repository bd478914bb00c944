//! The objects of the cluster, as composers look them up and as their operators write them.

use std::sync::Arc;

use jiff::Timestamp;
use provider_composer::reconcile::memory::{Objects, set_labels};
use provider_composer::reconcile::{Controller, Event, Existing, Reconcile, Write};
use provider_composer::{
    ExternalRequest, Failure, Key, Lookup, Owner, Reason, ResourceKind, Selection, Source,
};
use serde_json::{Value, json};

use crate::Cluster;
use crate::api_server::Request;

impl Source for Cluster {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        match self.contents.store.objects.get(key) {
            _ if self.contents.unreadable.contains(key) => {
                Lookup::Unknown(format!("{key} can't be read"))
            }
            _ if self.contents.unreadable_kinds.contains(&key.kind) => {
                Lookup::Unknown(format!("{} can't be read", key.kind.plural))
            }
            _ if self.contents.absent_kinds.contains(&key.kind) => {
                Lookup::Unknown(format!("{} are not installed", key.kind.plural))
            }
            Some(object) => Lookup::Found(Arc::clone(object)),
            None => Lookup::Missing,
        }
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        let kind = selection.kind;
        if self.contents.unreadable_kinds.contains(&kind) {
            return Lookup::Unknown(format!("{} can't be read", kind.plural));
        }
        if self.contents.absent_kinds.contains(&kind) {
            return Lookup::Unknown(format!("{} are not installed", kind.plural));
        }
        if !self.is_readable(kind, &selection.namespace) {
            return Lookup::Unknown(format!("{} can't be listed", kind.plural));
        }
        let first = Key::new(kind, &selection.namespace, "");
        let all = self.contents.store.objects.range(first.clone()..);
        let all = all.take_while(|(key, _)| key.kind == kind && key.namespace == first.namespace);
        let labelled = all.filter(|(_, object)| selection.labels_match(object));
        Lookup::Found(labelled.map(|(_, object)| Arc::clone(object)).collect())
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        let system = self.systems.get(request.system);
        match system.and_then(|system| system.answer(&request.content)) {
            Some(answer) => Lookup::Found(Arc::new(answer)),
            None => Lookup::Unknown(format!("{} doesn't answer", request.system)),
        }
    }

    fn is_installed(&self, kind: ResourceKind, _: &str) -> bool {
        !self.contents.absent_kinds.contains(&kind)
    }
}

impl Objects for Cluster {
    fn now(&self) -> Timestamp {
        self.contents.store.now
    }

    fn existing(&self, reconcile: Reconcile<'_>, key: &Key) -> Lookup<Existing> {
        let uid = self.uid(reconcile.subject);
        let management = self.management(reconcile.operator, key);
        self.object(key)
            .map(|object| Existing::of(&object, |owner| owner["uid"].as_str() == uid, management))
    }

    fn controlled(&self, reconcile: Reconcile<'_>) -> Vec<(Key, Existing)> {
        let uid = self.uid(reconcile.subject);
        let existing = self.contents.store.objects.iter().map(|(key, object)| {
            let management = self.management(reconcile.operator, key);
            let is_subject = |owner: &Value| owner["uid"].as_str() == uid;
            (key, Existing::of(object, is_subject, management))
        });
        let controlled = existing.filter(|(_, it)| it.controller == Controller::Subject);
        controlled
            .map(|(key, existing)| (key.clone(), existing))
            .collect()
    }

    fn is_readable(&self, kind: ResourceKind, namespace: &str) -> bool {
        let mut unreadable = self.contents.unreadable.iter();
        !self.contents.unreadable_kinds.contains(&kind)
            && !unreadable.any(|key| is_of(key, kind, namespace))
    }

    fn write(&mut self, reconcile: Reconcile<'_>, owner: &Owner, key: &Key, write: Write<'_>) {
        let operator = reconcile.operator.name();
        match write {
            Write::Apply(wanted) => {
                let apply = Request::Apply {
                    manager: operator,
                    fields: wanted.clone(),
                    force: true,
                };
                self.request(key, apply);
            }
            Write::Label { labels, .. } => self.edit(key, |live| set_labels(live, labels)),
            Write::Generate(generated) => self.generate(reconcile, owner, key, generated),
        }
    }

    fn delete(&mut self, key: &Key) {
        Self::delete(self, key);
    }

    fn call(&mut self, _: &Key, call: &ExternalRequest) -> Result<(), Failure> {
        if self.contents.writes < self.last
            && let Some(system) = self.systems.get_mut(call.system)
        {
            let called = system.call(&call.content);
            called.map_err(|why| Failure::transient(Reason::SystemUnavailable, why))?;
            self.contents.writes += 1;
            let call = (call.system.to_owned(), call.content.clone());
            self.contents.calls.push(call);
        }
        Ok(())
    }

    fn set_finalizer(&mut self, subject: &Key, finalizer: &str, wanted: bool) {
        self.edit(subject, |object| {
            let finalizers = object["metadata"]["finalizers"].as_array();
            let mut finalizers = finalizers.cloned().unwrap_or_default();
            finalizers.retain(|other| other != finalizer);
            finalizers.extend(wanted.then(|| json!(finalizer)));
            object["metadata"]["finalizers"] = json!(finalizers);
        });
    }

    fn report(&mut self, subject: &Key, status: Value, events: Vec<Event>) {
        let before = self.contents.writes;
        self.set_status(subject, status);
        if self.contents.writes > before {
            self.contents.events.extend(events);
        }
    }
}

/// Whether a key is of a kind, and in a namespace or of the whole cluster.
fn is_of(key: &Key, kind: ResourceKind, namespace: &str) -> bool {
    let own = key.namespace.as_deref();
    key.kind == kind && own.is_none_or(|own| own == namespace)
}
