//! A composition function that composes what its Composition's input lists, word for word, and nothing of its own.
//! Something is ready when its own condition says so, or has none to say.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use function_protocol::{Fatal, Function, Readiness, Request, Response};
use function_runtime::{LogFormat, Options, Tls, init_logs, run};
use serde::Deserialize;
use serde_json::Value;

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    metrics_address: SocketAddr,
    #[arg(long)]
    tls_certs_dir: PathBuf,
}

#[derive(Deserialize)]
struct Input {
    resources: BTreeMap<String, Value>,
}

#[derive(Default, Deserialize)]
struct Observed {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

struct Verbatim;

const AGAIN: Duration = Duration::from_secs(2);

impl Function for Verbatim {
    fn compose(&self, request: Request, response: &mut Response) -> Result<(), Fatal> {
        let input: Input = request
            .input()?
            .ok_or_else(|| Fatal::new("list resources in the input"))?;
        for (name, manifest) in input.resources {
            let observed = request
                .observed()
                .get(&name)
                .and_then(|resource| resource.resource.as_ref());
            let ready = match observed {
                Some(observed) => readiness(&observed.parse()?),
                None => Readiness::False,
            };
            response.desire(name, &manifest, ready)?;
        }
        // Crossplane watches what it composes, and asks again for nothing else but this.
        response.ttl(AGAIN);
        Ok(())
    }
}

fn readiness(observed: &Observed) -> Readiness {
    match observed
        .status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")
    {
        Some(ready) if ready.status != "True" => Readiness::False,
        _ => Readiness::True,
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    init_logs(true, LogFormat::Text);
    let options = Options {
        address: arguments.address,
        metrics_address: Some(arguments.metrics_address),
        ..Options::new(Tls::Directory(arguments.tls_certs_dir))
    };
    Ok(run(Arc::new(Verbatim), &options)?)
}
