//! The pages. Pure.

use c5c3_api::Consumer;
use c5c3_api::hypervisor::PoolShare;
use c5c3_live::Batch;
use c5c3_plan::Manifest;
use jiff::Timestamp;
use maud::{Markup, html};

use crate::cells::{Level, count, level, none, part, text, thousands};
use crate::frame;
use crate::parts::{Part, TABLE_OF_NODES};
use crate::read::{Content, Listed, Trouble};
use crate::request::{CONTROL_PLANE, NODES, Nodes, Request, View};
use crate::tables::{self, Table};

/// Draws a page.
pub fn draw(request: &Request, content: &Content, server: &str, now: Timestamp) -> Markup {
    let title = match &request.view {
        View::Overview => "Claims".to_owned(),
        View::Pools => "Hypervisor pools".to_owned(),
        View::Claim { namespace, name } => format!("Hypervisor pool {namespace}/{name}"),
        View::Pool { name } => format!("Nodes of hypervisor pool {name}"),
        View::Storage => "Storage".to_owned(),
    };
    let not_served =
        |(_, listed): &(Part, Listed)| matches!(listed.outcome, Err(Trouble::NotServed));
    let drawn = html! {
        @if content.iter().all(not_served) {
            p.notice { "The cluster serves nothing of this page: install this project's packages or charts in it, or start the dashboard with the kubeconfig of another cluster." }
        }
        @for (part, listed) in content {
            @match (part, &listed.outcome) {
                (_, Err(Trouble::NotServed)) => {},
                (part, Err(trouble)) => { section { h2 { (heading(*part)) } (notice(request, listed, trouble)) } },
                (Part::Table(table), Ok(batch)) => (section(request, table, batch)),
                (Part::Subject(table), Ok(batch)) => (subject(request, table, batch)),
                (Part::Nodes, Ok(batch)) => (nodes(request, batch)),
            }
        }
    };
    frame::page(request, &title, server, now, &drawn)
}

fn heading(part: Part) -> &'static str {
    match part {
        Part::Table(table) | Part::Subject(table) => table.title,
        Part::Nodes => "Nodes",
    }
}

/// Why a list isn't there, and what to do.
fn notice(request: &Request, listed: &Listed, trouble: &Trouble) -> Markup {
    let kind = listed.kind;
    let what = match kind.group {
        "" => kind.plural.to_owned(),
        group => format!("{}.{group}", kind.plural),
    };
    let first = Request {
        next: None,
        table: None,
        ..request.clone()
    };
    html! {
        p.notice {
            @match trouble {
                Trouble::Forbidden => {
                    "You may not list " code { (what) }
                    @match (&listed.namespace, kind.namespaced) {
                        (Some(namespace), _) => { " in the namespace " code { (namespace) } ". Choose another namespace, or have that right granted." },
                        (None, true) => " in all namespaces. Choose a namespace above, or have that right granted.",
                        (None, false) => ". Have that right granted if you need it.",
                    }
                },
                Trouble::Expired => { "The list has changed since its first page was read. " a href=(first.url()) { "Begin again" } },
                Trouble::NotServed => {},
                Trouble::Other(why) => { (text(why)) },
            }
        }
    }
}

/// A table of objects, those that need a person first.
fn section(request: &Request, table: &'static Table, batch: &Batch) -> Markup {
    let mut objects: Vec<&Manifest> = batch.objects.iter().collect();
    objects.sort_by_key(|object| level(object));
    html! {
        section {
            h2 id=(table.name) { (table.title) }
            @if objects.is_empty() { p { "There are none." } } @else {
                (rows(table, &objects, &summary(batch)))
                (further(request, table.name, batch))
            }
        }
    }
}

fn rows(table: &'static Table, objects: &[&Manifest], caption: &str) -> Markup {
    html! {
        (scrolled(table.title, caption, &html! {
            thead { tr {
                th scope="col" { "Name" }
                @for column in table.columns { th scope="col" class=[column.is_number.then_some("number")] { (column.heading) } }
            } }
            tbody {
                @for object in objects {
                    tr {
                        th scope="row" { (tables::name(object)) }
                        @for column in table.columns {
                            td class=[column.is_number.then_some("number")] data-label=(column.heading) { ((column.cell)(object)) }
                        }
                    }
                }
            }
        }))
    }
}

/// A table that scrolls by itself where the page is narrow.
fn scrolled(label: &str, caption: &str, rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table {
                caption { (caption) }
                (rows)
            }
        }
    }
}

/// How many objects there are, and how they are.
fn summary(batch: &Batch) -> String {
    let levels: Vec<Level> = batch.objects.iter().map(level).collect();
    let are = |level: Level| levels.iter().filter(|other| **other == level).count();
    let counts = [
        (are(Level::Stalled), "stalled"),
        (are(Level::Waiting), "waiting"),
        (are(Level::Ready), "ready"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!("{}: {}", shown(batch), counts.join(", "))
}

/// How many of how many objects are shown.
fn shown(batch: &Batch) -> String {
    let here = u64::try_from(batch.objects.len()).unwrap_or(u64::MAX);
    match (&batch.next, batch.remaining) {
        (None, _) => thousands(here),
        // The API server doesn't count what a label selector picks.
        (Some(_), None) => format!("{}, and more after them", thousands(here)),
        (Some(_), Some(more)) => format!("{}, and {} after them", thousands(here), thousands(more)),
    }
}

/// Links to the other parts of a list.
fn further(request: &Request, table: &str, batch: &Batch) -> Markup {
    let part = |next: Option<String>| Request {
        table: Some(table.to_owned()),
        next,
        ..request.clone()
    };
    let is_first = request.next.is_none() || request.table.as_deref() != Some(table);
    html! {
        @if batch.next.is_some() || !is_first {
            nav.further aria-label="Parts of the list" {
                @if !is_first { a href=(part(None).url()) { "First page" } }
                @if let Some(next) = &batch.next { a href=(part(Some(next.clone())).url()) rel="next" { "Next page" } }
            }
        }
    }
}

/// The object that a page is about.
fn subject(request: &Request, table: &'static Table, batch: &Batch) -> Markup {
    let Some(object) = batch.objects.first() else {
        return html! { p.notice { "There is no such pool, or not any more." } };
    };
    html! {
        section { (rows(table, &[object], "The pool")) }
        @match &request.view {
            View::Pool { .. } => (division(request, object)),
            _ => (consumers(object)),
        }
    }
}

/// Who has how many nodes of a pool, as its claim says.
fn consumers(pool: &Manifest) -> Markup {
    let consumers: Vec<Consumer> = part(pool, "/status/consumers");
    let number = |number: Option<u32>| count(number.map(u64::from));
    html! {
        section {
            h2 { "Nodes by control plane" }
            @if consumers.is_empty() { p { "No control plane consumes the pool." } } @else {
                (scrolled("Nodes by control plane", &format!("{} admitted", consumers.len()), &html! {
                    thead { tr {
                        th scope="col" { "OpenStack cluster" }
                        @for heading in ["Nodes", "Pending", "Guaranteed"] { th.number scope="col" { (heading) } }
                    } }
                    tbody { @for consumer in &consumers { tr {
                        th scope="row" { span.namespace { (text(&consumer.namespace)) "/" } (text(&consumer.name)) }
                        td.number data-label="Nodes" { (number(consumer.hosts)) }
                        td.number data-label="Pending" { (number(consumer.pending)) }
                        td.number data-label="Guaranteed" { (number(consumer.min_hosts)) }
                    } } }
                }))
            }
            p { "A dashboard of the pool's own cluster lists each node: " code { "c5c3 dashboard --kubeconfig " (text(pool.name())) ".kubeconfig" } }
        }
    }
}

/// Who has how many nodes of the cluster's pool, as its operator says.
fn division(request: &Request, pool: &Manifest) -> Markup {
    let shares: Vec<PoolShare> = part(pool, "/status/shares");
    let number = |number: u32| count(Some(u64::from(number)));
    let of = |control_plane: &str, nodes: Option<Nodes>| {
        let request = Request {
            control_plane: Some(control_plane.to_owned()),
            nodes,
            next: None,
            table: None,
            ..request.clone()
        };
        format!("{}#nodes", request.url())
    };
    html! {
        section {
            h2 { "Nodes by control plane" }
            @if shares.is_empty() { p { "No control plane has a share of the pool." } } @else {
                (scrolled("Nodes by control plane", &format!("{} with a share of the pool", shares.len()), &html! {
                    thead { tr {
                        th scope="col" { "Control plane" }
                        @for heading in ["Due", "Leased", "Draining", "Pending"] { th.number scope="col" { (heading) } }
                    } }
                    tbody { @for share in &shares { tr {
                        th scope="row" { a href=(of(&share.control_plane, None)) { (text(&share.control_plane)) } }
                        td.number data-label="Due" { (number(share.due)) }
                        td.number data-label="Leased" { (number(share.hosts)) }
                        td.number data-label="Draining" {
                            @if share.draining == 0 { "0" } @else { a href=(of(&share.control_plane, Some(Nodes::Draining))) { (number(share.draining)) } }
                        }
                        td.number data-label="Pending" { (number(share.due.saturating_sub(share.hosts))) }
                    } } }
                }))
            }
        }
    }
}

/// Nodes, a row each.
fn nodes(request: &Request, batch: &Batch) -> Markup {
    let chosen = |nodes: Nodes| request.nodes == Some(nodes);
    html! {
        section {
            h2 id="nodes" { "Nodes" }
            form.filter action={ (request.view.path()) "#nodes" } {
                label for="control-plane" { "Control plane" }
                input id="control-plane" name=(CONTROL_PLANE) maxlength="63" placeholder="any" autocomplete="off"
                    value=[request.control_plane.as_deref()];
                label for="which" { "Nodes" }
                select id="which" name=(NODES) {
                    option value="" { "all" }
                    @for nodes in Nodes::ALL { option selected[chosen(nodes)] { (nodes.name()) } }
                }
                @if !request.refresh { input type="hidden" name="refresh" value="off"; }
                button { "Show" }
            }
            @match c5c3_live::nodes(batch.objects.clone()) {
                Err(why) => p.notice { (text(&why.to_string())) },
                Ok(nodes) if nodes.is_empty() => p { "There are none." },
                Ok(nodes) => { (scrolled("Nodes", &shown(batch), &html! {
                    thead { tr { @for heading in ["Name", "Control plane", "Phase", "Zone", "Rack"] { th scope="col" { (heading) } } } }
                    tbody { @for node in &nodes { tr {
                        th scope="row" { (text(&node.name)) }
                        @for (label, value) in [("Control plane", node.control_plane.as_str()), ("Phase", node.phase), ("Zone", &node.zone), ("Rack", &node.rack)] {
                            td data-label=(label) { @if value.is_empty() { (none()) } @else { (text(value)) } }
                        }
                    } } }
                })) },
            }
            (further(request, TABLE_OF_NODES, batch))
        }
    }
}
