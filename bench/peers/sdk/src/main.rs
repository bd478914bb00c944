//! The same function, served by function-sdk-rust as its own example does.

use clap::Parser;
use composers_over_sdk::Claims;
use function_sdk_rust::proto::v1::function_runner_service_server::FunctionRunnerService;
use function_sdk_rust::proto::v1::{RunFunctionRequest, RunFunctionResponse};
use function_sdk_rust::{Args, Error, logging, serve};
use tonic::{Request, Response, Status};

struct Function;

#[tonic::async_trait]
impl FunctionRunnerService for Function {
    async fn run_function(
        &self,
        request: Request<RunFunctionRequest>,
    ) -> Result<Response<RunFunctionResponse>, Status> {
        let response = protocol_over_sdk::run(&Claims, request.into_inner());
        Ok(Response::new(response))
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let args = Args::parse();
    logging::configure(args.debug);
    serve(Function, &args).await
}
