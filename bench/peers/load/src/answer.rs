//! What the servers have to agree on before they are measured.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use function_protocol::v1::{Resource, RunFunctionResponse};
use prost::Message;
use prost::bytes::Bytes;
use serde_json::Value;

use crate::request::Dialect;

/// An answer, by value; what is only for people to read is left out.
pub struct Answer {
    /// The composite resource's status, and the composed resources by their names, each with its readiness.
    resources: BTreeMap<String, (Value, i32)>,
    /// The status of each condition.
    conditions: BTreeMap<String, i32>,
}

/// Reads a response.
///
/// # Errors
/// It isn't one, or it is that of a function which gave up.
pub fn read(response: &Bytes, dialect: Dialect) -> Result<Answer> {
    let response = RunFunctionResponse::decode(response.clone()).context("this is no response")?;
    if let Some(result) = response.results.first() {
        bail!("the function isn't settled: {}", result.message);
    }
    let desired = response.desired.unwrap_or_default();
    let composite = desired
        .composite
        .map(|composite| (String::new(), composite));
    let resources = desired.resources.into_iter().chain(composite);
    let conditions = response.conditions.into_iter();
    Ok(Answer {
        resources: resources
            .map(|(name, resource)| Ok((name, value(&resource)?)))
            .collect::<Result<_>>()?,
        conditions: conditions
            // function-pythonic has one of its own.
            .filter(|condition| {
                dialect == Dialect::Plain || condition.r#type != "ResourcesComposed"
            })
            .map(|condition| (condition.r#type, condition.status))
            .collect(),
    })
}

fn value(resource: &Resource) -> Result<(Value, i32)> {
    let document = resource.resource.as_ref();
    let value = document.map(|document| document.parse()).transpose()?;
    let mut value: Value = value.unwrap_or_default();
    if value["kind"] == "Usage" {
        value["spec"]["reason"].take();
    }
    Ok((value, resource.ready))
}

/// Checks that a server's answer is the expected one.
///
/// # Errors
/// It isn't; the message has the first difference.
pub fn same(expected: &Answer, answer: &Answer, name: &str) -> Result<()> {
    for (resource, wanted) in &expected.resources {
        let given = answer.resources.get(resource);
        ensure!(
            given == Some(wanted),
            "{name} answers otherwise for the resource {resource:?}: {given:?}, and ours {wanted:?}"
        );
    }
    for resource in answer.resources.keys() {
        let known = expected.resources.contains_key(resource);
        ensure!(known, "{name} composes {resource} as well");
    }
    ensure!(
        expected.conditions == answer.conditions,
        "{name} sets other conditions: {:?}, and ours {:?}",
        answer.conditions,
        expected.conditions
    );
    Ok(())
}
