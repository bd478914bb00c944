//! Calls through a running server.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use function_c5c3::Claims;
use function_c5c3_fixtures::examples::{claim, pools};
use function_c5c3_fixtures::{Call, Outcome, text};
use function_protocol::v1::{RunFunctionRequest, RunFunctionResponse};
use function_protocol::{Fatal, Function, Request, Response, run};
use function_runtime::{Options, Server, Tls};
use prost::Message;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tonic::Status;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

const METHOD: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

/// Where the giant claim has its bytes.
const FILLER: &str = "/metadata/labels/filler";

/// Nearly what etcd stores of an object.
const GIANT: usize = 1_400_000;

/// How long a call is held at most, so that a test of a server that waits for it ends.
const HELD: Duration = Duration::from_secs(30);

/// The requests of two claims in the same pools, of which the first has so many bytes more.
fn requests(filler: usize) -> [RunFunctionRequest; 2] {
    let mut calls = ["customer-b-staging", "customer-a-prod"].map(|name| {
        let mut call = Call::of(claim(name), "openstack-production");
        call.composite["metadata"]["uid"] = json!(format!("uid-{name}"));
        call
    });
    calls[0].composite["metadata"]["labels"]["filler"] = json!("x".repeat(filler));
    let claims = calls.clone().map(|call| call.composite);
    let mut pools = pools();
    for pool in &mut pools {
        pool["status"]["consumers"] = claims.iter().map(consumer).collect();
    }
    calls.map(|call| call.with(pools.clone()).with(claims.clone()).settled())
}

fn consumer(claim: &Value) -> Value {
    json!({
        "name": text(claim, "/metadata/labels/crossplane.io~1claim-name"),
        "namespace": text(claim, "/metadata/labels/crossplane.io~1claim-namespace"),
        "uid": claim["metadata"]["uid"],
    })
}

/// A call, with the limits of Crossplane's client.
async fn call(
    channel: Channel,
    request: RunFunctionRequest,
) -> Result<RunFunctionResponse, Status> {
    let mut client = Grpc::new(channel);
    client
        .ready()
        .await
        .map_err(|error| Status::unavailable(error.to_string()))?;
    let path = PathAndQuery::from_static(METHOD);
    let answer = client
        .unary(tonic::Request::new(request), path, ProstCodec::default())
        .await?;
    Ok(answer.into_inner())
}

#[tokio::test]
async fn a_claim_of_many_bytes_leaves_calls_of_others_alone() -> Result<(), Box<dyn Error>> {
    let [giant, small] = requests(GIANT);
    let [usual, alone] = requests(0);
    assert!(small == alone, "a call depends on another claim's bytes");
    assert!(giant.encoded_len() >= usual.encoded_len() + GIANT);

    let (composing, mut is_composing) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let function = move |request: Request, response: &mut Response| -> Result<(), Fatal> {
        let composite: Value = request.composite()?;
        if !text(&composite, FILLER).is_empty() {
            composing.send(()).unwrap_or_default();
            let released = released.lock().unwrap();
            if released.recv_timeout(HELD).is_err() {
                return Err(Fatal::new("the other call waited for this one"));
            }
        }
        Claims.compose(request, response)
    };
    let server = Server::bind(&Options {
        address: (Ipv4Addr::LOCALHOST, 0).into(),
        metrics_address: None,
        ..Options::new(Tls::Insecure)
    })
    .await?;
    let channel = Endpoint::from_shared(format!("http://{}", server.address()))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        server.serve(Arc::new(function), stopped).await
    });
    let channel = channel.connect().await?;

    let held = tokio::spawn(call(channel.clone(), giant.clone()));
    assert_eq!(timeout(HELD, is_composing.recv()).await?, Some(()));
    let answer = call(channel.clone(), small.clone()).await?;
    release.send(())?;
    let answer_to_giant = held.await??;

    assert_eq!(answer, run(&Claims, small));
    assert_eq!(answer_to_giant, run(&Claims, giant));
    for answer in [answer, answer_to_giant] {
        let outcome = Outcome::of(answer);
        assert_eq!(outcome.fatal, None);
        assert!(outcome.desired.contains_key("namespace"));
    }
    drop(channel);
    stop.send(()).unwrap_or_default();
    Ok(served.await??)
}
