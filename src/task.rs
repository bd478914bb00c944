//! Each task of the command line, handed to the crate that does it.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use c5c3_plan::{Compositions, Format, Paint, Settings};
use clap::CommandFactory;
use function_runtime::{Options, Tls};
use jiff::Timestamp;

use crate::cli::{Cli, Completions, Function, Output, Plan, Xr, Xrds};

/// Serves the function until the process is told to stop.
pub fn function(arguments: &Function) -> Result<ExitCode> {
    function_runtime::init_logs(arguments.debug, arguments.log_format.into());
    let options = Options {
        address: arguments.address,
        metrics_address: arguments.metrics_address.0,
        max_message_bytes: arguments.max_message_size,
        ..Options::new(Tls::from_flags(
            arguments.insecure,
            arguments.tls_certs_dir.clone(),
        )?)
    };
    function_runtime::run(Arc::new(function_c5c3::Claims), &options)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows a plan.
pub fn plan(arguments: &Plan) -> Result<ExitCode> {
    let files = c5c3_plan::read(&[&arguments.paths[..], &arguments.files].concat())?;
    note(&files.ignored)?;
    let settings = Settings {
        generation: arguments.crossplane.into(),
        compositions: match &arguments.compositions {
            Some(folder) => Compositions::read(folder)?,
            None => Compositions::built_in()?,
        },
        composition: arguments.composition.clone(),
        assume_ready: arguments.assume_ready,
        present: BTreeMap::new(),
        now: Timestamp::now(),
    };
    let plan = c5c3_plan::plan(&files, &settings)?;
    print(&match arguments.output {
        Output::Tree => c5c3_plan::tree(&plan, paint(), &command_line()),
        Output::Yaml => c5c3_plan::stream(&plan, Format::Yaml)?,
        Output::Json => c5c3_plan::stream(&plan, Format::Json)?,
    })?;
    Ok(match plan.has_failed() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// Writes composite resources.
pub fn xr(arguments: &Xr) -> Result<ExitCode> {
    let files = c5c3_plan::read(&arguments.paths)?;
    note(&files.ignored)?;
    print(&c5c3_plan::composites(
        &files.given,
        arguments.crossplane.into(),
    )?)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the definitions.
pub fn xrds(arguments: &Xrds) -> Result<ExitCode> {
    print(&c5c3_plan::yaml(c5c3_api::definitions(
        arguments.crossplane.into(),
    ))?)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a completion script.
pub fn completions(arguments: &Completions) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "c5c3", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes to stdout. Whoever reads may stop early, as `head` does.
fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn note(notes: &[String]) -> Result<()> {
    let mut stderr = io::stderr().lock();
    for note in notes {
        writeln!(stderr, "c5c3: {note}")?;
    }
    Ok(())
}

/// Colours for a terminal, unless somebody wants none (<https://no-color.org>).
fn paint() -> Paint {
    let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match io::stdout().is_terminal() && !unwanted {
        true => Paint::Colours,
        false => Paint::Plain,
    }
}

/// The command line as it was given, to be given again.
fn command_line() -> String {
    let words = env::args().map(|word| match word.contains([' ', '\'', '"', '$', '*']) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word,
    });
    let words: Vec<String> = words.collect();
    words.join(" ")
}
