//! How often a reconcile composes right after the start of its operator, each time with what was read since.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use provider_composer::reconcile::Management;
use provider_composer::{
    ExternalRequest, Key, Lookup, ObservedState, Operator, ResourceKind, Selection, Source,
};
use serde_json::Value;

use crate::Cluster;

/// What is read by itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Read {
    Object(Key),
    External(ExternalRequest),
}

/// The cluster as an operator knows it that has listed every kind: of Secrets, ConfigMaps, and objects that others manage, it knows
/// only the metadata until it has read them.
struct Listed<'a> {
    cluster: &'a Cluster,
    operator: &'a dyn Operator,
    read: &'a BTreeSet<Read>,
    wanted: RefCell<BTreeSet<Read>>,
}

impl Cluster {
    /// Returns how often a reconcile composes if its operator runs alone and has just started. The last time, nothing is missing.
    ///
    /// # Panics
    /// There is no such resource.
    pub fn rounds(&self, operator: &dyn Operator, key: &Key) -> usize {
        let resource = self.get(key);
        assert!(resource.is_some(), "{key} doesn't exist");
        let resource = resource.unwrap_or(&Value::Null);
        let mut read = BTreeSet::new();
        let mut rounds = 0;
        loop {
            rounds += 1;
            let listed = Listed {
                cluster: self,
                operator,
                read: &read,
                wanted: RefCell::default(),
            };
            {
                let observed = ObservedState::new(&listed, self.now());
                // While something is missing, it may fail.
                let _ = operator.composed(resource, &observed);
            }
            let wanted = listed.wanted.into_inner();
            if wanted.is_empty() {
                return rounds;
            }
            read.extend(wanted);
        }
    }
}

impl Listed<'_> {
    fn is_known(&self, key: &Key) -> bool {
        let (kind, operator) = (key.kind, self.operator);
        let name = (kind.group, kind.kind);
        let prefix = operator.namespace_prefix();
        let namespace = key.namespace.as_deref().unwrap_or_default();
        match name {
            ("", "Secret" | "ConfigMap") => false,
            ("", "Node") => true,
            _ => {
                kind == operator.subject()
                    || self.cluster.management(operator, key) == Management::Applied
                    || prefix.is_some_and(|prefix| namespace.starts_with(prefix))
            }
        }
    }

    fn look(&self, key: &Key, object: Arc<Value>) -> Lookup<Arc<Value>> {
        let read = Read::Object(key.clone());
        match self.is_known(key) || self.read.contains(&read) {
            true => Lookup::Found(object),
            false => self.want(read),
        }
    }

    fn want<T>(&self, read: Read) -> Lookup<T> {
        self.wanted.borrow_mut().insert(read);
        Lookup::Unknown("it is being read".to_owned())
    }
}

impl Source for Listed<'_> {
    fn object(&self, key: &Key) -> Lookup<Arc<Value>> {
        let object = self.cluster.object(key);
        object.and_then(|object| self.look(key, object))
    }

    fn objects(&self, selection: &Selection) -> Lookup<Vec<Arc<Value>>> {
        let keys = self.keys(selection);
        keys.and_then(|keys| keys.iter().map(|key| self.object(key)).collect())
    }

    fn keys(&self, selection: &Selection) -> Lookup<Vec<Key>> {
        self.cluster.keys(selection)
    }

    fn external(&self, request: &ExternalRequest) -> Lookup<Arc<Value>> {
        let read = Read::External(request.clone());
        match self.read.contains(&read) {
            true => self.cluster.external(request),
            false => self.want(read),
        }
    }

    fn is_installed(&self, kind: ResourceKind, namespace: &str) -> bool {
        self.cluster.is_installed(kind, namespace)
    }
}
