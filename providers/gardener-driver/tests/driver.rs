//! The driver against a server that answers as Gardener's API does.

#![cfg(test)]

use std::io;
use std::sync::{Arc, Mutex};

use c5c3_api::shoot_kubeconfig::ShootRole;
use k8s_openapi::ByteString;
use provider_gardener_driver::Gardener;
use provider_kubeconfig::garden::{Access, Answer, Query};
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// What is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Answers one request with a status and a body. Returns the port, and the request.
async fn server(status: u16, body: Value) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let request = tokio::spawn(async move { answered(&listener, &answer).await });
    (port, request)
}

/// Answers a request, and returns it.
async fn answered(listener: &TcpListener, answer: &str) -> String {
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
    stream.write_all(answer.as_bytes()).await.unwrap();
    text
}

/// A kubeconfig of a cluster with a server.
fn kubeconfig(server: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "garden",
        "contexts": [{ "name": "garden", "context": { "cluster": "garden", "user": "requester" } }],
        // An empty list of authorities spares reading those of the machine.
        "clusters": [{ "name": "garden", "cluster": {
            "server": server, "certificate-authority-data": "Cg==",
        } }],
        "users": [{ "name": "requester", "user": { "token": "s3cret" } }],
    })
}

fn base64(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

fn query(role: ShootRole, port: u16) -> Query {
    query_of(role, &format!("http://127.0.0.1:{port}"))
}

fn query_of(role: ShootRole, server: &str) -> Query {
    Query {
        access: Access {
            kubeconfig: kubeconfig(server).to_string(),
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
    let new = kubeconfig("https://shoot.example").to_string();
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
            "status": { "kubeconfig": base64(&new), "expirationTimestamp": "2026-02-01T01:00:00Z" },
        });
        let (port, request) = server(201, response).await;
        let Answer::Issued(issued) = observe(&query(role, port)).await.unwrap() else {
            panic!("{kind}: no kubeconfig is issued");
        };
        assert_eq!(issued.kubeconfig, new);
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

    // A port that is bound stays this test's, and refuses connections as long as nobody listens.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
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
async fn answer_of_what_is_no_api_server_is_not_quoted() {
    for code in [302, 403, 404] {
        for body in [json!("s3cret page"), json!({ "message": "s3cret page" })] {
            let (port, _request) = server(code, body).await;
            let answer = observe(&query(ShootRole::Admin, port)).await;
            let Ok(Answer::Refused(why)) = answer else {
                panic!("{code} is not a refusal");
            };
            assert!(why.contains(&format!("status code {code}")), "{why}");
            assert!(!why.contains("s3cret"), "{why}");
            assert_eq!(why.contains("correct server of the cluster"), code == 404);
        }
    }
    let (port, _request) = server(503, json!("s3cret page")).await;
    let answer = observe(&query(ShootRole::Admin, port)).await;
    let unavailable = "Gardener's API fails: the server in the kubeconfig of Gardener's API answers with the status code 503";
    assert_eq!(
        answer,
        Err(DriverError::Unavailable(unavailable.to_owned()))
    );
}

#[tokio::test]
async fn answer_that_is_not_valid_is_neither_quoted_nor_logged() {
    let log = Log::default();
    let writer = log.clone();
    let logged = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_writer(move || writer.clone());
    let _guard = logged.finish().set_default();
    for status in [
        json!({ "kubeconfig": "s3cret-and-no-base64" }),
        json!({ "kubeconfig": "/w==", "expirationTimestamp": "2026-02-01T01:00:00Z" }),
        json!({ "kubeconfig": "", "expirationTimestamp": "s3cret".repeat(1 << 18) }),
    ] {
        let (port, _request) = server(201, json!({ "status": status })).await;
        let answer = observe(&query(ShootRole::Admin, port)).await;
        let strange = "Gardener's API answered with something that isn't a kubeconfig";
        assert_eq!(answer, Err(DriverError::Unavailable(strange.to_owned())));
    }
    let text = log.text();
    assert!(!text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn issued_kubeconfig_that_cannot_be_used_replaces_none() {
    let mut with_command = kubeconfig("https://shoot.example");
    with_command["users"][0]["user"] = json!({ "exec": { "command": "true" } });
    for (issued, says) in [
        (String::new(), "can't be used"),
        (with_command.to_string(), "it must not have exec"),
    ] {
        let status = json!({
            "kubeconfig": base64(&issued), "expirationTimestamp": "2026-02-01T01:00:00Z",
        });
        let (port, _request) = server(201, json!({ "status": status })).await;
        let answer = observe(&query(ShootRole::Admin, port)).await;
        let Err(DriverError::Unavailable(why)) = answer else {
            panic!("it is taken: {issued}");
        };
        let origin = "the kubeconfig that Gardener issued can't be used: ";
        assert!(why.starts_with(origin) && why.contains(says), "{why}");
    }
}

#[tokio::test]
async fn server_that_is_reached_without_tls_gets_no_request() {
    for server in [
        "http://169.254.169.254",
        "http://garden.example:8080",
        "http://[fd00::1]",
    ] {
        let Ok(Answer::Refused(why)) = observe(&query_of(ShootRole::Admin, server)).await else {
            panic!("{server} gets a request");
        };
        assert!(
            why.ends_with("server of the cluster must begin with https://"),
            "{why}"
        );
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
