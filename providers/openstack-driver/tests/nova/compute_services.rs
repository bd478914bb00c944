//! Compute services that are disabled, enabled and deleted.

use provider_hypervisor_pool::nova::{Change, Question};
use serde_json::{Value, json};

use crate::Test;
use crate::answers;
use crate::server::{Answer, call, observe, ok, server};

const DRAINED: &str = "drained by the HypervisorShare prod since 20260201T000015Z";

/// The compute services: one is enabled, one is drained, and one has registered just now.
fn services() -> [Value; 3] {
    [
        ("node-a", None),
        ("node-b", Some(DRAINED)),
        (
            "node-c",
            Some("New compute service disabled due to config option."),
        ),
    ]
    .map(|(host, reason)| service(host, reason))
}

fn service(host: &str, reason: Option<&str>) -> Value {
    let status = if reason.is_some() {
        "disabled"
    } else {
        "enabled"
    };
    json!({ "id": format!("id-of-{host}"), "host": host, "status": status, "state": "up", "disabled_reason": reason })
}

/// Answers as long as nobody else disables a compute service.
fn answer(request: &str) -> (u16, Value) {
    match request.strip_prefix("GET /v2.1/os-services?binary=nova-compute") {
        Some("") => ok(json!({ "services": services() })),
        Some(of) => {
            let services = services().into_iter();
            let found =
                services.filter(|found| of.strip_prefix("&host=") == found["host"].as_str());
            ok(json!({ "services": found.collect::<Vec<_>>() }))
        }
        None => ok(json!({})),
    }
}

/// Answers where a person disables each compute service after it was listed.
fn answer_after_a_person(request: &str) -> (u16, Value) {
    match request.strip_prefix("GET /v2.1/os-services?binary=nova-compute&host=") {
        Some(host) => ok(json!({ "services": [service(host, Some("broken fan"))] })),
        None => answer(request),
    }
}

fn disable(host: &str) -> Change {
    Change::Disable {
        service: format!("id-of-{host}"),
        host: host.to_owned(),
        reason: DRAINED.to_owned(),
    }
}

fn enable(host: &str) -> Change {
    Change::Enable {
        service: format!("id-of-{host}"),
        host: host.to_owned(),
    }
}

/// Lists the compute services and carries changes out, as the operator does. Returns what Nova was asked after the list, without the
/// version of its API.
async fn requests(
    answer: Answer,
    changes: impl IntoIterator<Item = Change>,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let (access, log) = server(answer).await?;
    observe(&access, Question::Services).await?;
    for change in changes {
        call(&access, change).await?;
    }
    let log = log.lock().unwrap();
    let requests = log.iter().skip(1);
    Ok(requests
        .map(|line| line.replace(" compute 2.69", ""))
        .collect())
}

fn read(host: &str) -> String {
    format!("GET /v2.1/os-services?binary=nova-compute&host={host}")
}

#[tokio::test]
async fn compute_service_is_read_right_before_it_is_disabled_or_enabled() -> Test {
    let changes = [
        disable("node-a"),
        disable("node-b"),
        enable("node-b"),
        enable("node-c"),
    ];
    let disabled = |host| {
        format!(
            r#"PUT /v2.1/os-services/id-of-{host} {{"disabled_reason": String("{DRAINED}"), "status": String("disabled")}}"#
        )
    };
    let enabled =
        |host| format!(r#"PUT /v2.1/os-services/id-of-{host} {{"status": String("enabled")}}"#);
    assert_eq!(
        requests(answer, changes).await?,
        [
            read("node-a"),
            disabled("node-a"),
            read("node-b"),
            disabled("node-b"),
            read("node-b"),
            enabled("node-b"),
            read("node-c"),
            enabled("node-c"),
        ]
    );
    Ok(())
}

#[tokio::test]
async fn compute_service_that_a_person_disables_after_the_list_keeps_the_reason() -> Test {
    for (host, change) in [
        ("node-a", disable("node-a")),
        ("node-b", enable("node-b")),
        ("node-c", enable("node-c")),
    ] {
        let asked = requests(answer_after_a_person, [change]).await?;
        assert_eq!(asked, [read(host)]);
    }
    Ok(())
}

/// The operator lists it with its new ID.
#[tokio::test]
async fn compute_service_that_registered_anew_is_not_disabled() -> Test {
    let (service, host) = ("id-of-an-earlier-one".to_owned(), "node-a".to_owned());
    let change = Change::Disable {
        service,
        host,
        reason: DRAINED.to_owned(),
    };
    assert_eq!(requests(answer, [change]).await?, [read("node-a")]);
    Ok(())
}

#[tokio::test]
async fn compute_service_is_deleted_after_its_chassis() -> Test {
    let (access, log) = server(answers::answer).await?;
    for (service, host) in [("2", "node-b"), ("gone", "node-a")] {
        let (service, host) = (service.to_owned(), host.to_owned());
        call(&access, Change::Delete { service, host }).await?;
    }
    assert_eq!(
        *log.lock().unwrap(),
        [
            "DELETE /v2.0/agents/node-b",
            "DELETE /v2.1/os-services/2 compute 2.69",
            "DELETE /v2.0/agents/node-a",
            "DELETE /v2.1/os-services/gone compute 2.69",
        ]
    );
    Ok(())
}
