//! The controller reconciles as the suite says, on an API server in memory.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use provider_composer::{Key, Operator, Resource, ResourceKind};
use provider_composer_testing::conformance::{CASES, Runtime, SUBJECT};
use serde_json::Value;
use tokio::time::sleep;

use crate::testing::{CONFIG_MAP, SECRET, Server, controller, working};

/// Longer than anything takes that isn't retried.
const SETTLED: Duration = Duration::from_secs(30);

/// A controller that starts for each reconcile.
struct OnServer {
    server: Server,
    executor: tokio::runtime::Runtime,
}

impl Runtime for OnServer {
    fn put(&mut self, key: &Key, mut object: Value) {
        if let Some(live) = self.get(key)
            && let Some(status) = live.get("status")
        {
            object["status"] = status.clone();
        }
        self.server.put(key.kind, namespace(key), &key.name, object);
    }

    fn get(&self, key: &Key) -> Option<Value> {
        self.server.get(key.kind, namespace(key), &key.name)
    }

    fn delete(&mut self, key: &Key) {
        self.server.delete(key.kind, namespace(key), &key.name);
    }

    fn set_readable(&mut self, kind: ResourceKind, readable: bool) {
        let forbidden = &mut self.server.state().forbidden;
        match readable {
            true => forbidden.remove(kind.plural),
            false => forbidden.insert(kind.plural),
        };
    }

    fn reconcile_by(&mut self, operator: Box<dyn Operator>) {
        let kinds = [SUBJECT, CONFIG_MAP, SECRET, Deployment::KIND];
        self.executor.block_on(async {
            let controller = controller(&self.server, vec![operator], Vec::new());
            working(&controller, &kinds, sleep(SETTLED)).await;
        });
    }

    fn writes(&self) -> usize {
        let requests = self.server.requests("");
        let is_write = |line: &&String| !line.starts_with("GET") && !line.contains("events.k8s.io");
        requests.iter().filter(is_write).count()
    }

    fn events(&self) -> Vec<[String; 3]> {
        let events = self.server.state().events.clone().into_iter();
        let text = |field: &Value| field.as_str().unwrap().to_owned();
        let shown = events.map(|event| ["type", "reason", "note"].map(|field| text(&event[field])));
        shown.collect()
    }
}

fn namespace(key: &Key) -> &str {
    key.namespace.as_deref().unwrap_or_default()
}

#[test]
fn controller_conforms() {
    for (name, case) in CASES {
        println!("{name}");
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        case(&mut OnServer {
            server: Server::default(),
            executor: executor.unwrap(),
        });
    }
}
