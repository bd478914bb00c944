//! What operates a function: probes, discovery, metrics, stopping.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use function_runtime::{Server, Tls};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_stream::StreamExt;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::{v1, v1alpha};

use crate::serving::{Outcome, Serving, V1, V1_BETA1, call, desired, loopback, options, request};

const SERVICES: [&str; 3] = [
    "",
    "apiextensions.fn.proto.v1.FunctionRunnerService",
    "apiextensions.fn.proto.v1beta1.FunctionRunnerService",
];

#[tokio::test]
async fn health_is_serving_and_at_the_end_not_serving() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let mut health = HealthClient::new(serving.client().await?);
    for service in SERVICES {
        let answer = health
            .check(HealthCheckRequest {
                service: service.into(),
            })
            .await?
            .into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let mut watched = health
        .watch(HealthCheckRequest::default())
        .await?
        .into_inner();
    assert_eq!(
        watched.next().await.unwrap()?.status(),
        ServingStatus::Serving
    );
    let served = serving.tell_to_stop();
    assert_eq!(
        watched.next().await.unwrap()?.status(),
        ServingStatus::NotServing
    );
    drop((watched, health));
    Ok(served.await??)
}

#[tokio::test]
async fn reflection_lists_the_services_in_both_of_its_versions() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let client = serving.client().await?;

    let asked = v1::ServerReflectionRequest {
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
        ..Default::default()
    };
    let mut reflection = v1::server_reflection_client::ServerReflectionClient::new(client.clone());
    let mut answers = reflection
        .server_reflection_info(tokio_stream::once(asked))
        .await?
        .into_inner();
    let answer = answers.next().await.unwrap()?.message_response;
    let Some(v1::server_reflection_response::MessageResponse::ListServicesResponse(listed)) =
        answer
    else {
        return Err(format!("no list: {answer:?}").into());
    };
    let listed: Vec<_> = listed
        .service
        .into_iter()
        .map(|service| service.name)
        .collect();
    for service in [SERVICES[1], SERVICES[2], "grpc.health.v1.Health"] {
        assert!(
            listed.iter().any(|listed| listed == service),
            "{service} is not in {listed:?}"
        );
    }

    let symbol = "apiextensions.fn.proto.v1beta1.RunFunctionRequest".to_owned();
    let asked = v1alpha::ServerReflectionRequest {
        message_request: Some(
            v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(symbol),
        ),
        ..Default::default()
    };
    let mut reflection = v1alpha::server_reflection_client::ServerReflectionClient::new(client);
    let mut answers = reflection
        .server_reflection_info(tokio_stream::once(asked))
        .await?
        .into_inner();
    let answer = answers.next().await.unwrap()?.message_response;
    let Some(v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse(file)) =
        answer
    else {
        return Err(format!("no descriptor: {answer:?}").into());
    };
    assert_eq!(file.file_descriptor_proto.len(), 1);
    drop((answers, reflection));
    serving.stop().await
}

async fn get(serving: &Serving, path: &str) -> Outcome<String> {
    let mut connection = TcpStream::connect(serving.metrics).await?;
    let asked = format!("GET {path} HTTP/1.1\r\nhost: function\r\nconnection: close\r\n\r\n");
    connection.write_all(asked.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn metrics_count_calls_by_version_and_outcome() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let client = serving.client().await?;
    for (method, kind) in [
        (V1, "Fine"),
        (V1, "Fine"),
        (V1, "Fatal"),
        (V1, "Panic"),
        (V1_BETA1, "Fine"),
    ] {
        call(&client, method, request(kind, 0)).await?;
    }
    let metrics = get(&serving, "/metrics").await?;
    assert!(metrics.starts_with("HTTP/1.1 200 OK"), "{metrics}");
    for line in [
        "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8",
        "function_calls_total{version=\"v1\",outcome=\"ok\"} 2",
        "function_calls_total{version=\"v1\",outcome=\"fatal\"} 1",
        "function_calls_total{version=\"v1\",outcome=\"panic\"} 1",
        "function_calls_total{version=\"v1beta1\",outcome=\"ok\"} 1",
        "function_call_duration_seconds_count 5",
        "function_request_size_bytes_count 5",
        "function_response_size_bytes_count 5",
        "function_calls_in_flight 0",
        "# EOF",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} is not in {metrics}"
        );
    }
    assert!(get(&serving, "/").await?.starts_with("HTTP/1.1 404"));
    drop(client);
    serving.stop().await
}

#[tokio::test]
async fn a_port_in_use_is_named() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let taken = serving.address;
    let mut second = options(Tls::Insecure);
    second.address = taken;
    let refused = Server::bind(&second)
        .await
        .map(|server| server.address())
        .unwrap_err()
        .to_string();
    let expected = format!(
        "cannot listen on {taken}: the port is in use; stop what listens there or choose another"
    );
    assert_eq!(refused, format!("the function {expected}"));
    second = options(Tls::Insecure);
    second.metrics_address = Some(taken);
    let refused = Server::bind(&second)
        .await
        .map(|server| server.address())
        .unwrap_err()
        .to_string();
    assert_eq!(refused, format!("metrics {expected}"));
    serving.stop().await
}

#[tokio::test]
async fn without_a_metrics_address_none_are_served() -> Outcome {
    let mut quiet = options(Tls::Insecure);
    quiet.metrics_address = None;
    let server = Server::bind(&quiet).await?;
    assert_eq!(server.metrics_address(), None);
    assert_ne!(server.address(), loopback(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_flight_finishes_and_no_other_begins() -> Outcome {
    for padding in [0, 2 << 20] {
        let serving = Serving::start(Tls::Insecure).await?;
        let (address, client) = (serving.address, serving.client().await?);
        let gate = Arc::clone(&serving.gate);
        let mut health = HealthClient::new(serving.client().await?);
        let mut watched = health
            .watch(HealthCheckRequest::default())
            .await?
            .into_inner();
        watched.next().await.unwrap()?;
        let held = tokio::spawn(async move { call(&client, V1, request("Held", padding)).await });
        // A small call blocks its worker thread. While the other one is parked, the runtime's timers stand still, so that this waits
        // without them; telling the server to stop wakes it.
        while gate.held() == 0 {
            thread::sleep(Duration::from_millis(10));
        }
        let served = serving.tell_to_stop();
        assert_eq!(
            watched.next().await.unwrap()?.status(),
            ServingStatus::NotServing
        );
        drop((watched, health));
        assert!(!held.is_finished());
        gate.open();
        assert_eq!(desired(&held.await??), ["ours", "theirs"]);
        served.await??;
        assert!(TcpStream::connect(address).await.is_err());
    }
    Ok(())
}
