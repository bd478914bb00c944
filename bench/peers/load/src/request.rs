//! The requests, as the servers want them.

use anyhow::{Context, Result};
use function_c5c3_fixtures::Workload;
use function_protocol::Document;
use function_protocol::v1::{Capability, RunFunctionRequest, RunFunctionResponse};
use prost::Message;
use prost::bytes::Bytes;
use serde_json::{Value, json};

use crate::client::Client;

/// How often a function may ask for more: Crossplane calls it no more than this for one reconcile.
const ROUNDS: usize = 5;

/// How a server wants its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// As they are.
    Plain,
    /// With an input that names the composition, and our input within it.
    Pythonic,
}

/// One call to be answered in each dialect.
pub struct Call(RunFunctionRequest);

/// customer-a-prod with everything observed.
pub fn claim() -> Call {
    Call::of(Workload::claim())
}

/// A pool whose call carries a hundred claims.
pub fn pool() -> Call {
    Call::of(Workload::pool_among(100))
}

impl Call {
    /// As a core sends it that says what it can do; neither peer reads the older field for required resources.
    fn of(workload: Workload) -> Self {
        let mut request = workload.request;
        request.required_resources = std::mem::take(&mut request.extra_resources);
        request.meta.get_or_insert_default().capabilities = vec![
            Capability::Capabilities.into(),
            Capability::RequiredResources.into(),
            Capability::Conditions.into(),
        ];
        Self(request)
    }

    /// Calls until the function asks for nothing new, as Crossplane does; gives the last request and its response.
    ///
    /// # Errors
    /// A gRPC error.
    pub async fn settle(&self, dialect: Dialect, client: &Client) -> Result<(Bytes, Bytes)> {
        let mut request = self.0.clone();
        if dialect == Dialect::Pythonic {
            let parameters: Value = request.input.unwrap_or_default().parse()?;
            request.input = Some(Document::from_value(&json!({
                "composite": "openstack.OpenStackCluster", "step": "claims", "parameters": parameters,
            }))?);
        }
        for _ in 1..ROUNDS {
            let response = client.call(request.encode_to_vec().into()).await?;
            let response = RunFunctionResponse::decode(response).context("this is no response")?;
            request.context = response.context;
        }
        let request = Bytes::from(request.encode_to_vec());
        let response = client.call(request.clone()).await?;
        Ok((request, response))
    }
}
