//! Logs.

use std::env;
use std::io::{self, IsTerminal};
use std::panic;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Crates below this one: their debug events would drown ours.
const NOISY: [&str; 8] = [
    "h2",
    "hyper",
    "hyper_util",
    "kube_client",
    "rustls",
    "tokio_rustls",
    "tonic",
    "tower",
];

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line, for collectors.
    #[default]
    Json,
    /// For people.
    Text,
}

/// Writes log lines to stderr from now on, those of panics too. Debug shows every call; without it, only those that
/// ended in an error. `RUST_LOG`, if it is set, says instead what is shown: `info,provider_runtime=debug`. A second call
/// changes nothing.
pub fn init_logs(debug: bool, format: LogFormat) {
    let level = if debug {
        LevelFilter::DEBUG
    } else {
        LevelFilter::INFO
    };
    let targets = NOISY.into_iter().map(|target| (target, LevelFilter::INFO));
    let wanted = env::var("RUST_LOG")
        .ok()
        .and_then(|wanted| wanted.parse::<Targets>().ok());
    let filter = wanted.unwrap_or_else(|| Targets::new().with_default(level).with_targets(targets));
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let subscriber = tracing_subscriber::registry().with(filter);
    let installed = match format {
        LogFormat::Json => subscriber.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Text => subscriber.with(lines).try_init(),
    };
    if installed.is_ok() {
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string);
            tracing::error!(place, message = info.payload_as_str(), "panic");
        }));
    }
}
