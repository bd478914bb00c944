//! The driver against a server that answers as Gardener's API does.

#![cfg(test)]

use c5c3_api::shoot_kubeconfig::ShootRole;
use provider_gardener_driver::Gardener;
use provider_kubeconfig::garden::{Access, Answer, Query};
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Answers one request with a status and a body. Returns the port, and the request.
async fn server(status: u16, body: Value) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let request = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let text = loop {
            assert!(stream.read_buf(&mut request).await.unwrap() > 0);
            let text = String::from_utf8(request.clone()).unwrap();
            // The whole body is one JSON object.
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
            if body.is_some_and(|body| serde_json::from_str::<Value>(body).is_ok()) {
                break text;
            }
        };
        let body = body.to_string();
        let answer = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        text
    });
    (port, request)
}

fn query(role: ShootRole, port: u16) -> Query {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "garden",
        "contexts": [{ "name": "garden", "context": { "cluster": "garden", "user": "requester" } }],
        // An empty list of authorities spares reading those of the machine.
        "clusters": [{ "name": "garden", "cluster": {
            "server": format!("http://127.0.0.1:{port}"), "certificate-authority-data": "Cg==",
        } }],
        "users": [{ "name": "requester", "user": { "token": "s3cret" } }],
    });
    Query {
        access: Access {
            kubeconfig: kubeconfig.to_string(),
        },
        namespace: "garden-c5c3".to_owned(),
        shoot: "hv-pool-a".to_owned(),
        role,
        seconds: 3_600,
    }
}

async fn observe(query: &Query) -> Result<Answer, DriverError> {
    let query = serde_json::to_string(query).unwrap();
    let answer = Gardener.observe(&query).await?;
    Ok(serde_json::from_value(answer).unwrap())
}

/// What is answered where the server refuses.
async fn refused(code: u16, message: &str) -> Result<Answer, DriverError> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "Reason", "message": message,
    });
    let (port, _request) = server(code, status).await;
    observe(&query(ShootRole::Admin, port)).await
}

#[tokio::test]
async fn kubeconfig_is_requested_by_the_subresource_of_its_role() {
    for (role, subresource, kind) in [
        (
            ShootRole::Admin,
            "adminkubeconfig",
            "AdminKubeconfigRequest",
        ),
        (
            ShootRole::Viewer,
            "viewerkubeconfig",
            "ViewerKubeconfigRequest",
        ),
    ] {
        let response = json!({
            "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": kind,
            "status": { "kubeconfig": "bmV3", "expirationTimestamp": "2026-02-01T01:00:00Z" },
        });
        let (port, request) = server(201, response).await;
        let Answer::Issued(issued) = observe(&query(role, port)).await.unwrap() else {
            panic!("{kind}: no kubeconfig is issued");
        };
        assert_eq!(issued.kubeconfig, "new");
        assert_eq!(issued.expires, "2026-02-01T01:00:00Z");

        let request = request.await.unwrap();
        let path = format!(
            "POST /apis/core.gardener.cloud/v1beta1/namespaces/garden-c5c3/shoots/hv-pool-a/{subresource}"
        );
        assert!(request.starts_with(&path), "{request}");
        assert!(request.contains("Bearer s3cret"), "{request}");
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            body,
            json!({
                "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": kind, "spec": { "expirationSeconds": 3600 },
            })
        );
    }
}

#[tokio::test]
async fn shoot_that_is_not_there_yet_is_waited_for() {
    for (code, message) in [
        (404, "shoots.core.gardener.cloud \"hv-pool-a\" not found"),
        (
            422,
            "no suitable advertised address for kube-apiserver found in .status.advertisedAddresses",
        ),
    ] {
        let answer = refused(code, message).await;
        assert_eq!(answer, Ok(Answer::Pending(message.to_owned())));
    }
}

#[tokio::test]
async fn refusal_is_told_with_gardeners_words() {
    for (code, message) in [
        (401, "Unauthorized"),
        (403, "shoots.core.gardener.cloud \"hv-pool-a\" is forbidden"),
        (422, "may not specify a duration less than 10 minutes"),
    ] {
        let answer = refused(code, message).await;
        assert_eq!(answer, Ok(Answer::Refused(message.to_owned())));
    }
}

#[tokio::test]
async fn failure_of_gardeners_api_is_unavailability() {
    let answer = refused(500, "could not get client CA secret").await;
    let DriverError::Unavailable(why) = answer.unwrap_err() else {
        panic!("it is refused");
    };
    assert!(why.starts_with("Gardener's API fails: could not"), "{why}");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let answer = observe(&query(ShootRole::Admin, port)).await;
    let DriverError::Unavailable(why) = answer.unwrap_err() else {
        panic!("it is refused");
    };
    assert!(
        why.starts_with("Gardener's API can't be reached: "),
        "{why}"
    );
}

#[tokio::test]
async fn answer_that_is_not_valid_is_not_quoted() {
    for status in [
        json!({ "kubeconfig": "s3cret-and-no-base64" }),
        json!({ "kubeconfig": "/w==", "expirationTimestamp": "2026-02-01T01:00:00Z" }),
    ] {
        let (port, _request) = server(201, json!({ "status": status })).await;
        let answer = observe(&query(ShootRole::Admin, port)).await;
        let strange = "Gardener's API answered with something that isn't a kubeconfig";
        assert_eq!(answer, Err(DriverError::Unavailable(strange.to_owned())));
    }
}

#[tokio::test]
async fn access_that_names_a_command_is_refused() {
    let mut query = query(ShootRole::Admin, 1);
    let command = "\"exec\":{\"command\":\"true\"}";
    query.access.kubeconfig = query
        .access
        .kubeconfig
        .replace("\"token\":\"s3cret\"", command);
    let Answer::Refused(why) = observe(&query).await.unwrap() else {
        panic!("the command is executed");
    };
    assert!(
        why.starts_with("the kubeconfig of Gardener's API can't be used: it must not have exec"),
        "{why}"
    );
}
