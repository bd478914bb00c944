//! A function that composes nothing: what the runtime itself costs.
//!
//! `nothing [ADDRESS [CERTIFICATES]]` serves on ADDRESS (127.0.0.1:9443), with mutual TLS if a folder is given.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use function_protocol::{Fatal, Function, Request, Response};
use function_runtime::{LogFormat, Options, Tls, init_logs, run};

struct Nothing;

impl Function for Nothing {
    fn compose(&self, _request: Request, _response: &mut Response) -> Result<(), Fatal> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:9443".to_owned());
    let tls = arguments.next().map_or(Tls::Insecure, |directory| {
        Tls::Directory(PathBuf::from(directory))
    });
    init_logs(false, LogFormat::Json);
    let options = Options {
        address: address.parse()?,
        metrics_address: None,
        ..Options::new(tls)
    };
    Ok(run(Arc::new(Nothing), &options)?)
}
