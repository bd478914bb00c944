//! A hundred control planes at once, and the minute after.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use lab::{
    Build, Machine, Replicas, Request, Result, Site, ensure, eventually, minutes, seconds,
    throughout,
};
use serde_json::json;

use super::budget::Budget;
use super::page::Page;
use super::process::Process;
use super::seen::Seen;
use super::start::to_first_reconcile;
use super::usage::Usage;
use crate::every_part;

/// The process, and its account.
pub const OPERATOR: &str = "c5c3-operator";

/// How many control planes there are.
pub const COUNT: usize = 100;

/// How many are applied at once.
pub const AT_ONCE: usize = 8;

/// Runs the c5c3-operator alone, and checks the budget.
pub async fn become_ready_and_idle(machine: Arc<Machine>) -> Result<()> {
    let site = Site::open(&machine, Build::Release).await?;
    let account = site.cluster.account(OPERATOR).await?;
    let mut budget = Budget::default();

    apply(&site, &["first".to_owned()]).await?;
    let start = to_first_reconcile(&site, &account).await?;
    budget.limit(
        "start to first reconcile",
        milliseconds(start),
        300.0,
        " ms",
    );

    let names = names();
    let port = site.start(OPERATOR, &account, Replicas::One)?;
    let process = Process::of(&machine, OPERATOR)?;
    let seen = Seen::begin(&site.cluster);
    until_idle(&machine, port).await?;
    budget.report("memory before", process.memory()?, " MB");

    let before = Usage::now(&site, port).await?;
    let began = Instant::now();
    let applied = apply(&site, &names).await?;
    eventually("all are Ready", minutes(5), async || {
        machine.check(OPERATOR)?;
        seen.are_ready(COUNT)
    })
    .await?;
    budget.report(
        "all from apply to Ready",
        began.elapsed().as_secs_f64(),
        " s",
    );
    let used = Usage::now(&site, port).await?;
    let mut waited: Vec<Duration> = names
        .iter()
        .filter_map(|name| Some(seen.ready(name)? - *applied.get(name)?))
        .collect();
    waited.sort();
    for share in [5, 50, 95] {
        let waited = waited[(COUNT * share).div_ceil(100) - 1].as_secs_f64();
        budget.report(&format!("p{share} from apply to Ready"), waited, " s");
    }
    used.report(&mut budget, &before, &site)?;

    until_idle(&machine, port).await?;
    let worked = process.worked()?;
    minute_after(&mut budget, &site, &process).await?;
    budget.limit("memory", process.memory()?, 64.0, " MB");
    budget.report("memory at its peak", process.peak()?, " MB");

    let page = Page::at(port).await?;
    let reconciles = page.sum("operator_reconciles_total");
    budget.report("reconciles", reconciles, "");
    let p95 = page.quantile("operator_reconcile_processor_seconds", 0.95)?;
    budget.limit(
        "p95 of the processor time of a reconcile",
        p95 * 1e3,
        50.0,
        " ms",
    );
    let each = milliseconds(worked) / reconciles;
    budget.limit(
        "processor time of the whole process a reconcile",
        each,
        50.0,
        " ms",
    );

    few_writes(&mut budget, &names, &seen, &requests(&site)?);
    machine.kill(OPERATOR)?;
    // The operator reads every Secret that these control planes need, eight control planes at once.
    let again = to_first_reconcile(&site, &account).await?;
    budget.report(
        "start to first reconcile, among a hundred",
        milliseconds(again),
        " ms",
    );
    budget.check()
}

/// The names of all control planes.
pub fn names() -> Vec<String> {
    let numbers = 0..COUNT;
    numbers.map(|number| format!("many-{number:03}")).collect()
}

/// The minute after all are Ready, in which nothing is written or read.
pub async fn minute_after(budget: &mut Budget, site: &Site, process: &Process) -> Result<()> {
    let (before, worked) = (requests(site)?.len(), process.worked()?);
    tokio::time::sleep(minutes(1)).await;
    let after = requests(site)?;
    let minute = &after[before..];
    let writes = minute.iter().filter(|request| request.writes()).count();
    budget.limit("writes in the minute after", writes as f64, 0.0, "");
    budget.limit(
        "reads in the minute after",
        (minute.len() - writes) as f64,
        0.0,
        "",
    );
    let worked_idle = process.worked()? - worked;
    budget.report(
        "processor time in the minute after",
        milliseconds(worked_idle),
        " ms",
    );
    Ok(())
}

/// Applies ControlPlanes of these names, and the Secrets that their users create. Returns when each was applied.
async fn apply(site: &Site, names: &[String]) -> Result<BTreeMap<String, Instant>> {
    let applied = stream::iter(names).map(async |name| {
        let moment = Instant::now();
        every_part::create(site, name, json!({ "enabled": false })).await?;
        Ok((name.clone(), moment))
    });
    applied.buffer_unordered(AT_ONCE).try_collect().await
}

/// Waits until an operator sends no request for two seconds.
pub async fn until_idle(machine: &Machine, port: u16) -> Result<()> {
    eventually("the operator is idle", minutes(1), async || {
        machine.check(OPERATOR)?;
        let calls = Page::at(port).await?.sum("operator_api_calls_total");
        throughout("the operator is idle", seconds(2), async || {
            let more = Page::at(port).await?.sum("operator_api_calls_total") - calls;
            ensure!(calls > 0.0 && more == 0.0, "{more} calls more");
            Ok(())
        })
        .await
    })
    .await
}

/// The requests that the operator has sent so far, but for watches.
fn requests(site: &Site) -> Result<Vec<Request>> {
    let user = format!("system:serviceaccount:default:{OPERATOR}");
    let mut requests = site.cluster.audit()?;
    requests.retain(|request| request.user == user && request.verb != "watch");
    Ok(requests)
}

/// Of each ControlPlane: no more writes than it has objects and conditions changed.
fn few_writes(budget: &mut Budget, names: &[String], seen: &Seen, requests: &[Request]) {
    let mut written: BTreeMap<&str, Written> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.writes()) {
        if let Some((namespace, _)) = request.name.split_once('/') {
            written.entry(namespace).or_default().add(request);
        }
    }
    let each: Vec<(&Written, usize)> = names
        .iter()
        .filter_map(|name| Some((written.get(name.as_str())?, seen.transitions(name))))
        .collect();
    let mean = |count: &dyn Fn(&(&Written, usize)) -> usize| {
        each.iter().map(count).sum::<usize>() as f64 / names.len() as f64
    };
    budget.report(
        "objects of a ControlPlane",
        mean(&|(written, _)| written.objects.len()),
        "",
    );
    budget.report(
        "transitions of its conditions",
        mean(&|(_, transitions)| *transitions),
        "",
    );
    budget.report("writes for it", mean(&|(written, _)| written.all), "");
    budget.report(
        "of them statuses",
        mean(&|(written, _)| written.statuses),
        "",
    );
    budget.report("of them Events", mean(&|(written, _)| written.events), "");
    let few = each
        .iter()
        .filter(|(written, transitions)| written.all <= written.objects.len() + transitions);
    let many = names.len() - few.count();
    budget.limit(
        "ControlPlanes with more writes than objects and transitions",
        many as f64,
        0.0,
        "",
    );
}

/// What was written for a ControlPlane.
#[derive(Default)]
struct Written<'a> {
    all: usize,
    statuses: usize,
    events: usize,
    /// The ControlPlane among them, of which it is the finalizer.
    objects: BTreeSet<(&'a str, &'a str, &'a str)>,
}

impl<'a> Written<'a> {
    fn add(&mut self, request: &'a Request) {
        self.all += 1;
        match request.resource.as_str() {
            "events" => self.events += 1,
            "controlplanes/status" => self.statuses += 1,
            resource => {
                self.objects
                    .insert((request.group.as_str(), resource, request.name.as_str()));
            }
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
