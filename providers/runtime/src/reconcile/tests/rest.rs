//! What is kept of objects while their owner rests.

use std::time::Duration;

use provider_composer::{
    Composed, Deletion, DesiredState, Failure, Key, ObservedState, Operator, ResourceKind, Use,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::testing::{Server, THING, WIDGET, composed, controller, until, working};

/// Composes the objects `read` and `unread` of a kind, looks up the first, and asks which there are.
pub(super) struct Maker(pub(super) ResourceKind);

impl Operator for Maker {
    fn name(&self) -> &'static str {
        "test-operator"
    }

    fn subject(&self) -> ResourceKind {
        THING
    }

    fn deletion(&self) -> Deletion {
        Deletion::Unordered
    }

    fn uses(&self) -> Vec<Use> {
        vec![Use::composes(self.0)]
    }

    fn composed(
        &self,
        resource: &Value,
        observed: &ObservedState<'_>,
    ) -> Result<Composed, Failure> {
        let owner = json!([{
            "apiVersion": "test/v1", "kind": "Thing", "name": "one", "uid": resource["metadata"]["uid"], "controller": true,
        }]);
        let mut desired = DesiredState::default();
        for name in ["read", "unread"] {
            let metadata = json!({ "name": name, "namespace": "a", "ownerReferences": owner });
            let object = json!({ "metadata": metadata, "spec": { "a": "1" } });
            desired.objects.insert(Key::new(self.0, "a", name), object);
        }
        observed.keys(self.0, "a", &[]);
        let read = observed.object(&Key::new(self.0, "a", "read"));
        let status = json!({ "isThere": read.found().is_some() });
        composed(resource, desired, status)
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_nobody_looked_up_are_dropped_and_neither_read_nor_missed() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Maker(WIDGET))], Vec::new());
    server.put(THING, "a", "one", json!({}));
    let cache = &controller.cache;
    let has_body = |name: &str| {
        let entry = cache.find(&Key::new(WIDGET, "a", name)).found();
        entry.map(|entry| entry.is_whole())
    };
    let value = || server.get(WIDGET, "a", "unread").unwrap()["spec"]["a"].clone();
    working(&controller, &[THING, WIDGET], async {
        until("a rest", || has_body("unread") == Some(false)).await;
        assert_eq!(has_body("read"), Some(true));
        assert_eq!(
            server.get(THING, "a", "one").unwrap()["status"]["isThere"],
            true
        );

        let requests = server.requests("");
        let writes = requests.iter().filter(|line| !line.starts_with("GET"));
        assert_eq!(
            writes.count(),
            3,
            "two Widgets and one status: {requests:?}"
        );
        cache.wake_operator("test-operator");
        sleep(Duration::from_secs(10)).await;
        assert_eq!(server.requests(""), requests);

        let mut drifted = server.get(WIDGET, "a", "unread").unwrap();
        drifted["spec"]["a"] = json!("2");
        server.put(WIDGET, "a", "unread", drifted);
        assert_eq!(value(), "2");
        until("the repair", || value() == "1").await;
        until("a rest", || has_body("unread") == Some(false)).await;
    })
    .await;
}
