//! Serves one function in three ways, puts the same load on each, and tells what it took.
//!
//! All run at once on this machine, loopback only, each with mutual TLS. They are measured in turns, several times over, and
//! the median of the turns is told, so that a busy moment of the machine hits none of them alone.

mod answer;
mod certificates;
mod client;
mod process;
mod request;
#[path = "../../../src/table.rs"]
mod table;
mod turn;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use crate::certificates::Certificates;
use crate::client::Client;
use crate::process::Server;
use crate::turn::{Limits, Turn};

/// How many times as many calls a second as the peers we have to answer.
const AHEAD_OF_SDK: f64 = 2.0;
const AHEAD_OF_PYTHONIC: f64 = 20.0;

/// What our process may hold before its first call, in kB.
const IDLE_KB: u64 = 10_000;

/// How often each server is measured.
const TURNS: usize = 5;

const LIMITS: Limits = Limits {
    at_once: 4,
    warm_up: 100,
    calls: 4000,
    time: Duration::from_secs(5),
};

#[derive(Parser)]
struct Arguments {
    /// The program `c5c3`
    #[arg(long)]
    ours: PathBuf,
    /// The program `function-over-sdk`
    #[arg(long)]
    sdk: PathBuf,
    /// The program `function-pythonic`
    #[arg(long)]
    pythonic: PathBuf,
    /// The folder with its composition
    #[arg(long)]
    composition: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    // Whichever ends first, the servers are stopped as they are dropped.
    tokio::select! {
        outcome = run(Arguments::parse()) => outcome,
        _ = terminate.recv() => bail!("told to stop"),
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            bail!("interrupted")
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let certificates = Certificates::issue(folder.path())?;
    let servers = [
        Server::ours(&arguments.ours, &certificates)?,
        Server::sdk(&arguments.sdk, &certificates)?,
        Server::pythonic(&arguments.pythonic, &arguments.composition, &certificates)?,
    ];
    let mut peers = Vec::new();
    for server in servers {
        let client = server.connect(&certificates).await?;
        let idle = server.memory()?.now;
        peers.push(Peer {
            server,
            client,
            idle,
        });
    }
    let [ours, sdk, pythonic] = &peers[..] else {
        bail!("there are three");
    };

    let claim = request::claim();
    let turns = measure(&[ours, sdk, pythonic], &claim).await?;
    println!("customer-a-prod, everything observed and well:\n");
    println!("{}", turn::table(&turns));
    for peer in &peers {
        let memory = peer.server.memory()?;
        println!(
            "{}: {:.1} MB before the first call, {:.1} MB now, {:.1} MB at most",
            peer.server.name(),
            megabytes(peer.idle),
            megabytes(memory.now),
            megabytes(memory.peak),
        );
    }
    let pool = measure(&[ours, sdk], &request::pool()).await?;
    println!("\nA pool with 100 consumers:\n");
    println!("{}", turn::table(&pool));

    let ahead = |over: usize| turns[0].calls_per_second() / turns[over].calls_per_second();
    println!(
        "ours answers {:.1} times as many calls a second as function-sdk-rust, {:.0} times as many as function-pythonic",
        ahead(1),
        ahead(2)
    );
    ensure!(
        ahead(1) >= AHEAD_OF_SDK && ahead(2) >= AHEAD_OF_PYTHONIC,
        "{AHEAD_OF_SDK} and {AHEAD_OF_PYTHONIC} times are wanted"
    );
    ensure!(
        ours.idle < IDLE_KB,
        "ours holds {} kB before its first call; less than {IDLE_KB} are wanted",
        ours.idle
    );
    Ok(())
}

/// A server under measurement.
struct Peer {
    server: Server,
    client: Client,
    /// Memory before the first call, in kB.
    idle: u64,
}

/// Checks that all give the same answer, then measures each in turns; gives the median turn of each.
async fn measure(peers: &[&Peer], call: &request::Call) -> Result<Vec<Turn>> {
    let mut requests = Vec::new();
    let mut expected = None;
    for peer in peers {
        let dialect = peer.server.dialect();
        let (request, response) = call
            .settle(dialect, &peer.client)
            .await
            .with_context(|| peer.server.trouble())?;
        let answer = answer::read(&response, dialect)?;
        match &expected {
            None => expected = Some(answer),
            Some(expected) => answer::same(expected, &answer, peer.server.name())?,
        }
        requests.push(request);
    }
    let mut turns: Vec<Vec<Turn>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..TURNS {
        for ((peer, request), turns) in peers.iter().zip(&requests).zip(&mut turns) {
            turns.push(turn::take(&peer.server, &peer.client, request, &LIMITS).await?);
        }
    }
    Ok(turns.into_iter().filter_map(turn::median).collect())
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1e3
}
