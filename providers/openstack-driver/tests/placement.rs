//! The driver of Nova, against a server that answers as Placement does.

#![cfg(test)]

mod server;

use std::collections::BTreeSet;
use std::error::Error;
use std::net::Ipv4Addr;

use provider_hypervisor_pool::nova::{Change, Query, Question};
use provider_openstack_driver::Nova;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use server::{HOST, call, observe, ok, server, unavailable};

type Test = Result<(), Box<dyn Error>>;

/// Answers a request. The provider `b` isn't in the aggregate `u`, and `c` is. Nova has left the providers `a` and `d`; `d`
/// has two below it, and something is allocated of one of these, and of `busy`.
fn answer(request: &str) -> (u16, Value) {
    let provider = |uuid: &str, name: &str, parent: Option<&str>| json!({ "uuid": uuid, "name": name, "parent_provider_uuid": parent, "generation": 1, "links": [] });
    match request {
        "GET /v2.1/os-services?binary=nova-compute" => ok(json!({ "services": [] })),
        // Others aren't of compute nodes.
        "GET /placement/resource_providers?required=COMPUTE_NODE" => ok(json!({
            "resource_providers": [
                provider("a", "node-a", None),
                provider("b", "node-b", None),
                provider("c", "node-a.other.example.com", None),
                provider("d", "node-d.example.com", None),
                provider("d-gpu", "node-d.example.com_gpu", Some("d")),
                provider("e", "node-ab", None),
            ],
        })),
        "GET /placement/resource_providers?member_of=u" => {
            ok(json!({ "resource_providers": [provider("c", "node-c.example.com", None)] }))
        }
        "GET /placement/resource_providers/b/aggregates" => {
            ok(json!({ "aggregates": ["other"], "resource_provider_generation": 7 }))
        }
        "GET /placement/resource_providers/c/aggregates" => {
            ok(json!({ "aggregates": ["u"], "resource_provider_generation": 8 }))
        }
        "PUT /placement/resource_providers/b/aggregates"
        | "PUT /placement/resource_providers/b/traits" => ok(json!({})),
        "GET /placement/resource_providers?required=CUSTOM_TIER" => ok(json!({
            "resource_providers": [provider("b", "node-b", None), provider("c", "node-c.example.com", None)],
        })),
        "GET /placement/resource_providers?required=CUSTOM_PCI" => {
            ok(json!({ "resource_providers": [provider("b", "node-b", None)] }))
        }
        "GET /placement/traits?name=startswith:CUSTOM_" => {
            ok(json!({ "traits": ["CUSTOM_OTHER", "CUSTOM_PCI", "CUSTOM_REFUSED", "CUSTOM_TIER"] }))
        }
        // As for each trait that it doesn't have.
        "GET /placement/resource_providers?required=CUSTOM_NONE" => (400, json!({ "errors": [] })),
        "GET /placement/resource_providers?required=CUSTOM_REFUSED" => {
            (400, json!({ "errors": [] }))
        }
        "GET /placement/resource_providers/b/traits" => ok(json!({
            "traits": ["CUSTOM_PCI", "CUSTOM_TIER", "HW_CPU_X86_AVX"], "resource_provider_generation": 9,
        })),
        "GET /placement/resource_providers/c/traits" => {
            ok(json!({ "traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": 9 }))
        }
        // Another host has the name of node-a, with a domain.
        "GET /v2.1/os-hypervisors/c" => ok(json!({ "hypervisor": { "id": "c" } })),
        "GET /placement/resource_providers?in_tree=a" => {
            ok(json!({ "resource_providers": [provider("a", "node-a", None)] }))
        }
        "GET /placement/resource_providers/a/allocations"
        | "GET /placement/resource_providers/d/allocations" => {
            ok(json!({ "allocations": {}, "resource_provider_generation": 1 }))
        }
        "GET /placement/resource_providers/d-vf/allocations" => ok(json!({
            "allocations": { "server": { "resources": { "SRIOV_NET_VF": 1 } } }, "resource_provider_generation": 1,
        })),
        "GET /placement/resource_providers?in_tree=d" => ok(json!({ "resource_providers": [
            provider("d", "node-d.example.com", None),
            provider("d-gpu", "node-d.example.com_gpu", Some("d")),
            provider("d-vf", "node-d.example.com_vf", Some("d-gpu")),
        ] })),
        "GET /placement/resource_providers?in_tree=gone" => ok(json!({ "resource_providers": [] })),
        "GET /placement/resource_providers?in_tree=busy" => {
            ok(json!({ "resource_providers": [provider("busy", "node-b", None)] }))
        }
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
        json!({
            "a": { "host": "node-a", "is_allocated": false },
            "d": { "host": "node-d", "is_allocated": true },
        }),
        "d-gpu is gone meanwhile"
    );
    let log = log.lock().unwrap();
    assert_eq!(
        log[0],
        "GET /placement/resource_providers?required=COMPUTE_NODE placement 1.19"
    );
    assert_eq!(log.len(), 10, "{log:?}");
    Ok(())
}

/// Its resource provider is not one that is left.
#[tokio::test]
async fn hypervisor_that_can_not_be_read_may_exist() -> Test {
    let (mut access, _) = server(answer).await?;
    access.clouds = access.clouds.replace("/v2.1", "/down");
    let hosts = hosts(["node-a", "node-c", "node-d"]);
    let why = format!("Nova at {HOST} answered 500 to the request for a hypervisor");
    let question = Question::Leftovers { hosts };
    assert_eq!(observe(&access, question).await, unavailable(why));
    Ok(())
}

/// As an older nova-operator writes it.
#[tokio::test]
async fn clouds_yaml_without_placement_is_no_answer_that_there_is_no_provider() -> Test {
    let (mut access, log) = server(answer).await?;
    access.clouds = access.clouds.replace("placement_endpoint", "former");
    let hosts = hosts(["node-a", "node-c", "node-d"]);
    let aggregate = "u".to_owned();
    for question in [
        Question::Leftovers { hosts },
        Question::Members { aggregate },
        Question::Traits {
            traits: BTreeSet::from(["CUSTOM_TIER".to_owned()]),
        },
    ] {
        assert_eq!(observe(&access, question).await?, Value::Null);
    }
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
    let why = format!(
        "Placement at {HOST} keeps the resource provider busy of node-b, which doesn't exist in Nova any more, because \
         something is allocated there: see `openstack resource provider show --allocations busy`, and remove allocations of servers that \
         run on other hosts or don't exist any more by `openstack resource provider allocation unset --provider busy SERVER`"
    );
    let change = Change::DeleteProvider { id, host };
    assert_eq!(call(&access, change).await, unavailable(why));
    Ok(())
}

#[tokio::test]
async fn resource_providers_of_an_aggregate_are_read() -> Test {
    let (access, log) = server(answer).await?;
    let aggregate = "u".to_owned();
    assert_eq!(
        observe(&access, Question::Members { aggregate }).await?,
        json!({ "c": "node-c.example.com" })
    );
    assert_eq!(
        *log.lock().unwrap(),
        ["GET /placement/resource_providers?member_of=u placement 1.19"]
    );
    Ok(())
}

fn join(provider: &str, host: &str) -> Change {
    Change::JoinProvider {
        aggregate: "u".to_owned(),
        provider: provider.to_owned(),
        host: host.to_owned(),
    }
}

#[tokio::test]
async fn resource_provider_joins_an_aggregate_and_stays_in_others() -> Test {
    let (access, log) = server(answer).await?;
    for (provider, host) in [("b", "node-b"), ("c", "node-c")] {
        call(&access, join(provider, host)).await?;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            "GET /placement/resource_providers/b/aggregates placement 1.19",
            r#"PUT /placement/resource_providers/b/aggregates placement 1.19 {"aggregates": Array [String("other"), String("u")], "resource_provider_generation": Number(7)}"#,
            "GET /placement/resource_providers/c/aggregates placement 1.19",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn resource_providers_with_traits_have_those_that_are_sought() -> Test {
    let (access, log) = server(answer).await?;
    let traits = hosts(["CUSTOM_TIER", "CUSTOM_PCI", "CUSTOM_NONE"]);
    assert_eq!(
        observe(&access, Question::Traits { traits }).await?,
        json!({
            "b": { "name": "node-b", "traits": ["CUSTOM_PCI", "CUSTOM_TIER"] },
            "c": { "name": "node-c.example.com", "traits": ["CUSTOM_TIER"] },
        }),
        "Placement refuses a trait that it doesn't have"
    );
    assert_eq!(
        *log.lock().unwrap(),
        [
            "GET /placement/traits?name=startswith:CUSTOM_ placement 1.19",
            "GET /placement/resource_providers?required=CUSTOM_PCI placement 1.19",
            "GET /placement/resource_providers?required=CUSTOM_TIER placement 1.19",
        ]
    );
    Ok(())
}

/// Otherwise the trait would be forgotten.
#[tokio::test]
async fn refused_request_for_a_trait_is_no_answer_that_no_resource_provider_has_it() -> Test {
    let (access, _) = server(answer).await?;
    let traits = BTreeSet::from(["CUSTOM_REFUSED".to_owned()]);
    let why = format!("Placement at {HOST} answered 400 to resource_providers");
    let question = Question::Traits { traits };
    assert_eq!(observe(&access, question).await, unavailable(why));
    Ok(())
}

#[tokio::test]
async fn resource_provider_loses_traits_and_keeps_others() -> Test {
    let (access, log) = server(answer).await?;
    for provider in ["b", "c", "gone"] {
        let change = Change::RemoveTraits {
            provider: provider.to_owned(),
            traits: BTreeSet::from(["CUSTOM_TIER".to_owned()]),
        };
        call(&access, change).await?;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            "GET /placement/resource_providers/b/traits placement 1.19",
            r#"PUT /placement/resource_providers/b/traits placement 1.19 {"resource_provider_generation": Number(9), "traits": Array [String("CUSTOM_PCI"), String("HW_CPU_X86_AVX")]}"#,
            "GET /placement/resource_providers/c/traits placement 1.19",
            "GET /placement/resource_providers/gone/traits placement 1.19",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn resource_provider_that_does_not_exist_yet_is_waited_for() -> Test {
    let (access, _) = server(answer).await?;
    let why = format!(
        "Placement at {HOST} has no resource provider of node-b yet: nova-compute creates it after its start; where that lasts, see \
         the log of its pod"
    );
    assert_eq!(
        call(&access, join("later", "node-b")).await,
        unavailable(why)
    );
    Ok(())
}

/// Otherwise a Placement that is away would let no compute service be disabled.
#[tokio::test]
async fn silent_placement_keeps_nobody_from_nova() -> Test {
    let (mut access, _) = server(answer).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let mut clouds: Value = serde_json::from_str(&access.clouds)?;
    let url = format!("http://{HOST}:{}", listener.local_addr()?.port());
    clouds["clouds"]["nova"]["placement_endpoint_override"] = json!(url);
    access.clouds = clouds.to_string();
    let query = |question| {
        let access = access.clone();
        json!(Query { access, question }).to_string()
    };
    let aggregate = "u".to_owned();
    let members = query(Question::Members { aggregate });
    let services = query(Question::Services);
    let nova = Nova::default();
    assert_eq!(nova.observe(&services).await?, json!({}));

    tokio::time::pause();
    let refusal = nova.observe(&members).await;
    assert!(
        matches!(&refusal, Err(DriverError::Unavailable(why)) if why.ends_with("did not answer within 10 s")),
        "{refusal:?}"
    );
    tokio::time::resume();
    assert_eq!(nova.observe(&services).await?, json!({}));
    assert_eq!(nova.observe(&members).await, refusal);
    Ok(())
}
