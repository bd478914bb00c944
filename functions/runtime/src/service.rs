//! The FunctionRunnerService, in both of its versions. Cores from 1.17 on call v1, older ones v1beta1.

use std::sync::Arc;

use function_protocol::v1::{RunFunctionRequest, RunFunctionResponse};
use tonic::{Request, Response, Status};

use crate::calls::Calls;

pub(crate) mod v1 {
    tonic::include_proto!("apiextensions.fn.proto.v1.FunctionRunnerService");
}

pub(crate) mod v1beta1 {
    tonic::include_proto!("apiextensions.fn.proto.v1beta1.FunctionRunnerService");
}

/// Both versions of the service. Metrics count them by their names.
pub(crate) struct FunctionRunner(pub(crate) Arc<Calls>);

impl FunctionRunner {
    async fn answer(
        &self,
        version: &'static str,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        let answer = Arc::clone(&self.0).answer(version, request.into_inner());
        answer.await.map(Response::new)
    }
}

#[tonic::async_trait]
impl v1::function_runner_service_server::FunctionRunnerService for FunctionRunner {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        self.answer("v1", request).await
    }
}

#[tonic::async_trait]
impl v1beta1::function_runner_service_server::FunctionRunnerService for FunctionRunner {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        self.answer("v1beta1", request).await
    }
}
