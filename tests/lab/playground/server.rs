//! The process of a lab: it builds the site, creates pools and a claim, boots a server, and then does the work of the simulated
//! operators until SIGINT.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::Path;
use std::process;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

use super::access::{self, link_programs, merged, variables};
use super::state::{Process, State};
use crate::claims::{CloudSite, OPENSTACK, SERVICES, Settings, Site, public_hosts};
use crate::cloud::Cloud;
use crate::crossplane::Release;
use crate::function::FunctionProgram;
use crate::garden::Garden;
use crate::image::Image;
use crate::lab::Lab;
use crate::machine::{Program, check_processes};
use crate::node::Fabric;
use crate::objects::is;
use crate::scenario::in_lab;
use crate::{eventually, minutes, scaled};

/// The file that a lab's process locks while it runs.
pub(super) const LOCK: &str = "lock";

/// The file with the output of the lab's process, in the lab's folder.
pub(super) const LOG: &str = "lab.log";

/// The claims with public names and floating IPs. The first is created with the lab.
const CLAIMS: [&str; 2] = ["first", "second"];
const NAMESPACE: &str = "tenant-z";

/// How many claims have volumes: both, and one of them that is created again.
const CONTROL_PLANES: usize = 3;

/// How long a server may take to be booted.
const BOOT: Duration = minutes(6);

/// Conditions of a claim that aren't True when all is well.
const ABNORMAL: [&str; 3] = ["Reconciling", "Retained", "Stalled"];

/// The pause between two rounds of the simulated operators' work.
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps a lab until SIGINT.
pub(super) fn serve(folder: &Path) -> Result<()> {
    let lock = File::create(folder.join(LOCK)).context("cannot lock the lab's folder")?;
    lock.try_lock()
        .context("another process starts the lab at the same time")?;
    let own = Process::of(process::id()).context("/proc doesn't have this process")?;
    let state = State::of(own);
    state.write(folder)?;
    let mut images = Image::of_servers(SERVICES)?;
    images.push(Image::ceph()?);
    println!("==> API servers and Crossplane");
    let started = Instant::now();
    let folder = folder.to_owned();
    // Shoots are stored as they are: Gardener's API server would take minutes to build, and memory.
    in_lab(
        Release::V2_4,
        Garden::Unchecked,
        FunctionProgram::c5c3()?,
        async move |lab| {
            println!(
                "    API servers and Crossplane: {} s",
                started.elapsed().as_secs()
            );
            tokio::select! {
                outcome = keep(lab, &images, &folder, state) => outcome,
                interrupted = interrupted() => interrupted,
            }
        },
    )
}

/// Waits for SIGINT.
async fn interrupted() -> Result<()> {
    let mut signals = signal(SignalKind::interrupt()).context("cannot wait for signals")?;
    signals.recv().await;
    println!("==> stopping after SIGINT");
    Ok(())
}

/// Builds what is on a lab, and keeps it.
async fn keep(lab: &Lab, images: &[Image], folder: &Path, mut state: State) -> Result<()> {
    state.machine = Some(lab.machine.folder().to_owned());
    record(&mut state, lab, folder)?;
    let place = format!("openstack-{}", CLAIMS[0]);
    let node = Cloud::on(&lab.machine, &lab.control_plane, images, &place);
    let cloud = step("a node, and images for its pods", node).await?;
    record(&mut state, lab, folder)?;
    let settings = settings();
    let built = CloudSite::build(lab, cloud, &settings);
    let site = step("hypervisors, Ceph and all operators", built).await?;
    record(&mut state, lab, folder)?;
    write_files(lab, folder)?;
    step("pools", site.create_pools()).await?;
    let name = format!("{NAMESPACE}/{}", CLAIMS[0]);
    let claim = becomes_ready(&site.site, &name);
    step(&format!("the claim {name}"), claim).await?;
    let credentials = write_credentials(&site.site, &name, folder);
    step("the tenant's clouds.yaml", credentials).await?;
    state.answers = Some(step("a server", boots(&site, folder)).await?);
    record(&mut state, lab, folder)?;
    loop {
        check_processes()?;
        if let Err(error) = site.site.work().await {
            println!("lab: tried again: {error:#}");
        }
        sleep(PAUSE).await;
    }
}

/// Runs a step, and prints how long it took.
async fn step<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    println!("==> {what}");
    let started = Instant::now();
    let done = work.await.with_context(|| what.to_owned())?;
    println!("    {what}: {} s", started.elapsed().as_secs());
    Ok(done)
}

/// Writes the processes that run now to the state.
fn record(state: &mut State, lab: &Lab, folder: &Path) -> Result<()> {
    let running = lab.machine.running().into_iter();
    state.processes = running
        .filter_map(|(name, id)| Some((name, Process::of(id)?)))
        .collect();
    state.write(folder)
}

/// A site whose small claims have a hypervisor each, so that two claims share the pool.
fn settings() -> Settings {
    let range = |from: u8, to: u8| json!([{"start": format!("172.31.7.{from}"), "end": format!("172.31.7.{to}")}]);
    let [first, second] = CLAIMS.map(|claim| format!("{NAMESPACE}/{claim}"));
    Settings {
        control_planes: CONTROL_PLANES,
        second_storage: false,
        tests: None,
        share: json!({"weight": 1, "minHosts": 1, "maxHosts": 1}),
        floating_ips: json!({first: range(100, 149), second: range(150, 199)}),
    }
}

/// Writes the files that clients need: a kubeconfig, names and programs.
fn write_files(lab: &Lab, folder: &Path) -> Result<()> {
    let kubeconfig = merged(&[
        ("management", lab.management.kubeconfig()),
        ("control-plane", lab.control_plane.kubeconfig()),
        ("hypervisors", lab.hypervisor.kubeconfig()),
        ("storage", lab.storage.kubeconfig()),
    ])?;
    write(folder, access::KUBECONFIG, kubeconfig.to_string())?;
    write(folder, access::HOSTS, public_hosts(&CLAIMS))?;
    link_programs(folder)
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(folder.join(name), content).with_context(|| format!("cannot write {name}"))
}

/// Creates the claim, prints what it waits for whenever that changes, and returns when its APIs can be used.
async fn becomes_ready(site: &Site<'_>, name: &str) -> Result<()> {
    let claim = include_str!("claim.yaml");
    site.lab.management.apply(claim).await?;
    let printed = RefCell::new(String::new());
    site.until("the claim is Ready", async || {
        let claim = site.get(OPENSTACK, name).await?;
        let now = progress(&claim.data["status"]);
        if *printed.borrow() != now {
            println!("    {now}");
            *printed.borrow_mut() = now;
        }
        is(&claim, "Exposed")?;
        is(&claim, "Ready")
    })
    .await
}

/// The phase of a claim, and the conditions that aren't met yet.
fn progress(status: &Value) -> String {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let unmet: Vec<&str> = conditions
        .filter(|condition| condition["status"] != "True")
        .filter_map(|condition| condition["type"].as_str())
        .filter(|type_| !ABNORMAL.contains(type_))
        .collect();
    let phase = status["phase"].as_str().unwrap_or("Created");
    match unmet.is_empty() {
        true => phase.to_owned(),
        false => format!("{phase}, waits for {}", unmet.join(", ")),
    }
}

/// Writes the tenant's clouds.yaml, and the authority of the APIs' certificates.
async fn write_credentials(site: &Site<'_>, name: &str, folder: &Path) -> Result<()> {
    let values = site.credentials(&format!("{name}-clouds")).await?;
    for (key, file) in [
        ("clouds.yaml", access::CLOUDS),
        ("cacert", access::AUTHORITY),
    ] {
        let value = values.get(key);
        let value = value.with_context(|| format!("the tenant's Secret has no {key}"))?;
        write(folder, file, &value.0)?;
    }
    Ok(())
}

/// Boots a server with the tenant's clouds.yaml, and returns where it answers.
async fn boots(site: &CloudSite<'_>, folder: &Path) -> Result<String> {
    const NAME: &str = "first-server";
    let machine = &site.site.lab.machine;
    let files = machine.folder().join(NAME);
    fs::create_dir_all(&files)?;
    let guest = Image::guest()?;
    site.cloud.node.unpack(&guest, "guest", &files).await?;
    let address = files.join("address");
    let script = Program::new("bash")
        .args(["-euo", "pipefail", "-c", include_str!("server.sh"), NAME])
        .arg(files.join("guest"))
        .arg(&address);
    let script = variables(folder)
        .iter()
        .fold(script, |script, (name, value)| script.env(name, value));
    let script = Fabric::with_hosts(&folder.join(access::HOSTS), script);
    timeout(scaled(BOOT), machine.run(NAME, &script))
        .await
        .map_err(|_| anyhow!("it isn't booted after {} s", scaled(BOOT).as_secs()))??;
    site.fabric.reach_floating_ips()?;
    let url = format!("http://{}/", fs::read_to_string(&address)?.trim());
    eventually("the server answers", minutes(5), async || {
        let words = ["curl", "--silent", "--fail", "--max-time", "10", &url];
        site.fabric.run(&words)
    })
    .await?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_names_what_a_claim_waits_for() {
        let condition = |name: &str, status: &str| json!({"type": name, "status": status});
        let status = json!({"phase": "Deploying", "conditions": [
            condition("PoolsReady", "True"),
            condition("Retained", "False"),
            condition("ControlPlaneReady", "False"),
            condition("Ready", "Unknown"),
        ]});
        assert_eq!(
            progress(&status),
            "Deploying, waits for ControlPlaneReady, Ready"
        );
        assert_eq!(progress(&Value::Null), "Created");
        let ready = json!({"phase": "Ready", "conditions": [condition("Ready", "True")]});
        assert_eq!(progress(&ready), "Ready");
    }

    #[test]
    fn claims_of_the_lab_have_hosts_and_floating_ips_of_their_own() {
        let settings = settings();
        assert_eq!(settings.share["maxHosts"], 1);
        let ips = &settings.floating_ips;
        assert_eq!(ips["tenant-z/first"][0]["end"], "172.31.7.149");
        assert_eq!(ips["tenant-z/second"][0]["start"], "172.31.7.150");
    }

    #[test]
    fn first_claim_is_one_that_the_lab_has_names_for() {
        let claim = include_str!("claim.yaml");
        let metadata = format!("metadata: {{name: {}, namespace: {NAMESPACE}}}", CLAIMS[0]);
        assert!(claim.contains(&metadata), "{claim}");
    }
}
