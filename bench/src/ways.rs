//! Ways to process a request.

use anyhow::{Context, Result};
use clap::ValueEnum;
use function_c5c3::Claims;
use function_protocol::v1::{RunFunctionRequest, RunFunctionResponse};
use prost::Message;
use std::hint::black_box;

/// A way to process a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Decode it with `prost_types::Struct` and encode the response: the baseline of a conventional function in Rust.
    Conventional,
    /// Decode it with this project's messages and encode the response.
    PassThrough,
    /// Decode, compose, encode.
    Compose,
}

impl Way {
    /// Processes a request the given number of times.
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

/// Returns the function's encoded response to an encoded request.
///
/// # Errors
/// The bytes aren't a request.
pub fn answer(request: &[u8]) -> Result<Vec<u8>> {
    let request = RunFunctionRequest::decode(request).context("not a RunFunctionRequest")?;
    Ok(function_protocol::run(&Claims, request).encode_to_vec())
}

fn pass<Request: Message + Default, Response: Message + Default>(
    request: &[u8],
    response: &[u8],
    times: usize,
) -> Result<()> {
    let response = Response::decode(response).context("not a RunFunctionResponse")?;
    for _ in 0..times {
        black_box(Request::decode(black_box(request)).context("not a RunFunctionRequest")?);
        black_box(black_box(&response).encode_to_vec());
    }
    Ok(())
}
