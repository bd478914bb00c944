//! The tables of options and rules that our operators check against, and of the options that a release deprecates for removal, made from
//! what the services of all releases say.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::thread;

use anyhow::{Result, anyhow};
use provider_openstack::{Release, table::RELEASES};
use serde::Deserialize;

use super::OpenStack;

/// What one service of one release reads.
#[derive(Deserialize)]
struct Service {
    options: Vec<Described>,
    rules: Vec<String>,
}

#[derive(Deserialize)]
struct Described {
    section: String,
    option: String,
    kind: String,
    /// Whether nobody may see its value.
    secret: bool,
    /// Whether the service will remove it.
    deprecated: bool,
    /// What it was called before, with the section.
    old: Vec<(String, String)>,
}

/// Lines by section, each with the releases that have it.
type Lines = BTreeMap<String, BTreeMap<Line, Vec<Release>>>;

/// What is written of an option or a rule, but for its releases, which stand between.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    name: String,
    kind: String,
    old: String,
}

const HEAD: &str =
    "# Made by `cargo run -p lab --bin lab-tables` from what each release of the service reads.\n";

/// Every table by its file's name: `keystone.options`, `keystone.deprecated` and `keystone.rules`, and those of the other services.
///
/// # Errors
/// When the services of a release can't be installed, or don't say what they read.
pub fn tables() -> Result<BTreeMap<String, String>> {
    let releases = RELEASES.map(|tags| tags.release);
    let asked: Vec<_> = releases
        .into_iter()
        .map(|release| thread::spawn(move || describe(release)))
        .collect();
    let mut options: BTreeMap<String, Lines> = BTreeMap::new();
    let mut deprecated: BTreeMap<String, Lines> = BTreeMap::new();
    let mut rules: BTreeMap<String, Lines> = BTreeMap::new();
    for (release, asked) in releases.into_iter().zip(asked) {
        let services = asked.join().map_err(|_| anyhow!("a thread panicked"))??;
        for (name, service) in services {
            let options = options.entry(name.clone()).or_default();
            let deprecated = deprecated
                .entry(name.clone())
                .or_default()
                .entry(String::new())
                .or_default();
            for option in service.options {
                if option.deprecated {
                    let line = Line::named(format!("[{}] {}", option.section, option.option));
                    deprecated.entry(line).or_default().push(release);
                }
                let section = options.entry(option.section.clone()).or_default();
                section.entry(Line::of(option)).or_default().push(release);
            }
            let rules = rules
                .entry(name)
                .or_default()
                .entry(String::new())
                .or_default();
            for rule in service.rules {
                rules.entry(Line::named(rule)).or_default().push(release);
            }
        }
    }
    let options = options
        .iter()
        .map(|(name, lines)| (format!("{name}.options"), written(lines, &releases)));
    let deprecated = deprecated
        .iter()
        .map(|(name, lines)| (format!("{name}.deprecated"), written(lines, &releases)));
    let rules = rules
        .iter()
        .map(|(name, lines)| (format!("{name}.rules"), written(lines, &releases)));
    Ok(options.chain(deprecated).chain(rules).collect())
}

fn describe(release: Release) -> Result<BTreeMap<String, Service>> {
    OpenStack::of(release)?.ask("describe", "")
}

impl Line {
    fn of(option: Described) -> Self {
        let old = option
            .old
            .iter()
            .map(|(section, name)| match *section == option.section {
                true => format!(" {name}"),
                false => format!(" [{section}]{name}"),
            });
        Self {
            old: old.collect(),
            name: option.option,
            kind: match option.secret {
                true => format!(" secret:{}", option.kind),
                false => format!(" {}", option.kind),
            },
        }
    }

    /// A line of nothing but a name.
    fn named(name: String) -> Self {
        Self {
            name,
            kind: String::new(),
            old: String::new(),
        }
    }
}

fn written(lines: &Lines, releases: &[Release]) -> String {
    let mut text = HEAD.to_owned();
    for (section, lines) in lines {
        if !section.is_empty() {
            let _ = write!(text, "\n[{section}]\n");
        }
        for (line, of) in lines {
            for range in ranges(of, releases) {
                let Line { name, kind, old } = line;
                let old = if old.is_empty() {
                    String::new()
                } else {
                    format!(" <{old}")
                };
                let _ = writeln!(text, "{name}{kind}{range}{old}");
            }
        }
    }
    text
}

/// From which release to which, in as many pieces as there are gaps. Where there is no bound, none is written.
fn ranges(of: &[Release], releases: &[Release]) -> Vec<String> {
    let pieces = releases
        .split(|release| !of.contains(release))
        .filter(|piece| !piece.is_empty());
    let written = pieces.map(|piece| {
        let bound = |bound: Option<&Release>, end: Option<&Release>| match bound {
            Some(release) if Some(release) != end => release.to_string(),
            _ => String::new(),
        };
        let first = bound(piece.first(), releases.first());
        let last = bound(piece.last(), releases.last());
        match (first.as_str(), last.as_str()) {
            ("", "") => String::new(),
            _ => format!(" @{first}..{last}"),
        }
    });
    written.collect()
}
