//! Two replicas: the one that leads writes, the other one waits, and takes over once the Lease is free.

use std::collections::BTreeMap;
use std::sync::Arc;

use lab::{
    Build, Cluster, Context, Gate, Kind, Machine, Replicas, Request, Result, Site, ensure,
    eventually, kind, minutes,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::outcome::Outcome;
use super::small;

const LEASE: Kind = kind("coordination.k8s.io/v1", "Lease");

/// The Lease of the operator.
const NAME: &str = "default/c5c3-operator";

/// So far a control plane has come when something befalls the one that leads.
const MIDDLE: usize = 20;

/// How often a replica that was stopped has read the Lease before it counts as one that waits.
const READS: usize = 3;

/// A replica, with an account and a gate of its own.
struct Replica<'a> {
    site: &'a Site,
    name: &'static str,
    gate: Gate,
}

/// Runs it.
pub async fn take_turns(machine: Arc<Machine>) -> Result<()> {
    let site = Site::open(&machine, Build::Debug).await?;
    let one = Replica::start(&site, "one").await?;
    one.leads().await?;
    let other = Replica::start(&site, "other").await?;
    let undisturbed = {
        small::make(&site, "undisturbed").await?;
        small::is_ready(&site, "undisturbed").await?;
        Outcome::of(&site.cluster, "undisturbed").await?
    };

    let middle = one.gate.writes() + MIDDLE;
    small::make(&site, "killed").await?;
    one.gate.passed(middle).await;
    machine.kill(one.name)?;
    other.leads().await?;
    becomes(&site.cluster, "killed", &undisturbed).await?;

    site.start(one.name, one.gate.cluster(), Replicas::Several)?;
    let middle = other.gate.writes() + MIDDLE;
    small::make(&site, "stopped").await?;
    other.gate.passed(middle).await;
    other.signal(Signal::SIGSTOP)?;
    one.leads().await?;
    // It finds the work half done, and may not know yet that it is no longer its own.
    let before = site.cluster.audit()?.len();
    other.signal(Signal::SIGCONT)?;
    becomes(&site.cluster, "stopped", &undisturbed).await?;
    other.waits(before).await?;
    for replica in [&one, &other] {
        machine.check(replica.name)?;
    }

    let requests = site.cluster.audit()?;
    let once = writes(&requests, "undisturbed");
    for namespace in ["killed", "stopped"] {
        for (object, writes) in writes(&requests, namespace) {
            let most = once.get(&object).map_or(0, Vec::len);
            ensure!(
                writes.len() <= most,
                "{object} of {namespace} was written by {writes:?}, and {most} times undisturbed"
            );
        }
    }
    only_leaders_write(&requests)
}

impl<'a> Replica<'a> {
    async fn start(site: &'a Site, name: &'static str) -> Result<Self> {
        let account = site.cluster.account(name).await?;
        let gate = Gate::open(&site.machine, &account).await?;
        site.start(name, gate.cluster(), Replicas::Several)?;
        Ok(Self { site, name, gate })
    }

    /// Waits until the Lease is its own.
    async fn leads(&self) -> Result<()> {
        eventually(&format!("{} leads", self.name), minutes(3), async || {
            let lease = self.site.cluster.get(LEASE, NAME).await?;
            let holder = &lease.data["spec"]["holderIdentity"];
            let identity = format!("{}_", self.name);
            ensure!(
                holder
                    .as_str()
                    .is_some_and(|holder| holder.starts_with(&identity)),
                "{holder} leads"
            );
            Ok(())
        })
        .await
    }

    /// Waits until it knows that another leads: until it has read the Lease several times since the audit had so many requests.
    async fn waits(&self, since: usize) -> Result<()> {
        let what = format!("{} waits for the Lease", self.name);
        eventually(&what, minutes(1), async || {
            let requests = self.site.cluster.audit()?;
            let reads = requests.iter().skip(since).filter(|request| {
                replica(request) == Some(self.name)
                    && request.verb == "get"
                    && request.resource == "leases"
            });
            let reads = reads.count();
            ensure!(reads >= READS, "{reads} reads");
            Ok(())
        })
        .await
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let running = self.site.machine.running();
        let process = running.get(self.name).context("it doesn't run")?;
        kill(Pid::from_raw(i32::try_from(*process)?), signal)?;
        Ok(())
    }
}

async fn becomes(cluster: &Cluster, namespace: &str, undisturbed: &Outcome) -> Result<()> {
    let what = format!("{namespace} is as if nothing had been");
    eventually(&what, minutes(3), async || {
        Outcome::of(cluster, namespace).await?.is_as(undisturbed)
    })
    .await
}

/// Who wrote each object of a control plane, one after the other. What is said of it differs with the moment that it is
/// looked at.
fn writes(requests: &[Request], namespace: &str) -> BTreeMap<String, Vec<String>> {
    let mut writes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in requests {
        let ours = replica(request).zip(request.name.strip_prefix(&format!("{namespace}/")));
        let is_said = request.resource == "events" || request.resource.ends_with("/status");
        if let Some((replica, name)) = ours
            && request.writes()
            && request.code < 300
            && !is_said
        {
            // A ControlPlane is called as its namespace.
            let name = name.replace(namespace, "<namespace>");
            let object = format!("{} {name}", request.resource);
            writes.entry(object).or_default().push(replica.to_owned());
        }
    }
    writes
}

/// Fine when nobody wrote after another had taken the Lease.
fn only_leaders_write(requests: &[Request]) -> Result<()> {
    let mut leader = "";
    let mut leaders = Vec::new();
    for request in requests.iter().filter(|request| request.writes()) {
        let Some(replica) = replica(request) else {
            continue;
        };
        if request.resource == "leases" {
            if request.code < 300 && replica != leader {
                leader = replica;
                leaders.push(replica);
            }
        } else {
            ensure!(
                replica == leader,
                "{leader} leads, and there is {request:?}"
            );
        }
    }
    ensure!(
        leaders == ["one", "other", "one"],
        "they led in turn: {leaders:?}"
    );
    Ok(())
}

fn replica(request: &Request) -> Option<&str> {
    request.user.strip_prefix("system:serviceaccount:default:")
}
