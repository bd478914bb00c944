//! A client that sends bytes and takes bytes: what it costs isn't what is measured.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use prost::bytes::{Buf, BufMut, Bytes};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::certificates::Certificates;

const METHOD: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

/// How long a server may take to start.
const START: Duration = Duration::from_secs(20);
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// One connection.
#[derive(Clone)]
pub struct Client(Grpc<Channel>);

impl Client {
    /// Connects, as soon as the server listens.
    ///
    /// # Errors
    /// It doesn't listen, or the two don't know each other.
    pub async fn connect(address: SocketAddr, certificates: &Certificates) -> Result<Self> {
        let endpoint = Endpoint::from_shared(format!("https://{address}"))?
            .tls_config(certificates.client())?;
        let started = Instant::now();
        let channel = loop {
            match endpoint.connect().await {
                Ok(channel) => break channel,
                Err(error) if started.elapsed() > START => {
                    return Err(error).with_context(|| format!("no connection to {address}"));
                }
                Err(_) => tokio::time::sleep(BETWEEN_TRIES).await,
            }
        };
        Ok(Self(
            Grpc::new(channel).max_decoding_message_size(usize::MAX),
        ))
    }

    /// Calls the function.
    ///
    /// # Errors
    /// A gRPC error.
    pub async fn call(&self, request: Bytes) -> Result<Bytes> {
        let mut grpc = self.0.clone();
        grpc.ready().await.context("the connection is gone")?;
        let method = PathAndQuery::from_static(METHOD);
        let response = grpc.unary(Request::new(request), method, Raw).await?;
        Ok(response.into_inner())
    }
}

/// Messages as they are on the wire.
#[derive(Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }
}
