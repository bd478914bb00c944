//! The driver of Nova, against a server that answers as Placement does.

#![cfg(test)]

mod server;

use std::collections::BTreeSet;
use std::error::Error;

use provider_hypervisor_pool::nova::{Change, Question};
use provider_runtime::DriverError;
use serde_json::{Value, json};

use server::{HOST, call, observe, server};

type Test = Result<(), Box<dyn Error>>;

/// Answers a request. Nova has left the providers `a` and `d`; `d` has two below it, and something is allocated of `busy`.
fn answer(request: &str) -> (u16, Value) {
    let provider = |uuid: &str, name: &str, parent: Option<&str>| json!({ "uuid": uuid, "name": name, "parent_provider_uuid": parent, "generation": 1, "links": [] });
    match request {
        "POST /v3/auth/tokens" => (
            201,
            json!({ "token": { "expires_at": "2999-01-01T00:00:00.000000Z" } }),
        ),
        "GET /placement/resource_providers" => (
            200,
            json!({ "resource_providers": [
                provider("a", "node-a", None),
                provider("b", "node-b", None),
                provider("c", "node-a.other.example.com", None),
                provider("d", "node-d.example.com", None),
                provider("d-gpu", "node-d.example.com_gpu", Some("d")),
                provider("e", "node-ab", None),
            ] }),
        ),
        // Another host has the name of node-a, with a domain.
        "GET /v2.1/os-hypervisors/c" => (200, json!({ "hypervisor": { "id": "c" } })),
        "GET /placement/resource_providers?in_tree=d" => (
            200,
            json!({ "resource_providers": [
                provider("d", "node-d.example.com", None),
                provider("d-gpu", "node-d.example.com_gpu", Some("d")),
                provider("d-vf", "node-d.example.com_vf", Some("d-gpu")),
            ] }),
        ),
        "GET /placement/resource_providers?in_tree=gone" => {
            (200, json!({ "resource_providers": [] }))
        }
        "GET /placement/resource_providers?in_tree=busy" => (
            200,
            json!({ "resource_providers": [provider("busy", "node-b", None)] }),
        ),
        "DELETE /placement/resource_providers/d"
        | "DELETE /placement/resource_providers/d-gpu"
        | "DELETE /placement/resource_providers/d-vf" => (204, Value::Null),
        "DELETE /placement/resource_providers/busy" => (409, json!({ "errors": [] })),
        // The database of a cell is down.
        "GET /down/os-hypervisors/a" => (500, json!({})),
        _ => (404, json!({})),
    }
}

fn hosts(names: [&str; 3]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[tokio::test]
async fn resource_providers_without_a_hypervisor_are_left_of_their_hosts() -> Test {
    let (access, log) = server(answer).await?;
    let hosts = hosts(["node-a", "node-c", "node-d"]);
    assert_eq!(
        observe(&access, Question::Leftovers { hosts }).await?,
        json!({ "a": "node-a", "d": "node-d" })
    );
    let log = log.lock().unwrap();
    assert_eq!(log[0], "GET /placement/resource_providers placement 1.19");
    assert_eq!(log.len(), 4, "{log:?}");
    Ok(())
}

/// Its resource provider is not one that is left.
#[tokio::test]
async fn hypervisor_that_can_not_be_read_may_exist() -> Test {
    let (mut access, _) = server(answer).await?;
    access.clouds = access.clouds.replace("/v2.1", "/down");
    let hosts = hosts(["node-a", "node-c", "node-d"]);
    assert_eq!(
        observe(&access, Question::Leftovers { hosts }).await,
        Err(DriverError::Unavailable(format!(
            "Nova at {HOST} answered 500 to the request for a hypervisor"
        )))
    );
    Ok(())
}

/// As an older nova-operator writes it.
#[tokio::test]
async fn clouds_yaml_without_placement_is_no_answer_that_nothing_is_left() -> Test {
    let (mut access, log) = server(answer).await?;
    access.clouds = access.clouds.replace("placement_endpoint", "former");
    let hosts = hosts(["node-a", "node-c", "node-d"]);
    assert_eq!(
        observe(&access, Question::Leftovers { hosts }).await?,
        Value::Null
    );
    assert!(log.lock().unwrap().is_empty());
    Ok(())
}

#[tokio::test]
async fn resource_provider_is_deleted_after_those_below_it() -> Test {
    let (access, log) = server(answer).await?;
    for (id, host) in [("d", "node-d"), ("gone", "node-a")] {
        let (id, host) = (id.to_owned(), host.to_owned());
        call(&access, Change::DeleteProvider { id, host }).await?;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            "GET /placement/resource_providers?in_tree=d placement 1.19",
            "DELETE /placement/resource_providers/d-vf placement 1.19",
            "DELETE /placement/resource_providers/d-gpu placement 1.19",
            "DELETE /placement/resource_providers/d placement 1.19",
            "GET /placement/resource_providers?in_tree=gone placement 1.19",
            "DELETE /placement/resource_providers/gone placement 1.19",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn resource_provider_with_allocations_stays() -> Test {
    let (access, _) = server(answer).await?;
    let (id, host) = ("busy".to_owned(), "node-b".to_owned());
    let refusal = call(&access, Change::DeleteProvider { id, host }).await;
    assert_eq!(
        refusal,
        Err(DriverError::Unavailable(format!(
            "Placement at {HOST} keeps the resource provider busy of node-b, which Nova has no more, because something is allocated \
             there: see `openstack resource provider show --allocations busy`, and remove what is of servers elsewhere or of none by \
             `openstack resource provider allocation unset --provider busy SERVER`"
        )))
    );
    Ok(())
}
