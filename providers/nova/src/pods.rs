//! What Nova's programs have in common.

use provider_openstack::{NOVA, Program, Release, Source, Workers};

use crate::config;

/// A program of Nova that sees these files.
pub fn daemon(files: Source) -> Program {
    Program::default()
        .mount("config", NOVA.folder, files)
        .mount(
            "state",
            config::STATE,
            Source::EmptyDir { size_limit: None },
        )
}

/// A program of Nova that is started with the configuration file.
pub fn program(name: &str, files: Source) -> Program {
    daemon(files).reading(name, &config::path(), &[])
}

/// The file with the program of a cell's proxy of consoles.
pub const CONSOLE_PROXY: &str = "novncproxy.py";

/// The proxy of a cell's consoles.
pub fn console_proxy(files: Source) -> Program {
    let script = NOVA.file(CONSOLE_PROXY);
    let words = ["python3", &script, "--config-file", &config::path()];
    daemon(files).command(words.map(str::to_owned))
}

/// A command of nova-manage.
pub fn manage(files: Source, words: &[&str]) -> Program {
    daemon(files).reading("nova-manage", &config::path(), words)
}

/// How an API serves requests at once: by threads, or by processes where Eventlet patches threads, as releases before 2026.1 do
/// unless they are told otherwise (<https://docs.openstack.org/nova/latest/admin/concurrency.html>).
pub fn workers(release: Release) -> Workers {
    let (processes, threads) = match release < Release::new(2026, 1) {
        true => (3, 1),
        false => (2, 4),
    };
    Workers {
        processes,
        threads,
        // Attaching a volume waits for a compute, for up to `long_rpc_timeout`: half an hour.
        request_timeout: Some(1860),
        ..Workers::default()
    }
}
