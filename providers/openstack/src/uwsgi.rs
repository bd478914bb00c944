//! uwsgi, which serves an API.

use crate::api::CERTIFICATE;
use crate::front::BEHIND;
use crate::service::Service;
use crate::{files, metrics};

/// Path that a pod answers when it reaches its database.
pub const READY: &str = "/ready";
/// Processes of each replica, and threads of each process.
const PROCESSES: (&str, &str) = ("2", "4");

/// How often chores are done, as uwsgi reads it: every two minutes. They are uwsgi's, since a container of their own would need
/// requests of its own, or a HorizontalPodAutoscaler couldn't count.
const CHORES: &str = "-2 -1 -1 -1 -1";

/// How uwsgi serves a Python module (<https://uwsgi-docs.readthedocs.io/en/latest/Options.html>).
pub fn command(service: &Service<'_>, behind: bool, encrypted: bool) -> Vec<String> {
    let port = service.about.port;
    let socket = match (behind, encrypted) {
        (true, _) => ["--socket".to_owned(), format!("127.0.0.1:{BEHIND}")],
        (false, true) => [
            "--https-socket".to_owned(),
            format!(":{port},{CERTIFICATE}/tls.crt,{CERTIFICATE}/tls.key"),
        ],
        (false, false) => ["--http-socket".to_owned(), format!(":{port}")],
    };
    let module = format!("{}:application", service.about.module);
    let ready = format!("{READY}={}/{}", service.about.folder, files::READY);
    let (processes, threads) = PROCESSES;
    let rest = [
        "--module",
        &module,
        "--mount",
        &ready,
        "--manage-script-name",
        // For the root alone uwsgi then leaves out a variable that Glance's router needs.
        "--route",
        "^/$ addvar:SCRIPT_NAME=",
        "--single-interpreter",
        "--master",
        "--processes",
        processes,
        "--threads",
        threads,
        "--enable-threads",
        "--thunder-lock",
        // Each process opens connections of its own.
        "--lazy-apps",
        "--need-app",
        // Tokens in headers are long.
        "--buffer-size",
        "65535",
        "--add-header",
        "Connection: close",
        // Without it SIGTERM reloads; with it requests that have begun come to their end.
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
        .chain(metrics::options(service))
        .collect()
}

/// How it does chores, commands as a shell reads them.
pub fn chores(chores: &[String]) -> impl Iterator<Item = String> {
    chores
        .iter()
        .flat_map(|chore| ["--cron".to_owned(), format!("{CHORES} {chore}")])
}
