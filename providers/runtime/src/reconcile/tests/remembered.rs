//! A status by which a composer remembers what it can't observe any more.

use std::time::Duration;

use provider_composer::{
    Composed, DesiredState, Failure, Key, ObservedState, Operator, ResourceKind, Use,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::testing::{Server, THING, WIDGET, composed, controller, facts, until, working};

/// Tries the value `new` of a Widget unless it has failed, which is seen as long as the Widget has the value.
struct Trier;

fn widget(uid: &Value, value: &str) -> Value {
    let owner = json!([{
        "apiVersion": "test/v1", "kind": "Thing", "name": "one", "uid": uid, "controller": true,
    }]);
    let metadata = json!({ "name": "one", "namespace": "a", "ownerReferences": owner });
    json!({ "metadata": metadata, "spec": { "a": value } })
}

impl Operator for Trier {
    facts! { "test-operator", THING, Unordered, [Use::composes(WIDGET)] }

    fn composed(
        &self,
        resource: &Value,
        observed: &ObservedState<'_>,
    ) -> Result<Composed, Failure> {
        let key = Key::new(WIDGET, "a", "one");
        let found = observed.object(&key).found();
        let fails = found.is_some_and(|widget| widget["spec"]["a"] == "new");
        let has_failed = fails || resource["status"]["hasFailed"] == true;
        let value = if has_failed { "old" } else { "new" };
        let mut desired = DesiredState::default();
        let wanted = widget(&resource["metadata"]["uid"], value);
        desired.objects.insert(key, wanted);
        composed(resource, desired, json!({ "hasFailed": has_failed }))
    }
}

#[tokio::test(start_paused = true)]
async fn status_remembers_what_the_write_before_it_has_undone() {
    let server = Server::default();
    let controller = controller(&server, vec![Box::new(Trier)], Vec::new());
    server.put(
        THING,
        "a",
        "one",
        json!({ "status": { "hasFailed": false } }),
    );
    server.put(WIDGET, "a", "one", widget(&json!("uid-1"), "new"));
    let has_failed = || server.get(THING, "a", "one").unwrap()["status"]["hasFailed"] == true;
    working(&controller, &[THING, WIDGET], async {
        until("the failure", has_failed).await;
        sleep(Duration::from_secs(10)).await;
        assert!(has_failed());
        let widget = server.get(WIDGET, "a", "one").unwrap();
        assert_eq!(widget["spec"]["a"], "old");
        let requests = server.requests("");
        let writes = requests.iter().filter(|line| !line.starts_with("GET"));
        assert_eq!(writes.count(), 2, "a Widget and a status: {requests:?}");
    })
    .await;
}
