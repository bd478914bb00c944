//! Modes in which the benchmark processes a request.

use anyhow::{Context, Result};
use clap::ValueEnum;
use function_c5c3::Claims;
use function_protocol::v1::{RunFunctionRequest, RunFunctionResponse};
use prost::Message;
use std::hint::black_box;

/// How a request is processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Decode it with `prost_types::Struct` and encode the response: the baseline of a conventional function in Rust.
    Conventional,
    /// Decode it with this project's messages and encode the response.
    PassThrough,
    /// Decode, compose, encode.
    Compose,
}

impl Mode {
    /// Processes a request the given number of times.
    ///
    /// # Errors
    /// The bytes aren't a request and its response.
    pub fn repeat(self, request: &[u8], response: &[u8], times: usize) -> Result<()> {
        match self {
            Mode::Conventional => pass::<
                conventional::RunFunctionRequest,
                conventional::RunFunctionResponse,
            >(request, response, times),
            Mode::PassThrough => {
                pass::<RunFunctionRequest, RunFunctionResponse>(request, response, times)
            }
            Mode::Compose => {
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
