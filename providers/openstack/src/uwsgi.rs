//! uwsgi, which serves the WSGI components.

use educe::Educe;

use crate::component::Component;
use crate::reverse_proxy::UPSTREAM_PORT;
use crate::tls::CERTIFICATE;
use crate::{files, metrics};

/// Path of the readiness check, which needs the database.
pub const READY: &str = "/ready";

/// The schedule of periodic commands in uwsgi's format: every two minutes. uwsgi runs them, because a separate container would need
/// resource requests, which a HorizontalPodAutoscaler would include.
const PERIOD: &str = "-2 -1 -1 -1 -1";

/// The largest part of a chunked upload, in bytes. uwsgi keeps one in memory, and refuses those of more than 1 MiB unless it is told
/// otherwise.
const LARGEST_CHUNK: u32 = 16 << 20;

/// The seconds that most APIs of a control plane work on a request at most, [`Workers::request_timeout`].
pub const REQUEST_TIMEOUT: u16 = 300;

/// How many requests each replica serves at once, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Educe)]
#[educe(Default)]
pub struct Workers {
    /// Processes of each replica.
    #[educe(Default = 2)]
    pub processes: u8,
    /// Threads of each process.
    #[educe(Default = 4)]
    pub threads: u8,
    /// Seconds after which a request counts as stuck, and uwsgi replaces the process that serves it, with the requests of its other
    /// threads. It must exceed what the service itself waits for. None where requests may take hours.
    // By default more than the longest timeout in Neutron, Cinder and Placement: 180 seconds for OVN's databases.
    #[educe(Default = Some(REQUEST_TIMEOUT))]
    pub request_timeout: Option<u16>,
    /// Seconds that a client may pause while it sends or receives data, in which it occupies a thread: headers and the start of TLS too.
    /// uwsgi takes it for chunked uploads too, as long as `chunked-input-timeout` isn't set (core/chunked.c). None where data is so little
    /// that uwsgi's own 4 seconds are enough.
    pub transfer_timeout: Option<u16>,
}

/// The command of uwsgi for a Python module (<https://uwsgi-docs.readthedocs.io/en/latest/Options.html>).
pub fn command(
    component: &Component<'_>,
    (module, port): (&str, u16),
    workers: Workers,
    proxied: bool,
    encrypted: bool,
) -> Vec<String> {
    let socket = match (proxied, encrypted) {
        (true, _) => ["--socket".to_owned(), format!("127.0.0.1:{UPSTREAM_PORT}")],
        (false, true) => [
            "--https-socket".to_owned(),
            format!(":{port},{CERTIFICATE}/tls.crt,{CERTIFICATE}/tls.key"),
        ],
        (false, false) => ["--http-socket".to_owned(), format!(":{port}")],
    };
    let module = format!("{module}:application");
    let ready = component.service.definition.file(files::READY);
    let ready = format!("{READY}={ready}");
    let (processes, threads) = (workers.processes.to_string(), workers.threads.to_string());
    let timeout = workers.request_timeout;
    let timeout = timeout.map(|seconds| ["--harakiri".to_owned(), seconds.to_string()]);
    let transfer = workers.transfer_timeout.map(|seconds| {
        [
            "--socket-timeout".to_owned(),
            seconds.to_string(),
            "--chunked-input-limit".to_owned(),
            LARGEST_CHUNK.to_string(),
        ]
    });
    // After a minute, uwsgi kills a process that still works, unless it is told otherwise (`uwsgi_curse` in core/master_utils.c).
    let shutdown = component.definition.shutdown();
    let shutdown =
        shutdown.map(|seconds| ["--worker-reload-mercy".to_owned(), seconds.to_string()]);
    let rest = [
        "--module",
        &module,
        "--mount",
        &ready,
        "--manage-script-name",
        // Without this, uwsgi omits a variable for the root path that Glance's router needs.
        "--route",
        "^/$ addvar:SCRIPT_NAME=",
        "--single-interpreter",
        "--master",
        "--processes",
        &processes,
        "--threads",
        &threads,
        "--enable-threads",
        "--thunder-lock",
        // Each process opens its own connections.
        "--lazy-apps",
        "--need-app",
        // Tokens in headers are long.
        "--buffer-size",
        "65535",
        "--add-header",
        "Connection: close",
        // Without this, SIGTERM reloads; with it, uwsgi completes the requests in flight and exits.
        "--hook-master-start",
        "unix_signal:15 gracefully_kill_them_all",
        "--disable-logging",
        "--log-4xx",
        "--log-5xx",
    ];
    let uwsgi = ["uwsgi".to_owned()];
    uwsgi
        .into_iter()
        .chain(socket)
        .chain(rest.map(str::to_owned))
        .chain(timeout.into_iter().flatten())
        .chain(transfer.into_iter().flatten())
        .chain(shutdown.into_iter().flatten())
        .chain(metrics::options(component))
        .collect()
}

/// uwsgi's options that run shell commands periodically.
pub fn periodic(commands: &[String]) -> impl Iterator<Item = String> {
    commands
        .iter()
        .flat_map(|command| ["--cron".to_owned(), format!("{PERIOD} {command}")])
}
