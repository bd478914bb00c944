//! Calls, as a core makes them.

use std::time::Duration;

use function_protocol::v1::Severity;
use function_runtime::Tls;
use prost::Message;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::serving::{Outcome, Serving, V1, V1_BETA1, call, desired, request};

#[tokio::test]
async fn both_versions_answer_the_same() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let client = serving.client().await?;
    let answer = call(&client, V1, request("Fine", 0)).await?;
    assert_eq!(answer.meta.as_ref().unwrap().tag, "a-tag");
    assert_eq!(desired(&answer), ["ours", "theirs"]);
    assert_eq!(call(&client, V1_BETA1, request("Fine", 0)).await?, answer);

    let unknown = call(
        &client,
        "/apiextensions.fn.proto.v1.FunctionRunnerService/Run",
        request("Fine", 0),
    )
    .await;
    assert_eq!(unknown.unwrap_err().code(), Code::Unimplemented);
    let unknown = call(
        &client,
        "/apiextensions.fn.proto.v2.FunctionRunnerService/RunFunction",
        request("Fine", 0),
    )
    .await;
    assert_eq!(unknown.unwrap_err().code(), Code::Unimplemented);
    drop(client);
    serving.stop().await
}

#[tokio::test]
async fn a_mistake_is_a_fatal_result() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let answer = call(&serving.client().await?, V1, request("Fatal", 0)).await?;
    assert_eq!(answer.results[0].severity(), Severity::Fatal);
    assert_eq!(answer.results[0].message, "spec.size: unknown size");
    assert_eq!(desired(&answer), ["theirs"]);
    serving.stop().await
}

#[tokio::test]
async fn a_panic_is_a_fatal_result_and_the_next_call_works() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let client = serving.client().await?;
    for padding in [0, 2 << 20] {
        let answer = call(&client, V1, request("Panic", padding)).await?;
        assert_eq!(answer.results[0].severity(), Severity::Fatal);
        assert!(
            answer.results[0].message.contains("because of a defect"),
            "{answer:?}"
        );
        assert_eq!(desired(&answer), ["theirs"]);
        assert_eq!(answer.meta.as_ref().unwrap().tag, "a-tag");
        assert_eq!(
            desired(&call(&client, V1, request("Fine", padding)).await?),
            ["ours", "theirs"]
        );
    }
    drop(client);
    serving.stop().await
}

#[tokio::test]
async fn eight_mebibytes_pass_both_ways_and_more_than_the_limit_does_not() -> Outcome {
    let serving = Serving::start(Tls::Insecure).await?;
    let client = serving.client().await?;
    let mut large = request("Fine", 8 << 20);
    large.context = large
        .observed
        .as_ref()
        .and_then(|observed| observed.composite.as_ref()?.resource.clone());
    let answer = call(&client, V1, large.clone()).await?;
    assert!(answer.encoded_len() > 8 << 20);
    assert_eq!(answer.context, large.context);

    let refused = call(&client, V1, request("Fine", 64 << 20))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    assert_eq!(
        desired(&call(&client, V1, request("Fine", 0)).await?),
        ["ours", "theirs"]
    );
    drop(client);
    serving.stop().await
}

#[tokio::test]
async fn large_requests_hold_up_neither_other_calls_nor_health_checks() -> Outcome {
    // As much as etcd takes of one claim.
    const LARGE: usize = 1_400_000;
    let serving = Serving::start(Tls::Insecure).await?;
    let client = serving.client().await?;
    let held: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { call(&client, V1, request("Held", LARGE)).await })
        })
        .collect();
    serving.gate.holds(4).await;
    let other = call(&client, V1, request("Fine", 0)).await?;
    assert_eq!(desired(&other), ["ours", "theirs"]);
    HealthClient::new(serving.client().await?)
        .check(HealthCheckRequest::default())
        .await?;
    assert!(held.iter().all(|call| !call.is_finished()));
    serving.gate.open();
    for call in held {
        assert_eq!(desired(&call.await??), ["ours", "theirs"]);
    }
    drop(client);
    serving.stop().await
}

#[tokio::test]
async fn calls_beyond_the_limit_of_a_connection_wait() -> Outcome {
    const LIMIT: usize = 128;
    // Larger requests are composed in threads of their own, so that all of them can be held at once.
    const LARGE: usize = 1 << 20;
    let serving = Serving::start(Tls::Insecure).await?;
    let client = serving.client().await?;
    // The client learns the limit with the first answer.
    call(&client, V1, request("Fine", 0)).await?;
    let calls: Vec<_> = (0..=LIMIT)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { call(&client, V1, request("Held", LARGE)).await })
        })
        .collect();
    serving.gate.holds(LIMIT).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(serving.gate.held(), LIMIT);
    serving.gate.open();
    for call in calls {
        assert_eq!(desired(&call.await??), ["ours", "theirs"]);
    }
    assert_eq!(serving.gate.held(), LIMIT + 1);
    drop(client);
    serving.stop().await
}
