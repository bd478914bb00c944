//! A server to test, its composer, and a client.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use function_protocol::v1::{
    RequestMeta, Resource, RunFunctionRequest, RunFunctionResponse, State,
};
use function_protocol::{Document, Fatal, Function, Readiness, Request, Response};
use function_runtime::{Options, ServeError, Server, Tls};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic_prost::ProstCodec;

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub const V1: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
pub const V1_BETA1: &str = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";

/// How long a call is held at most, so that a test that never opens the gate ends.
const HELD: Duration = Duration::from_secs(300);

/// Holds calls until it is opened.
#[derive(Default)]
pub struct Gate {
    state: Mutex<GateState>,
    opened: Condvar,
}

#[derive(Default)]
struct GateState {
    held: usize,
    open: bool,
}

impl Gate {
    /// How many calls came to it.
    pub fn held(&self) -> usize {
        self.state().held
    }

    pub fn open(&self) {
        self.state().open = true;
        self.opened.notify_all();
    }

    /// Waits until so many calls came to it.
    pub async fn holds(&self, count: usize) {
        while self.held() < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn pass(&self) {
        self.state().held += 1;
        let passed = self
            .opened
            .wait_timeout_while(self.state(), HELD, |state| !state.open);
        drop(passed.unwrap_or_else(PoisonError::into_inner));
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does what the composite resource's kind says.
struct Obeying {
    gate: Arc<Gate>,
}

#[derive(Deserialize)]
struct Order {
    kind: String,
}

impl Function for Obeying {
    fn compose(&self, request: Request, response: &mut Response) -> Result<(), Fatal> {
        response.desire("ours", &json!({"kind": "Object"}), Readiness::True)?;
        let nothing: [u8; 0] = [];
        match request.composite::<Order>()?.kind.as_str() {
            "Fatal" => Err(Fatal::new("spec.size: unknown size")),
            "Panic" => Err(Fatal::new(format!("{}", nothing[request.observed().len()]))),
            "Held" => {
                self.gate.pass();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A server that runs until it is told to stop.
pub struct Serving {
    pub address: SocketAddr,
    pub metrics: SocketAddr,
    pub gate: Arc<Gate>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), ServeError>>,
}

pub fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

pub fn options(tls: Tls) -> Options {
    Options {
        address: loopback(0),
        metrics_address: Some(loopback(0)),
        ..Options::new(tls)
    }
}

impl Serving {
    pub async fn start(tls: Tls) -> Outcome<Self> {
        let server = Server::bind(&options(tls)).await?;
        let address = server.address();
        let metrics = server.metrics_address().ok_or("metrics are served")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let gate = Arc::new(Gate::default());
        let composer = Arc::new(Obeying { gate: gate.clone() });
        let served = tokio::spawn(async move {
            server
                .serve(composer, async { stopped.await.unwrap_or_default() })
                .await
        });
        Ok(Self {
            address,
            metrics,
            gate,
            stop,
            served,
        })
    }

    pub fn tell_to_stop(self) -> JoinHandle<Result<(), ServeError>> {
        self.stop.send(()).unwrap_or_default();
        self.served
    }

    pub async fn stop(self) -> Outcome {
        Ok(tokio::time::timeout(Duration::from_secs(60), self.tell_to_stop()).await???)
    }

    pub async fn client(&self) -> Outcome<Channel> {
        Ok(Endpoint::from_shared(format!("http://{}", self.address))?
            .connect()
            .await?)
    }

    pub async fn tls_client(&self, tls: ClientTlsConfig) -> Outcome<Channel> {
        let endpoint = Endpoint::from_shared(format!("https://{}", self.address))?;
        Ok(endpoint
            .tls_config(tls.domain_name("function.test"))?
            .connect()
            .await?)
    }
}

pub fn document(value: &Value) -> Document {
    Document::from_value(value).unwrap_or_default()
}

/// A request about a composite resource of this kind, some bytes large.
pub fn request(kind: &str, padding: usize) -> RunFunctionRequest {
    let composite = json!({
        "kind": kind,
        "metadata": {"name": "customer-a-prod"},
        "spec": {"padding": "x".repeat(padding)},
    });
    let resource = |value: &Value| Resource {
        resource: Some(document(value)),
        ..Resource::default()
    };
    let theirs = ("theirs".to_owned(), resource(&json!({"kind": "Theirs"})));
    RunFunctionRequest {
        meta: Some(RequestMeta {
            tag: "a-tag".into(),
            ..RequestMeta::default()
        }),
        observed: Some(State {
            composite: Some(resource(&composite)),
            ..State::default()
        }),
        desired: Some(State {
            resources: [theirs].into(),
            ..State::default()
        }),
        ..RunFunctionRequest::default()
    }
}

pub async fn call(
    channel: &Channel,
    method: &'static str,
    request: RunFunctionRequest,
) -> Result<RunFunctionResponse, Status> {
    let mut client = Grpc::new(channel.clone()).max_decoding_message_size(32 << 20);
    client
        .ready()
        .await
        .map_err(|error| Status::unavailable(error.to_string()))?;
    let path = PathAndQuery::from_static(method);
    let answer = client
        .unary(tonic::Request::new(request), path, ProstCodec::default())
        .await?;
    Ok(answer.into_inner())
}

pub fn desired(response: &RunFunctionResponse) -> Vec<&str> {
    response
        .desired
        .iter()
        .flat_map(|desired| desired.resources.keys())
        .map(String::as_str)
        .collect()
}
