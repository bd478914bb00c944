//! The driver of Nova, against a server that answers as Keystone, Nova and Neutron do.

#![cfg(test)]

mod server;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::Ipv4Addr;
use std::time::Duration;

use provider_hypervisor_pool::nova::{Change, Query, Question};
use provider_openstack_driver::Nova;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

use server::{HOST, access, call, observe, server};

type Test = Result<(), Box<dyn Error>>;

/// Answers a request; 409 to the deletion of the service `busy`, and as Nova refuses changes of the aggregates 7 and 10.
fn answer(request: &str) -> (u16, Value) {
    match request {
        "POST /v3/auth/tokens" => (
            201,
            json!({ "token": { "expires_at": "2999-01-01T00:00:00.000000Z" } }),
        ),
        "GET /v2.1/os-services?binary=nova-compute" => (
            200,
            json!({ "services": [
                { "id": "1", "host": "node-a", "status": "enabled", "state": "up", "disabled_reason": null },
                { "id": "2", "host": "node-b", "status": "disabled", "state": "down", "disabled_reason": "drain" },
            ] }),
        ),
        "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=node-a" => {
            (200, json!({ "servers": [{ "id": "s" }, { "id": "t" }] }))
        }
        "GET /v2.1/os-migrations?host=node-a&limit=500" => (
            200,
            json!({
                "migrations": [
                    { "uuid": "m3", "status": "finished" }, { "uuid": "m2", "status": "confirmed" },
                    { "uuid": "m1", "status": "running" },
                ],
                "migrations_links": [{ "rel": "next", "href": "http://nova/more" }],
            }),
        ),
        "GET /v2.1/os-services?binary=nova-compute&host=node-a" => (
            200,
            json!({ "services": [{ "id": "1", "host": "node-a", "status": "enabled", "state": "up" }] }),
        ),
        // The latest migrations of node-d have ended, and an older one waits for its confirmation.
        "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=node-d" => {
            (200, json!({ "servers": [] }))
        }
        "GET /v2.1/os-migrations?host=node-d&limit=500" => (
            200,
            json!({
                "migrations": [{ "uuid": "m9", "status": "completed" }, { "uuid": "m8", "status": "error" }],
                "migrations_links": [{ "rel": "next", "href": "http://nova/more" }],
            }),
        ),
        "GET /v2.1/os-migrations?host=node-d&limit=500&marker=m8" => (
            200,
            json!({
                "migrations": [{ "uuid": "m7", "status": "finished" }],
                "migrations_links": [{ "rel": "next", "href": "http://nova/more" }],
            }),
        ),
        "GET /v2.1/os-services?binary=nova-compute&host=node-d" => (
            200,
            json!({ "services": [{ "id": "4", "host": "node-d", "status": "enabled", "state": "up" }] }),
        ),
        // Nova finds what contains the pattern.
        "GET /v2.1/os-hypervisors/detail?hypervisor_hostname_pattern=node-a" => (
            200,
            json!({ "hypervisors": [
                { "id": "h3", "hypervisor_hostname": "node-a3.example.com", "service": { "id": "3", "host": "node-a3" } },
                { "id": "h1", "hypervisor_hostname": "node-a.example.com", "service": { "id": "1", "host": "node-a" } },
            ] }),
        ),
        // It leaves out a hypervisor without a compute service.
        "GET /v2.1/os-hypervisors/detail?hypervisor_hostname_pattern=node-b" => {
            (200, json!({ "hypervisors": [] }))
        }
        // Nova leaves hypervisors out of the first page, so that it doesn't link to another one.
        "GET /v2.1/os-hypervisors/detail?limit=100" => (
            200,
            json!({ "hypervisors": [{ "id": "h1", "service": { "id": "1", "host": "node-a" }, "running_vms": 3 }] }),
        ),
        "GET /v2.1/os-hypervisors/detail?limit=100&marker=h1" => (
            200,
            json!({ "hypervisors": [
                { "id": "h2", "service": { "id": "2", "host": "node-b" }, "running_vms": 0 },
                { "id": "h3", "service": { "id": "3", "host": "node-c" }, "running_vms": null },
            ] }),
        ),
        "GET /v2.1/os-hypervisors/detail?limit=100&marker=h3" => {
            (200, json!({ "hypervisors": [] }))
        }
        // A Nova that ignores the marker.
        "GET /same/os-hypervisors/detail?limit=100"
        | "GET /same/os-hypervisors/detail?limit=100&marker=h1" => (
            200,
            json!({ "hypervisors": [{ "id": "h1", "service": { "id": "1", "host": "node-a" }, "running_vms": 3 }] }),
        ),
        // The database of a cell is down.
        "GET /down/os-hypervisors/detail?hypervisor_hostname_pattern=node-a" => (500, json!({})),
        "GET /down/os-hypervisors/detail?limit=100" => (500, json!({})),
        // The database of node-c's cell is down.
        "GET /down/os-services?binary=nova-compute" => (
            200,
            json!({ "services": [
                { "id": "1", "host": "node-a", "status": "enabled", "state": "up" },
                { "binary": "nova-compute", "host": "node-c", "status": "UNKNOWN" },
            ] }),
        ),
        "GET /down/os-services?binary=nova-compute&host=node-c" => (
            200,
            json!({ "services": [{ "binary": "nova-compute", "host": "node-c", "status": "UNKNOWN" }] }),
        ),
        "GET /down/servers?all_tenants=1&soft_deleted=true&host=node-c" => {
            (200, json!({ "servers": [] }))
        }
        "GET /down/os-migrations?host=node-c&limit=500" => (200, json!({ "migrations": [] })),
        "GET /v2.1/servers?all_tenants=1&soft_deleted=true&host=strange" => (200, json!([0])),
        "GET /v2.1/os-aggregates" => (
            200,
            json!({ "aggregates": [{
                "id": 7, "uuid": "u", "name": "hv-pool-a", "availability_zone": "zone-a", "hosts": ["node-a"],
                "metadata": { "availability_zone": "zone-a", "tier": "premium" }, "deleted": false,
            }] }),
        ),
        "POST /v2.1/os-aggregates"
        | "PUT /v2.1/os-aggregates/8"
        | "POST /v2.1/os-aggregates/8/action" => (200, json!({ "aggregate": {} })),
        "POST /v2.1/os-aggregates/7/action" | "PUT /v2.1/os-aggregates/10" => (409, json!({})),
        "PUT /v2.1/os-aggregates/7" => (400, json!({})),
        "PUT /v2.1/os-services/1" => (200, json!({ "service": {} })),
        // Others may not know of the filter.
        "GET /v2.0/agents?id=node-a&id=node-b&id=node-c" => (
            200,
            json!({ "agents": [
                { "id": "node-a", "alive": true, "binary": "ovn-controller" },
                { "id": "node-b", "alive": false, "binary": "ovn-controller" },
                { "id": "node-d", "alive": false, "binary": "ovn-controller" },
            ] }),
        ),
        "DELETE /v2.0/agents/node-a" => (404, json!({})),
        "DELETE /v2.0/agents/node-b" | "DELETE /v2.1/os-services/2" => (204, Value::Null),
        "DELETE /v2.1/os-services/busy" => (409, json!({ "conflictingRequest": {} })),
        _ => (404, json!({})),
    }
}

#[tokio::test]
async fn compute_services_and_what_is_on_a_host_are_read() -> Test {
    let (access, log) = server(answer).await?;
    assert_eq!(
        observe(&access, Question::Services).await?,
        json!({
            "node-a": { "id": "1", "is_up": true, "disabled": null },
            "node-b": { "id": "2", "is_up": false, "disabled": "drain" },
        })
    );
    let host = "node-a".to_owned();
    assert_eq!(
        observe(&access, Question::Occupants { host }).await?,
        json!({ "servers": 2, "migrations": 2 }),
        "a resize that isn't confirmed has its disk on both hosts"
    );
    let log = log.lock().unwrap();
    assert!(
        log.iter().all(|line| line.ends_with(" compute 2.69")),
        "{log:?}"
    );
    Ok(())
}

/// Nova knows none with the name of node-c.
#[tokio::test]
async fn hypervisor_is_found_by_the_host_of_its_compute_service() -> Test {
    let (access, log) = server(answer).await?;
    for (host, id) in [
        ("node-a", json!("h1")),
        ("node-b", Value::Null),
        ("node-c.example.com", Value::Null),
    ] {
        let host = host.to_owned();
        assert_eq!(observe(&access, Question::Hypervisor { host }).await?, id);
    }
    let asked = ["node-a", "node-b", "node-c%2Eexample%2Ecom"].map(|pattern| {
        format!(
            "GET /v2.1/os-hypervisors/detail?hypervisor_hostname_pattern={pattern} compute 2.69"
        )
    });
    assert_eq!(*log.lock().unwrap(), asked);
    Ok(())
}

#[tokio::test]
async fn hypervisor_of_a_cell_that_does_not_answer_is_not_missing() -> Test {
    let (mut access, _) = server(answer).await?;
    access.clouds = access.clouds.replace("/v2.1", "/down");
    let host = "node-a".to_owned();
    for question in [Question::Hypervisor { host }, Question::Servers] {
        assert_eq!(
            observe(&access, question).await,
            Err(DriverError::Unavailable(format!(
                "Nova at {HOST} answered 500 to hypervisors"
            )))
        );
    }
    Ok(())
}

#[tokio::test]
async fn servers_are_counted_on_the_hosts_of_all_pages() -> Test {
    let (mut access, log) = server(answer).await?;
    assert_eq!(
        observe(&access, Question::Servers).await?,
        json!({ "node-a": 3, "node-b": 0 }),
        "a host without a number isn't empty"
    );
    let asked = ["", "&marker=h1", "&marker=h3"]
        .map(|marker| format!("GET /v2.1/os-hypervisors/detail?limit=100{marker} compute 2.69"));
    assert_eq!(*log.lock().unwrap(), asked);

    log.lock().unwrap().clear();
    access.clouds = access.clouds.replace("/v2.1", "/same");
    assert_eq!(
        observe(&access, Question::Servers).await?,
        json!({ "node-a": 3 })
    );
    assert_eq!(log.lock().unwrap().len(), 2, "it ends");
    Ok(())
}

/// Nova begins with the latest migrations, and a resize may wait for its confirmation for months.
#[tokio::test]
async fn old_migration_that_has_not_ended_is_found() -> Test {
    let (access, log) = server(answer).await?;
    let host = "node-d".to_owned();
    assert_eq!(
        observe(&access, Question::Occupants { host }).await?,
        json!({ "servers": 0, "migrations": 1 })
    );
    assert_eq!(log.lock().unwrap().len(), 4, "no further page is read");
    Ok(())
}

#[tokio::test]
async fn cell_that_does_not_answer_is_neither_without_services_nor_empty() -> Test {
    let (mut access, _) = server(answer).await?;
    access.clouds = access.clouds.replace("/v2.1", "/down");
    let host = "node-c".to_owned();
    for question in [Question::Services, Question::Occupants { host }] {
        assert_eq!(
            observe(&access, question).await,
            Err(DriverError::Unavailable(format!(
                "Nova at {HOST} has no answer from the cell of node-c: see that the cell's database and message bus can be reached"
            )))
        );
    }
    Ok(())
}

#[tokio::test]
async fn compute_service_is_disabled_and_deleted_after_its_chassis() -> Test {
    let (access, log) = server(answer).await?;
    let (service, reason) = ("1".to_owned(), "drained".to_owned());
    call(
        &access,
        Change::Disable {
            service: service.clone(),
            reason,
        },
    )
    .await?;
    call(&access, Change::Enable { service }).await?;
    for (service, host) in [("2", "node-b"), ("gone", "node-a")] {
        let (service, host) = (service.to_owned(), host.to_owned());
        call(&access, Change::Delete { service, host }).await?;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            r#"PUT /v2.1/os-services/1 compute 2.69 {"disabled_reason": String("drained"), "status": String("disabled")}"#,
            r#"PUT /v2.1/os-services/1 compute 2.69 {"status": String("enabled")}"#,
            "DELETE /v2.0/agents/node-b",
            "DELETE /v2.1/os-services/2 compute 2.69",
            "DELETE /v2.0/agents/node-a",
            "DELETE /v2.1/os-services/gone compute 2.69",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn chassis_of_hosts_are_read_and_deleted() -> Test {
    let (access, log) = server(answer).await?;
    let hosts = ["node-a", "node-b", "node-c"].map(str::to_owned).into();
    assert_eq!(
        observe(&access, Question::Chassis { hosts }).await?,
        json!({ "node-a": true, "node-b": false })
    );
    for host in ["node-b", "node-a"] {
        let host = host.to_owned();
        call(&access, Change::DeleteChassis { host }).await?;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            "GET /v2.0/agents?id=node-a&id=node-b&id=node-c",
            "DELETE /v2.0/agents/node-b",
            "DELETE /v2.0/agents/node-a",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn compute_service_that_nova_keeps_is_tried_again() -> Test {
    let (access, _) = server(answer).await?;
    let (service, host) = ("busy".to_owned(), "node-a".to_owned());
    let refusal = call(&access, Change::Delete { service, host }).await;
    assert_eq!(
        refusal,
        Err(DriverError::Unavailable(format!(
            "Nova at {HOST} keeps the compute service of node-a, because servers or migrations are there: see `openstack server \
             list --all-projects --host node-a` and `openstack server migration list --host node-a`"
        )))
    );
    Ok(())
}

#[tokio::test]
async fn aggregates_are_read_and_changed() -> Test {
    let (access, log) = server(answer).await?;
    assert_eq!(
        observe(&access, Question::Aggregates).await?,
        json!([{
            "id": 7, "uuid": "u", "name": "hv-pool-a", "zone": "zone-a", "metadata": { "tier": "premium" }, "hosts": ["node-a"],
        }])
    );
    let (name, host) = ("hv-pool-a".to_owned(), "node-b".to_owned());
    let metadata = BTreeMap::from([("tier".to_owned(), None)]);
    for change in [
        Change::CreateAggregate {
            name: name.clone(),
            zone: None,
        },
        Change::UpdateAggregate {
            id: 8,
            name,
            zone: Some("zone-b".to_owned()),
        },
        Change::SetMetadata { id: 8, metadata },
        Change::AddHost { id: 8, host },
        Change::DeleteAggregate { id: 9 },
    ] {
        call(&access, change).await?;
    }
    assert_eq!(
        log.lock().unwrap()[1..],
        [
            r#"POST /v2.1/os-aggregates compute 2.69 {"aggregate": Object {"name": String("hv-pool-a")}}"#,
            r#"PUT /v2.1/os-aggregates/8 compute 2.69 {"aggregate": Object {"name": String("hv-pool-a"), "availability_zone": String("zone-b")}}"#,
            r#"POST /v2.1/os-aggregates/8/action compute 2.69 {"set_metadata": Object {"metadata": Object {"tier": Null}}}"#,
            r#"POST /v2.1/os-aggregates/8/action compute 2.69 {"add_host": Object {"host": String("node-b")}}"#,
            "DELETE /v2.1/os-aggregates/9 compute 2.69",
        ]
    );
    Ok(())
}

/// Nova answers 400 to a zone that it refuses for an aggregate, and 409 to one that it refuses for a host, and to a name
/// (nova/api/openstack/compute/aggregates.py).
#[tokio::test]
async fn changes_of_aggregates_that_nova_refuses_name_the_cause() -> Test {
    let (access, _) = server(answer).await?;
    let host = || "node-b".to_owned();
    let update = |id| Change::UpdateAggregate {
        id,
        name: "hv-pool-a".to_owned(),
        zone: Some("zone-b".to_owned()),
    };
    let zone = |what: &str| {
        format!(
            "Nova at {HOST} refuses {what}: a host with servers can't change its availability zone, and none is in two; delete or move its \
             servers first, and see `openstack aggregate list --long`"
        )
    };
    let taken =
        format!("Nova at {HOST} has another aggregate hv-pool-a: rename or delete one of the two");
    for (change, why) in [
        (update(7), zone("the change of an aggregate")),
        (
            Change::AddHost {
                id: 7,
                host: host(),
            },
            zone("the addition of a host to an aggregate"),
        ),
        (
            Change::RemoveHost {
                id: 7,
                host: host(),
            },
            zone("the removal of a host from an aggregate"),
        ),
        (update(10), taken),
    ] {
        let refusal = call(&access, change).await;
        assert_eq!(refusal, Err(DriverError::Unavailable(why)));
    }
    Ok(())
}

/// A control plane that a tenant administrates names no further host, and no address.
#[tokio::test]
async fn hosts_without_an_address_are_not_connected_to() -> Test {
    let (access, log) = server(answer).await?;
    for host in ["localhost", "127.0.0.1"] {
        let mut access = access.clone();
        access.clouds = access.clouds.replace(HOST, host);
        let refusal = observe(&access, Question::Services).await;
        assert_eq!(
            refusal,
            Err(DriverError::Unavailable(format!(
                "the control plane reports no address of Keystone at {host} for hypervisors: wait until status.agentEndpoints of \
                 the ControlPlane has it, and the HypervisorShare"
            )))
        );
    }
    assert!(log.lock().unwrap().is_empty());
    Ok(())
}

/// A clouds.yaml may name any host, or an address.
#[tokio::test]
async fn metadata_services_of_clouds_are_not_connected_to() -> Test {
    let why = |address| {
        format!(
            "can't be reached: no request is sent to {address}, because it is a link-local, multicast or unspecified address: \
             correct the URL in the clouds.yaml, or the address of its host"
        )
    };
    let mut access = access(5000);
    let metadata = "169.254.169.254";
    access
        .addresses
        .insert(HOST.to_owned(), vec![metadata.parse()?]);
    let Err(DriverError::Unavailable(message)) = observe(&access, Question::Services).await else {
        return Err("its name is resolved, and it is connected to".into());
    };
    assert!(
        message.starts_with(&format!("Keystone at {HOST} can't be reached: ")),
        "{message}"
    );
    assert!(
        message.ends_with(why(metadata).trim_start_matches("can't be reached: ")),
        "{message}"
    );

    access.addresses.clear();
    for host in [metadata, "[fe80::a9fe:a9fe]"] {
        let mut access = access.clone();
        access.clouds = access.clouds.replace(HOST, host);
        let address = host.trim_matches(['[', ']']);
        assert_eq!(
            observe(&access, Question::Services).await,
            Err(DriverError::Refused(format!(
                "Keystone at {host} {}",
                why(address)
            )))
        );
    }
    Ok(())
}

/// A proxy's page, or a Nova that means harm.
#[tokio::test]
async fn answer_of_another_shape_is_refused() -> Test {
    let (access, _) = server(answer).await?;
    let host = "strange".to_owned();
    let refusal = observe(&access, Question::Occupants { host }).await;
    assert!(
        matches!(&refusal, Err(DriverError::Unavailable(why)) if why.contains("can't be understood")),
        "{refusal:?}"
    );
    Ok(())
}

#[tokio::test]
async fn host_that_no_cell_has_yet_is_added_later() -> Test {
    let (access, _) = server(answer).await?;
    let host = "node-c".to_owned();
    let refusal = call(&access, Change::AddHost { id: 404, host }).await;
    assert_eq!(
        refusal,
        Err(DriverError::Unavailable(format!(
            "Nova at {HOST} has no cell for the host node-c yet: its scheduler finds new hosts within seconds"
        )))
    );
    Ok(())
}

/// The questions about many hosts wait for a silent cloud once.
#[tokio::test(start_paused = true)]
async fn cloud_that_does_not_answer_is_asked_once() -> Test {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let (nova, access) = (Nova::default(), access(listener.local_addr()?.port()));
    let question = Question::Services;
    let query = json!(Query { access, question }).to_string();
    let refusal = nova.observe(&query).await;
    assert!(
        matches!(&refusal, Err(DriverError::Unavailable(why)) if why.ends_with("did not answer within 10 s")),
        "{refusal:?}"
    );
    let again = Instant::now();
    assert_eq!(nova.observe(&query).await, refusal);
    assert!(again.elapsed() < Duration::from_secs(1));
    Ok(())
}
