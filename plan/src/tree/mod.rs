//! A plan for people.

mod branch;
mod lines;
mod operated;
mod phases;

use std::collections::BTreeMap;

use c5c3_api::Condition;

pub use branch::{Branch, Mark, Page, Paint, printable};
pub use operated::operated;

use crate::control_plane;
use crate::crossplane::Event;
use crate::crossplane::required::Wanted;
use crate::manifest::{Manifest, path};
use crate::operated::{PlannedObject, State};
use crate::outcome::{Plan, Planned};
use crate::secret_path::SecretPath;

/// Shows a plan: for each claim what is composed in which cluster and what operators make of it, the order of deletion,
/// conditions and events; then resources that were given without a claim, what is missing, and options that upgrades change. `command` is the command line
/// that made it, for the reader who wants to go on.
pub fn tree(plan: &Plan, page: Page, command: &str) -> String {
    let mut blocks: Vec<String> = plan
        .planned
        .iter()
        .map(|planned| claim(planned).render(page))
        .collect();
    let resources = plan.resources.iter();
    blocks.extend(resources.map(|resource| {
        let title = resource.resource.title();
        operated(&title, resource)
            .with(endpoints(&resource.resource).into_iter())
            .with(credentials(&resource.resource).into_iter())
            .render(page)
    }));
    let clusters = [
        ("Not given", &plan.missing),
        ("Assumed to be there", &plan.assumed),
    ];
    for (title, clusters) in clusters
        .into_iter()
        .filter(|(_, clusters)| !clusters.is_empty())
    {
        blocks.push(named(title, clusters).render(page));
    }
    if !plan.assumed_secrets.is_empty() {
        let secrets = plan.assumed_secrets.iter();
        let secrets = secrets.map(|key| Branch::new(format!("{key}, which you create")));
        let block = Branch::new("Assumed to be there").with(secrets);
        blocks.push(block.render(page));
    }
    if !plan.unused_shoots.is_empty() {
        let shoots = plan.unused_shoots.iter();
        let shoots = shoots.map(|key| Branch::new(format!("Shoot {}/{}", key.namespace, key.name)));
        let block =
            Branch::new("Not used, since no cluster of these files has this name").with(shoots);
        blocks.push(block.render(page));
    }
    let outdated = plan.outdated_options();
    if !outdated.is_empty() {
        let options = outdated.into_iter();
        let options = options.map(|(change, resources)| {
            let resources = resources.into_iter().map(Branch::new);
            Branch::new(change).marked(Mark::Open).with(resources)
        });
        blocks.push(Branch::new("Options to change").with(options).render(page));
    }
    blocks.extend(advice(plan, command));
    blocks.join("\n")
}

fn claim(planned: &Planned) -> Branch {
    let ready = planned.is_ready();
    let phase = match (&planned.fatal, planned.assumed && ready) {
        (Some(_), _) => "cannot be composed".to_owned(),
        (None, true) => format!("{} (assumed)", planned.phase()),
        (None, false) => planned.phase().to_owned(),
    };
    let mark = match planned.fatal.is_some() || planned.phase() == "Failed" {
        true => Mark::Bad,
        false => Mark::from(ready),
    };
    let title = format!("{}: {phase}", planned.claim.title());
    let mut claim = Branch::new(title).marked(mark);
    if let Some(fatal) = &planned.fatal {
        claim.add(Branch::new(fatal.clone()).marked(Mark::Bad));
    }
    for (cluster, objects) in &planned.clusters {
        claim.add(Branch::new(cluster.clone()).with(objects.iter().map(object)));
    }
    let objects = planned.clusters.values().flatten();
    let resources = objects.filter_map(|object| object.operated.as_deref());
    for branch in resources.flat_map(|operated| endpoints(&operated.resource)) {
        claim.add(branch);
    }
    if let Some(credentials) = credentials(&planned.claim) {
        claim.add(credentials);
    }
    if !planned.secret_paths.is_empty() {
        let paths = planned.secret_paths.iter().map(secret_path);
        claim.add(Branch::new("Secrets between clusters").with(paths));
    }
    if !planned.deletion.is_empty() {
        claim.add(deletion(planned));
    }
    claim.add(conditions(&planned.conditions));
    if !planned.events.is_empty() {
        let events = planned
            .events
            .iter()
            .map(|known| event(known, &planned.conditions));
        claim.add(Branch::new("Events").with(events));
    }
    claim
}

/// The URLs of a ControlPlane: its catalogue's, and that of servers' consoles.
fn endpoints(resource: &Manifest) -> Vec<Branch> {
    let endpoints = control_plane::endpoints(resource);
    let public = endpoints
        .iter()
        .filter_map(|endpoint| Some((endpoint.service.as_str(), endpoint.public.as_deref()?)));
    let internal = endpoints
        .iter()
        .filter_map(|endpoint| Some((endpoint.service.as_str(), endpoint.internal.as_deref()?)));
    let branches = [
        urls("Public endpoints", public),
        urls("Endpoints within the cluster", internal),
    ];
    branches.into_iter().flatten().collect()
}

/// URLs by service, a line each; none without any.
pub fn urls<'a>(title: &str, urls: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Branch> {
    let mut lines = urls
        .map(|(service, url)| Branch::new(format!("{service}: {url}")))
        .peekable();
    lines.peek()?;
    Some(Branch::new(title).with(lines))
}

/// The Secret with which the owner of a claim or a ControlPlane connects, once it works.
pub fn credentials(resource: &Manifest) -> Option<Branch> {
    match resource.text("/status/connection/secretName") {
        "" => None,
        secret => {
            let path = path(resource.namespace(), secret);
            Some(Branch::new(format!("Credentials: Secret {path}")))
        }
    }
}

fn object(object: &PlannedObject) -> Branch {
    told(title(object), object)
}

/// A line about an object, with what one of this project's operators composes for it.
fn told(text: String, object: &PlannedObject) -> Branch {
    match &object.operated {
        Some(inner) if inner.is_ready() => operated::made(&text, inner),
        Some(inner) => operated(&text, inner),
        None => waits_for(text, object),
    }
}

/// A line about an object, with what it waits for, or the message of a condition.
fn waits_for(text: String, object: &PlannedObject) -> Branch {
    match object.state {
        State::Ready => Branch::new(text).marked(Mark::Good),
        State::Waiting(_) if !object.says.is_empty() => {
            Branch::new(format!("{text}: {}", object.says)).marked(Mark::Open)
        }
        State::Waiting(Some(operator)) => {
            Branch::new(format!("{text}, waits for {operator}")).marked(Mark::Open)
        }
        State::Waiting(None) => Branch::new(text).marked(Mark::Open),
    }
}

fn title(object: &PlannedObject) -> String {
    let path = path(&object.namespace, &object.name);
    format!("{} {path}", object.kind)
}

fn secret_path(secret: &SecretPath) -> Branch {
    let [from, to] = [&secret.from, &secret.to].map(|clusters| {
        let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
        clusters.join(", ")
    });
    let path = &secret.path;
    Branch::new(match to.is_empty() {
        true => format!("{path}: {from}, read once it is pushed"),
        false => format!("{path}: {from} → {to}"),
    })
}

fn deletion(planned: &Planned) -> Branch {
    let steps = planned.deletion.iter().zip(1..).map(|(step, number)| {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for object in step {
            *kinds.entry(&object.kind).or_default() += 1;
        }
        let kinds: Vec<String> = kinds
            .into_iter()
            .map(|(kind, count)| match count {
                1 => kind.to_owned(),
                count => format!("{count} {}", lines::plural(kind)),
            })
            .collect();
        Branch::new(format!("{number}. {}", kinds.join(", ")))
    });
    let mut deletion = Branch::new("Deletion, in this order").with(steps);
    if !planned.holds.is_empty() {
        deletion.add(Branch::new(format!(
            "kept until then: {}",
            planned.holds.join(", ")
        )));
    }
    deletion
}

/// Conditions, a line each.
pub fn conditions(conditions: &[Condition]) -> Branch {
    let widths = conditions.iter().map(|condition| condition.type_.len());
    let width = widths.max().unwrap_or_default();
    let lines = conditions.iter();
    Branch::new("Conditions").with(lines.map(|known| condition(known, width)))
}

fn condition(condition: &Condition, width: usize) -> Branch {
    let Condition {
        type_,
        status,
        reason,
        message,
        ..
    } = condition;
    let mark = match status.as_str() {
        "True" => Mark::Good,
        "False" => Mark::Open,
        _ => Mark::None,
    };
    let text = match message.as_str() {
        "" => format!("{type_:width$} {status:7} {reason}"),
        message => format!("{type_:width$} {status:7} {reason}: {message}"),
    };
    Branch::new(text).marked(mark)
}

/// A longer message isn't repeated.
const SHORT: usize = 60;

/// An event, which often has the same message as a condition.
fn event(event: &Event, conditions: &[Condition]) -> Branch {
    let Event {
        warning,
        reason,
        message,
    } = event;
    let kind = if *warning { "Warning" } else { "Normal" };
    let said = |known: &&Condition| known.reason == *reason && known.message == *message;
    let said = conditions
        .iter()
        .find(said)
        .filter(|_| message.len() > SHORT);
    Branch::new(match (said, message.as_str()) {
        (_, "") => format!("{kind:7} {reason}"),
        (Some(condition), _) => format!("{kind:7} {reason}, as {} says", condition.type_),
        (None, message) => format!("{kind:7} {reason}: {message}"),
    })
}

fn named(title: &str, clusters: &[Wanted]) -> Branch {
    let clusters = clusters.iter();
    let clusters = clusters.map(|wanted| format!("{} {}", wanted.kind.noun(), wanted.path()));
    Branch::new(title).with(clusters.map(Branch::new))
}

/// How to go on.
fn advice(plan: &Plan, command: &str) -> Option<String> {
    if plan.has_failed() || plan.assume_ready {
        return None;
    }
    if !plan.missing.is_empty() {
        return Some(format!(
            "To go on as if they were there and everything became ready:\n    {command} --assume-ready\n\
             To plan with those of your site, add their files, or a folder that holds them:\n    {command} FOLDER\n"
        ));
    }
    let waiting = plan.planned.iter().any(|planned| !planned.is_ready())
        || plan.resources.iter().any(|resource| !resource.is_ready());
    waiting.then(|| {
        format!(
            "To go on as if everything that waits became ready:\n    {command} --assume-ready\n"
        )
    })
}
