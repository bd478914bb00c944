//! The drivers of Keystone, Nova, Neutron and RabbitMQ, against a server that answers as these do.

#![cfg(test)]

mod aggregates;
mod alarms;
mod answers;
mod compute_services;
mod flavors;
mod identity;
mod neutron;
#[path = "../server/mod.rs"]
mod server;

use std::error::Error;
use std::net::Ipv4Addr;
use std::time::Duration;

use provider_control_plane::credentials::keystone;
use provider_hypervisor_pool::nova::{Change, Query, Question};
use provider_openstack_driver::Nova;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

use answers::answer;
use server::{HOST, access, call, observe, server, unavailable};

type Test = Result<(), Box<dyn Error>>;

/// How a Keystone is reached whose clouds.yaml has no other address.
fn keystone_at(url: &str) -> keystone::Access {
    let clouds = json!({ "clouds": { "openstack": { "auth": {
        "auth_url": url, "application_credential_id": "1", "application_credential_secret": "s3cret",
    } } } });
    keystone::Access {
        clouds: clouds.to_string(),
        cloud: "openstack".to_owned(),
        ca: None,
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

/// Nova may refuse to enable or to disable it.
#[tokio::test]
async fn compute_service_that_is_forced_down_counts_as_disabled() -> Test {
    let (mut access, _) = server(answer).await?;
    access.clouds = access.clouds.replace("/v2.1", "/forced");
    assert_eq!(
        observe(&access, Question::Services).await?,
        json!({
            "node-a": { "id": "1", "is_up": false, "disabled": "forced down" },
            "node-b": { "id": "2", "is_up": false, "disabled": "forced down" },
            "node-c": { "id": "3", "is_up": true, "disabled": null },
        })
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
    for question in [
        Question::Hypervisor { host },
        Question::Hypervisors,
        Question::Servers,
    ] {
        let why = format!("Nova at {HOST} answered 500 to hypervisors");
        assert_eq!(observe(&access, question).await, unavailable(why));
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

/// libvirt may have any name for a host.
#[tokio::test]
async fn hypervisors_of_all_pages_are_found_by_the_hosts_of_their_compute_services() -> Test {
    let (access, _) = server(answer).await?;
    assert_eq!(
        observe(&access, Question::Hypervisors).await?,
        json!({ "node-a": "h1", "node-b": "h2", "node-c": "h3" })
    );
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
    let log = log.lock().unwrap();
    let asked = ["", "accepted", "finished"].map(|status| match status {
        "" => "GET /v2.1/os-migrations?host=node-d&limit=500 compute 2.69".to_owned(),
        _ => format!("GET /v2.1/os-migrations?host=node-d&status={status}&limit=1 compute 2.69"),
    });
    assert_eq!([&log[1], &log[2], &log[log.len() - 2]], asked.each_ref());
    Ok(())
}

/// A member of a project can fill any number of pages with resizes that fail.
#[tokio::test]
async fn host_is_free_after_a_bounded_number_of_requests_however_many_migrations_have_ended() -> Test
{
    let (access, log) = server(answer).await?;
    let host = "node-e".to_owned();
    let seen = observe(&access, Question::Occupants { host });
    let seen = tokio::time::timeout(Duration::from_secs(10), seen).await?;
    assert_eq!(seen?, json!({ "servers": 0, "migrations": 0 }));
    let log = log.lock().unwrap();
    let asked = log.iter().filter_map(|line| {
        let (_, status) = line.split_once("host=node-e&status=")?;
        status.strip_suffix("&limit=1 compute 2.69")
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [
            "accepted",
            "queued",
            "preparing",
            "running",
            "running%20%28post-copy%29",
            "pre-migrating",
            "migrating",
            "post-migrating",
            "finished",
            "confirming",
            "reverting",
        ]
    );
    assert_eq!(
        log.len(),
        3 + 11,
        "servers, the latest migrations, the compute service, and one per state"
    );
    Ok(())
}

#[tokio::test]
async fn migration_in_a_state_of_a_later_release_has_not_ended() -> Test {
    let (access, _) = server(answer).await?;
    let host = "node-f".to_owned();
    assert_eq!(
        observe(&access, Question::Occupants { host }).await?,
        json!({ "servers": 0, "migrations": 1 })
    );
    Ok(())
}

#[tokio::test]
async fn cell_that_does_not_answer_is_neither_without_services_nor_empty() -> Test {
    let (mut access, _) = server(answer).await?;
    access.clouds = access.clouds.replace("/v2.1", "/down");
    let host = "node-c".to_owned();
    for question in [Question::Services, Question::Occupants { host }] {
        let why = format!(
            "Nova at {HOST} has no answer from the cell of node-c: see that the cell's database and message bus can be reached"
        );
        assert_eq!(observe(&access, question).await, unavailable(why));
    }
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
    let why = format!(
        "Nova at {HOST} keeps the compute service of node-a, because servers or migrations are there: see `openstack server \
         list --all-projects --host node-a` and `openstack server migration list --host node-a`"
    );
    let change = Change::Delete { service, host };
    assert_eq!(call(&access, change).await, unavailable(why));
    Ok(())
}

/// A control plane that a tenant administrates names no further host, and no address.
#[tokio::test]
async fn hosts_without_an_address_are_not_connected_to() -> Test {
    let (access, log) = server(answer).await?;
    for host in ["localhost", "127.0.0.1"] {
        let mut access = access.clone();
        access.clouds = access.clouds.replace(HOST, host);
        let why = format!(
            "the control plane reports no address of Keystone at {host} for hypervisors: wait until status.agentEndpoints of \
             the ControlPlane has it, and the HypervisorShare"
        );
        let seen = observe(&access, Question::Services).await;
        assert_eq!(seen, unavailable(why));
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
             correct the address of the server's host, or the server's URL where a clouds.yaml has it"
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
    let why = format!(
        "Nova at {HOST} has no cell for the host node-c yet: its scheduler finds new hosts within seconds"
    );
    let change = Change::AddHost { id: 404, host };
    assert_eq!(call(&access, change).await, unavailable(why));
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
