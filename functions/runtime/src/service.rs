//! The FunctionRunnerService, in both of its versions.

use std::convert::Infallible;
use std::future::ready;
use std::marker::PhantomData;
use std::sync::Arc;

use function_protocol::v1::{RunFunctionRequest, RunFunctionResponse};
use tonic::codegen::{BoxFuture, Context, Poll, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::calls::Calls;

/// A version of the protocol. The messages are the same, the names are not.
pub(crate) trait Version: Clone + Send + Sync + 'static {
    /// As metrics name it.
    const LABEL: &'static str;
    const SERVICE: &'static str;
    const METHOD: &'static str;
}

/// What cores from 1.17 on call.
#[derive(Clone)]
pub(crate) enum V1 {}

/// What older cores call.
#[derive(Clone)]
pub(crate) enum V1Beta1 {}

impl Version for V1 {
    const LABEL: &'static str = "v1";
    const SERVICE: &'static str = "apiextensions.fn.proto.v1.FunctionRunnerService";
    const METHOD: &'static str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
}

impl Version for V1Beta1 {
    const LABEL: &'static str = "v1beta1";
    const SERVICE: &'static str = "apiextensions.fn.proto.v1beta1.FunctionRunnerService";
    const METHOD: &'static str =
        "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";
}

/// Serves one version of the protocol.
#[derive(Clone)]
pub(crate) struct FunctionRunner<V> {
    calls: Arc<Calls>,
    max_message_bytes: usize,
    version: PhantomData<V>,
}

impl<V: Version> FunctionRunner<V> {
    pub(crate) fn new(calls: Arc<Calls>, max_message_bytes: usize) -> Self {
        Self {
            calls,
            max_message_bytes,
            version: PhantomData,
        }
    }
}

impl<V: Version> NamedService for FunctionRunner<V> {
    const NAME: &'static str = V::SERVICE;
}

impl<V: Version> Service<http::Request<tonic::body::Body>> for FunctionRunner<V> {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        if request.uri().path() != V::METHOD {
            let unknown = Status::unimplemented(format!("{} has only RunFunction", V::SERVICE));
            return Box::pin(ready(Ok(unknown.into_http())));
        }
        let method = RunFunction {
            calls: Arc::clone(&self.calls),
            version: V::LABEL,
        };
        let mut grpc =
            Grpc::new(ProstCodec::default()).max_decoding_message_size(self.max_message_bytes);
        Box::pin(async move { Ok(grpc.unary(method, request).await) })
    }
}

struct RunFunction {
    calls: Arc<Calls>,
    version: &'static str,
}

impl UnaryService<RunFunctionRequest> for RunFunction {
    type Response = RunFunctionResponse;
    type Future = BoxFuture<Response<RunFunctionResponse>, Status>;

    fn call(&mut self, request: Request<RunFunctionRequest>) -> Self::Future {
        let answer = Arc::clone(&self.calls).answer(self.version, request.into_inner());
        Box::pin(async move { answer.await.map(Response::new) })
    }
}
