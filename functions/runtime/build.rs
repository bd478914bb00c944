//! Generates the gRPC service of both protocol packages over the messages of one: they have the same fields.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let service = |package: &str| {
        let run = Method::builder()
            .name("run_function")
            .route_name("RunFunction")
            .input_type("function_protocol::v1::RunFunctionRequest")
            .output_type("function_protocol::v1::RunFunctionResponse")
            .codec_path("tonic_prost::ProstCodec")
            .build();
        Service::builder()
            .name("FunctionRunnerService")
            .package(package)
            .method(run)
            .build()
    };
    Builder::new().build_client(false).compile(&[
        service("apiextensions.fn.proto.v1"),
        service("apiextensions.fn.proto.v1beta1"),
    ]);
}
