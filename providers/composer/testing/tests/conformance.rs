//! The cluster in memory passes the conformance suite of reconciles, and its store the cases of the API server.

use provider_composer::{Key, Operator, ResourceKind};
use provider_composer_testing::api_server::{self, UNKNOWN};
use provider_composer_testing::conformance::{CASES, Runtime, subject};
use provider_composer_testing::{Cluster, Store};
use serde_json::Value;

struct InMemory(Cluster);

impl Runtime for InMemory {
    fn put(&mut self, key: &Key, object: Value) {
        self.0.put(key, &object);
    }

    fn get(&self, key: &Key) -> Option<Value> {
        self.0.get(key).cloned()
    }

    fn delete(&mut self, key: &Key) {
        self.0.delete(key);
    }

    fn set_readable(&mut self, kind: ResourceKind, readable: bool) {
        self.0.set_kind_readable(kind, readable);
    }

    fn reconcile_by(&mut self, operator: Box<dyn Operator>) {
        self.0.settle(operator.as_ref(), &subject());
    }

    fn writes(&self) -> usize {
        self.0.writes()
    }

    fn events(&self) -> Vec<[String; 3]> {
        let events = self.0.events().iter();
        let shown = events.map(|event| {
            let type_ = if event.is_warning {
                "Warning"
            } else {
                "Normal"
            };
            [type_.to_owned(), event.reason.clone(), event.note.clone()]
        });
        shown.collect()
    }
}

#[test]
fn cluster_in_memory_conforms() {
    for (name, case) in CASES {
        println!("{name}");
        case(&mut InMemory(Cluster::default()));
    }
}

#[test]
fn store_answers_as_an_api_server_does() {
    for (name, case) in api_server::CASES {
        println!("{name}");
        case(&mut Store::default().without(UNKNOWN));
    }
}
