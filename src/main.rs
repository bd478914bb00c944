//! OpenStack control planes as a service: one program, a task by its name.

mod cli;
mod images;
mod metrics_address;
mod operators;
mod task;

use std::process::ExitCode;

use clap::Parser;
use tikv_jemallocator::Jemalloc;

use crate::cli::{Cli, Task};

/// It returns free pages between cached objects to the system, which glibc's allocator keeps.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.task {
        Task::Function(arguments) => task::function(&arguments),
        Task::Operator(arguments) => task::operator(&arguments),
        Task::LabelsInjector(arguments) => task::labels_injector(&arguments),
        Task::Plan(arguments) => task::plan(&arguments),
        Task::Status(arguments) => task::status(&arguments),
        Task::Dashboard(arguments) => task::dashboard(&arguments),
        Task::Images(arguments) => images::run(&arguments),
        Task::Xr(arguments) => task::xr(&arguments),
        Task::Xrds(arguments) => task::xrds(&arguments),
        Task::Completions(arguments) => task::completions(&arguments),
    };
    done.unwrap_or_else(|error| {
        // Nobody is left to tell if stderr is closed.
        let _ = task::note(&[error.to_string()]);
        ExitCode::FAILURE
    })
}
