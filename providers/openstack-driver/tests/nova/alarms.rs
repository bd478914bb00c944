//! The driver of RabbitMQ's management API.

use std::collections::BTreeMap;

use provider_control_plane::credentials::rabbitmq::{Access, Answer, Query};
use provider_openstack_driver::RabbitMq;
use provider_runtime::Driver;
use serde_json::{Value, json};

use crate::Test;
use crate::server::{listen, ok};

fn answer(request: &str) -> (u16, Value) {
    let alarm = |resource: &str, node: &str| json!({ "resource": resource, "node": node });
    let failed = |alarms: Vec<Value>| {
        let reason = "There are alarms in effect in the cluster";
        let body = json!({ "status": "failed", "reason": reason, "alarms": alarms });
        (503, body)
    };
    match request {
        "GET /healthy/api/health/checks/alarms" => ok(json!({ "status": "ok" })),
        "GET /full/api/health/checks/alarms" => failed(vec![
            alarm("file descriptors", "rabbit@a"),
            alarm("memory", "rabbit@a"),
            alarm("disk space", "rabbit@b"),
        ]),
        "GET /text/api/health/checks/alarms" => failed(vec![alarm("memory", "rabbit@a, see b")]),
        "GET /other/api/health/checks/alarms" => failed(vec![alarm("memory", "a")]),
        "GET /many/api/health/checks/alarms" => failed(vec![alarm("memory", "rabbit@a"); 65]),
        "GET /away/api/health/checks/alarms" => (503, json!({ "error": "Service Unavailable" })),
        "GET /strange/api/health/checks/alarms" => ok(json!([])),
        _ => (
            401,
            json!({ "error": "not_authorized", "reason": "Not_Authorized" }),
        ),
    }
}

/// Logs how a request is authenticated.
fn login(_: &str, login: &str, _: Option<BTreeMap<String, Value>>) -> Option<String> {
    Some(login.to_owned())
}

fn unknown(why: &str) -> Value {
    let why = format!("RabbitMQ at 127.0.0.1 answered {why}");
    json!({ "unknown": why })
}

#[tokio::test]
async fn alarms_that_block_publishers_are_read() -> Test {
    let alarms = json!({ "alarms": [
        { "resource": "disk space", "node": "rabbit@b" },
        { "resource": "memory", "node": "rabbit@a" },
    ] });
    let strange = "the request for its alarms with something that can't be understood";
    for (path, expected) in [
        ("healthy", json!({ "alarms": [] })),
        ("full", alarms),
        ("away", unknown("503 to the request for its alarms")),
        ("refused", unknown("401 to the request for its alarms")),
        ("strange", unknown(strange)),
        ("text", unknown(strange)),
        ("other", unknown(strange)),
        ("many", unknown(strange)),
    ] {
        let (port, log) = listen(answer, login).await?;
        let access = Access {
            url: format!("http://127.0.0.1:{port}/{path}"),
            login: "dXNlcjpzM2NyZXQ=".to_owned(),
            ca: None,
        };
        let query = json!(Query { access }).to_string();
        assert_eq!(RabbitMq.observe(&query).await?, expected, "{path}");
        assert_eq!(*log.lock().unwrap(), ["Basic dXNlcjpzM2NyZXQ="]);
    }
    Ok(())
}

#[tokio::test]
async fn authority_that_is_not_a_certificate_is_named() -> Test {
    let access = Access {
        url: "https://127.0.0.1".to_owned(),
        login: "dXNlcjpzM2NyZXQ=".to_owned(),
        ca: Some("none".to_owned()),
    };
    let query = json!(Query { access }).to_string();
    let answer = serde_json::from_value(RabbitMq.observe(&query).await?)?;
    let Answer::Unknown(why) = answer else {
        return Err("alarms were read".into());
    };
    assert!(
        why.starts_with("ca.crt, which the certificate of RabbitMQ"),
        "{why}"
    );
    Ok(())
}
