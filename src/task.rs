//! Each task of the command line, handed to the crate that does it.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, ensure};
use c5c3_api::shell::argument;
use c5c3_live::{Access, Cluster, Division, Form, Screen, Selection};
use c5c3_plan::{Compositions, Files, Format, Page, Paint, Plan as Planned, Settings};
use clap::CommandFactory;
use function_runtime::{Options, Tls};
use jiff::Timestamp;
use provider_runtime::Leadership;
use terminal_size::{Height, Width};
use tokio::runtime;

use crate::cli::{
    Cli, Completions, Dashboard, Function, Graph, LabelsInjector, Operator, Output, Plan, Status,
    StatusOutput, Xr, Xrds,
};
use crate::operators;

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

/// Runs operators until the process is told to stop.
pub fn operator(arguments: &Operator) -> Result<ExitCode> {
    let operators = operators::chosen(&arguments.names)?;
    function_runtime::init_logs(arguments.debug, arguments.log_format.into());
    let options = provider_runtime::Options {
        kubeconfig: arguments.kubeconfig.clone(),
        address: arguments.address.0,
        leadership: match arguments.alone {
            true => Leadership::Alone,
            false => Leadership::Elected {
                namespace: arguments.lease_namespace.clone(),
            },
        },
        namespaces: arguments.watch_namespaces.clone(),
    };
    provider_runtime::run(operators, operators::drivers(), &options)?;
    Ok(ExitCode::SUCCESS)
}

/// Copies labels of nodes to pods until the process is told to stop.
pub fn labels_injector(arguments: &LabelsInjector) -> Result<ExitCode> {
    function_runtime::init_logs(arguments.debug, arguments.log_format.into());
    let options = labels_injector::Options {
        kubeconfig: arguments.kubeconfig.clone(),
        webhook: arguments.webhook_address,
        certificates: arguments.tls_certs_dir.clone(),
        address: arguments.address.0,
    };
    labels_injector::run(&options)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows a plan.
pub fn plan(arguments: &Plan) -> Result<ExitCode> {
    let access = |kubeconfig: &PathBuf| Access {
        kubeconfig: Some(kubeconfig.clone()),
        context: arguments.context.clone(),
    };
    let compared = match (&arguments.against, &arguments.pool) {
        (Some(kubeconfig), _) => compared(arguments, &access(kubeconfig)),
        (None, Some(kubeconfig)) => divided(arguments, &access(kubeconfig)),
        (None, None) => return planned(arguments),
    };
    compared.or_else(|error| {
        note(&[error.to_string()])?;
        Ok(ExitCode::from(NOT_COMPARED))
    })
}

/// Of `diff`, and so of a plan against a cluster.
const DIFFERS: u8 = 1;
const NOT_COMPARED: u8 = 2;

fn planned(arguments: &Plan) -> Result<ExitCode> {
    let plan = c5c3_plan::plan(&files(arguments)?, &settings(arguments)?)?;
    print(&match (arguments.graph, arguments.output) {
        (Some(graph), _) => drawn(&plan, graph)?,
        (None, Output::Tree) => c5c3_plan::tree(&plan, page(), &command_line()),
        (None, Output::Yaml) => c5c3_plan::stream(&plan, Format::Yaml)?,
        (None, Output::Json) => c5c3_plan::stream(&plan, Format::Json)?,
        (None, Output::Config) => configuration(&plan)?,
    })?;
    Ok(match plan.has_failed() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

/// The dependency graphs of a plan.
fn drawn(plan: &Planned, graph: Graph) -> Result<String> {
    let graphs: Vec<_> = plan.graphs().cloned().collect();
    ensure!(
        !graphs.is_empty(),
        "no ControlPlane is planned, so there is none to draw: run this without --graph to see why, or with --assume-ready \
         to go on as if missing pools were there"
    );
    Ok(c5c3_plan::graph::draw(&graphs, graph.into()))
}

/// The configuration files of a plan.
fn configuration(plan: &Planned) -> Result<String> {
    let text = c5c3_plan::configuration(plan);
    ensure!(
        !text.is_empty(),
        "no service has a configuration file yet: run this without --output to see what is waited for, or with \
         --assume-ready to go on as if it were there"
    );
    Ok(text)
}

fn compared(arguments: &Plan, access: &Access) -> Result<ExitCode> {
    let (files, settings) = (files(arguments)?, settings(arguments)?);
    let compared = async || -> Result<_> {
        let cluster = Cluster::reach(access).await?;
        Ok(c5c3_live::against(&files, &settings, &cluster).await?)
    };
    let (plan, difference) = wait_for(compared())?;
    if plan.has_failed() {
        print(&c5c3_plan::tree(&plan, page(), &command_line()))?;
        return Ok(ExitCode::from(NOT_COMPARED));
    }
    print(&difference.render(paint()))?;
    Ok(match difference.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(DIFFERS),
    })
}

/// How the plan would divide a hypervisor pool.
fn divided(arguments: &Plan, access: &Access) -> Result<ExitCode> {
    let settings = Settings {
        assume_ready: true,
        ..settings(arguments)?
    };
    let plan = c5c3_plan::plan(&files(arguments)?, &settings)?;
    if plan.has_failed() {
        print(&c5c3_plan::tree(&plan, page(), &command_line()))?;
        return Ok(ExitCode::from(NOT_COMPARED));
    }
    let division = async || -> Result<_> {
        let cluster = Cluster::reach(access).await?;
        Ok(Division::planned(&plan, &cluster, settings.now).await?)
    };
    let division = wait_for(division())?;
    print(&division.to_string())?;
    Ok(match division.is_unchanged() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(DIFFERS),
    })
}

fn files(arguments: &Plan) -> Result<Files> {
    let files = c5c3_plan::read(&[&arguments.paths[..], &arguments.files].concat())?;
    note(&files.skipped)?;
    Ok(files)
}

fn settings(arguments: &Plan) -> Result<Settings> {
    Ok(Settings {
        generation: arguments.crossplane.into(),
        compositions: compositions(arguments.compositions.as_deref())?,
        composition: arguments.composition.clone(),
        assume_ready: arguments.assume_ready,
        present: BTreeMap::new(),
        now: Timestamp::now(),
    })
}

/// The Compositions of a folder, or those that are built in.
pub fn compositions(folder: Option<&Path>) -> Result<Compositions> {
    Ok(match folder {
        Some(folder) => Compositions::read(folder)?,
        None => Compositions::built_in()?,
    })
}

/// Shows the resources that this project's operators reconcile in a cluster.
pub fn status(arguments: &Status) -> Result<ExitCode> {
    let access = Access {
        kubeconfig: arguments.kubeconfig.clone(),
        context: arguments.context.clone(),
    };
    let selection = Selection {
        name: arguments.name.clone(),
        namespace: arguments.namespace.clone(),
    };
    let form = match arguments.output {
        StatusOutput::Tree => Form::Tree(page()),
        StatusOutput::Json => Form::Json,
    };
    let shown = async || -> Result<()> {
        let cluster = Cluster::reach(&access).await?;
        match (arguments.pool, arguments.watch) {
            (true, _) => print(&c5c3_live::pool(&cluster, Timestamp::now(), form).await?),
            (false, true) => follow(&cluster, &selection).await,
            (false, false) => print(&c5c3_live::status(&cluster, &selection, form).await?),
        }
    };
    wait_for(shown())?;
    Ok(ExitCode::SUCCESS)
}

/// Serves the dashboard until the process is told to stop.
pub fn dashboard(arguments: &Dashboard) -> Result<ExitCode> {
    function_runtime::init_logs(arguments.debug, arguments.log_format.into());
    let options = c5c3_dashboard::Options {
        access: Access {
            kubeconfig: arguments.kubeconfig.clone(),
            context: arguments.context.clone(),
        },
        per_viewer: arguments.per_viewer,
        address: arguments.address,
        certificates: arguments.tls_certs_dir.clone(),
        metrics_address: arguments.metrics_address.0,
    };
    wait_for(async { Ok(c5c3_dashboard::run(&options).await?) })?;
    Ok(ExitCode::SUCCESS)
}

/// Follows until the reader closes the pipe.
async fn follow(cluster: &Cluster, selection: &Selection) -> Result<()> {
    let show = |text: &str| -> Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    };
    let followed = c5c3_live::follow(cluster, selection, screen, show).await;
    followed.or_else(|error| match error.downcast_ref::<io::Error>() {
        Some(unread) if unread.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// Waits for what talks to a cluster.
fn wait_for<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

/// Writes composite resources.
pub fn xr(arguments: &Xr) -> Result<ExitCode> {
    let files = c5c3_plan::read(&arguments.paths)?;
    note(&files.skipped)?;
    print(&c5c3_plan::composites(&files, arguments.crossplane.into())?)?;
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

/// Writes to stdout. The reader may stop early, as `head` does.
pub fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes notes or an error to stderr, each line with the program's name.
pub fn note(notes: &[String]) -> Result<()> {
    let mut stderr = io::stderr().lock();
    for line in notes.iter().flat_map(|note| note.lines()) {
        writeln!(stderr, "c5c3: {}", c5c3_plan::printable(line))?;
    }
    Ok(())
}

/// Colours for a terminal, unless NO_COLOR is set (<https://no-color.org>).
fn paint() -> Paint {
    let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match io::stdout().is_terminal() && !unwanted {
        true => Paint::Colours,
        false => Paint::Plain,
    }
}

/// As wide as the terminal; what isn't read on one is as wide as ever.
fn page() -> Page {
    let width = terminal().map(|(width, _)| width);
    Page {
        paint: paint(),
        width: width.unwrap_or(Page::PLAIN.width).min(Page::PLAIN.width),
    }
}

fn screen() -> Screen {
    match terminal() {
        Some((_, height)) => Screen::Terminal {
            page: page(),
            height,
        },
        None => Screen::Lines,
    }
}

/// Columns and lines of the terminal that is written to, if it is one.
fn terminal() -> Option<(usize, usize)> {
    let (Width(width), Height(height)) = terminal_size::terminal_size_of(io::stdout())?;
    Some((width.into(), height.into()))
}

/// The command line as it was given, to be given again.
fn command_line() -> String {
    let words: Vec<String> = env::args().map(|word| argument(&word)).collect();
    words.join(" ")
}
