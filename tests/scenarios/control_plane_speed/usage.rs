//! Where the time goes: processor time by process, and requests by who sent them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use lab::{Request, Result, Site};

use super::budget::Budget;
use super::page::Page;
use super::process::{self, Process};

/// How many rows of requests are printed.
const ROWS: usize = 25;

/// What was used until a moment.
pub struct Usage {
    moment: Instant,
    processes: BTreeMap<String, Duration>,
    machine: Duration,
    /// The metrics of the operator.
    page: Page,
    requests: usize,
}

impl Usage {
    /// Until now. The operator serves its metrics at this port.
    pub async fn now(site: &Site, port: u16) -> Result<Self> {
        let mut processes = BTreeMap::new();
        for name in site.machine.running().into_keys() {
            let worked = Process::of(&site.machine, &name)?.worked()?;
            processes.insert(name, worked);
        }
        let own = "the scenario with the simulated operators";
        processes.insert(own.to_owned(), Process::own().worked()?);
        Ok(Self {
            moment: Instant::now(),
            processes,
            machine: process::machine()?,
            page: Page::at(port).await?,
            requests: site.cluster.audit()?.len(),
        })
    }

    /// Reports what was used since an earlier moment.
    pub fn report(&self, budget: &mut Budget, since: &Self, site: &Site) -> Result<()> {
        let elapsed = (self.moment - since.moment).as_secs_f64();
        let mut counted = Duration::ZERO;
        for (name, worked) in &self.processes {
            let before = since.processes.get(name).copied().unwrap_or_default();
            let worked = worked.saturating_sub(before);
            counted += worked;
            budget.report(
                &format!("processor time of {name}"),
                worked.as_secs_f64(),
                " s",
            );
        }
        let worked = self.machine.saturating_sub(since.machine);
        budget.report(
            "processor time of other processes",
            worked.saturating_sub(counted).as_secs_f64(),
            " s",
        );
        let processors = available_parallelism()?.get();
        budget.report(
            &format!("processors at work, of {processors}"),
            worked.as_secs_f64() / elapsed,
            "",
        );
        let added = |sum: &str| self.page.sum(sum) - since.page.sum(sum);
        budget.report(
            "processor time of reconciles",
            added("operator_reconcile_processor_seconds_sum"),
            " s",
        );
        budget.report(
            "reconciles at the same time",
            added("operator_reconcile_duration_seconds_sum") / elapsed,
            "",
        );
        let mut requests = site.cluster.audit()?;
        requests.truncate(self.requests);
        let mut requests = requests.split_off(since.requests);
        requests.retain(|request| request.verb != "watch");
        print(&requests, |request| {
            format!("{} {}", sender(request), request.verb)
        });
        print(&requests, |request| {
            let Request { verb, resource, .. } = request;
            format!("{} {verb} {resource}.{}", sender(request), request.group)
        });
        Ok(())
    }
}

/// Prints how many requests there were of each sort, and how long their answers took: first those that took the longest in all.
fn print(requests: &[Request], sort: impl Fn(&Request) -> String) {
    let mut sorts: BTreeMap<String, (u32, Duration)> = BTreeMap::new();
    for request in requests {
        let (count, took) = sorts.entry(sort(request)).or_default();
        *count += 1;
        *took += request.took;
    }
    let mut rows: Vec<_> = sorts.into_iter().collect();
    rows.sort_by_key(|(_, (_, took))| Reverse(*took));
    for (sort, (count, took)) in rows.into_iter().take(ROWS) {
        println!("{sort}: {count} requests of {:.1?}", took / count);
    }
}

/// Who sent a request: a component of Kubernetes by its own name, others by their account.
fn sender(request: &Request) -> &str {
    let agent = request.agent.split('/').next().unwrap_or_default();
    match agent.starts_with("kube-") {
        true => agent,
        false => request.user.rsplit(':').next().unwrap_or_default(),
    }
}
