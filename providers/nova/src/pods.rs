//! What Nova's programs have in common.

use provider_openstack::{NOVA, Program, Release, Source, Workers};

use crate::config;

/// A program of Nova that sees these files.
pub fn daemon(files: Source) -> Program {
    Program::default()
        .mount("config", NOVA.folder, files)
        .mount("state", config::STATE, Source::Scratch)
}

/// A program of Nova that is started with the configuration file.
pub fn program(name: &str, files: Source) -> Program {
    let command = [name.to_owned(), "--config-file".to_owned(), config::path()];
    daemon(files).command(command)
}

/// How an API serves requests at once: by threads, or by processes where Eventlet patches threads, as releases before 2026.1 do
/// unless they are told otherwise (<https://docs.openstack.org/nova/latest/admin/concurrency.html>).
pub fn workers(release: Release) -> Workers {
    match release < Release::new(2026, 1) {
        true => Workers {
            processes: 2,
            threads: 1,
        },
        false => Workers::default(),
    }
}
