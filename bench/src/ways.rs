//! Ways to answer a request.

use anyhow::{Context, Result};
use clap::ValueEnum;
use function_c5c3::Claims;
use function_protocol::v1::{RunFunctionRequest, RunFunctionResponse};
use prost::Message;
use std::hint::black_box;

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Decode it with `prost_types::Struct`, encode the response, do nothing else: what any function in Rust pays.
    Conventional,
    /// Decode it with our documents, encode the response, do nothing else.
    PassThrough,
    /// Decode, compose, encode.
    Compose,
}

impl Way {
    /// Does it so many times.
    ///
    /// # Errors
    /// The bytes aren't a request and its response.
    pub fn repeat(self, request: &[u8], response: &[u8], times: usize) -> Result<()> {
        match self {
            Way::Conventional => pass::<
                conventional::RunFunctionRequest,
                conventional::RunFunctionResponse,
            >(request, response, times),
            Way::PassThrough => {
                pass::<RunFunctionRequest, RunFunctionResponse>(request, response, times)
            }
            Way::Compose => {
                for _ in 0..times {
                    black_box(answer(black_box(request))?);
                }
                Ok(())
            }
        }
    }
}

/// The function's answer to a request, bytes for bytes.
///
/// # Errors
/// The bytes aren't a request.
pub fn answer(request: &[u8]) -> Result<Vec<u8>> {
    let request = RunFunctionRequest::decode(request).context("this is no request")?;
    Ok(function_protocol::run(&Claims, request).encode_to_vec())
}

fn pass<Request: Message + Default, Response: Message + Default>(
    request: &[u8],
    response: &[u8],
    times: usize,
) -> Result<()> {
    let response = Response::decode(response).context("this is no response")?;
    for _ in 0..times {
        black_box(Request::decode(black_box(request)).context("this is no request")?);
        black_box(black_box(&response).encode_to_vec());
    }
    Ok(())
}
