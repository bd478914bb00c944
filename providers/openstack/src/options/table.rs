//! Parser of the tables of options and rules: sorted lines of text, each for all releases that have the same option.
//!
//! ```text
//! [cache]
//! backend_expiration_time int(1..) @2026.1..
//! hashclient_dead_timeout float < dead_timeout [memcache]dead_timeout
//! memcache_password secret:text
//! ```
//!
//! A line has an option's name, the kind of its values (see [`kind`](super::kind)), the range of releases if it isn't all of
//! them, and its deprecated names, with their section if it is another one. Lines are parsed when they are looked up.
//!
//! Options that are deprecated for removal are in a table of their own, which no reconcile reads. A line has section, name and range of
//! releases: `[vault] use_ssl @2026.1..`. Lines of policy rules have name and range.

use super::kind::SECRET;
use crate::release::Release;

/// One option.
#[derive(Clone, Copy)]
pub struct Line {
    /// Its name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: &'static str,
    /// Whether they are secret.
    pub secret: bool,
    /// The range of releases that have it.
    releases: &'static str,
    /// Its deprecated names.
    old: &'static str,
}

impl Line {
    /// Whether this is a deprecated name of the option, which is in the section `of`.
    pub fn was(&self, of: &str, section: &str, name: &str) -> bool {
        let mut old = self.old.split_whitespace();
        old.any(
            |old| match old.strip_prefix('[').and_then(|old| old.split_once(']')) {
                Some(old) => old == (section, name),
                None => of == section && old == name,
            },
        )
    }
}

/// The options of a release, each with its section.
pub fn lines(table: &'static str, release: Release) -> impl Iterator<Item = (&'static str, Line)> {
    all(table).filter(move |(_, line)| has(line.releases, release))
}

/// The options of all releases, each with its section.
pub fn all(table: &'static str) -> impl Iterator<Item = (&'static str, Line)> {
    let mut section = "";
    told(table).filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            section = name.strip_suffix(']').unwrap_or(name);
            return None;
        }
        let (line, old) = line.split_once(" < ").unwrap_or((line, ""));
        let (line, releases) = line.split_once(" @").unwrap_or((line, ".."));
        let (name, kind) = line.split_once(' ')?;
        let secret = kind.strip_prefix(SECRET);
        Some((
            section,
            Line {
                name,
                kind: secret.unwrap_or(kind),
                secret: secret.is_some(),
                releases,
                old,
            },
        ))
    })
}

/// The policy rules of a release, or the options that it deprecates, each as `[token] cache_on_issue`.
pub fn names(table: &'static str, release: Release) -> impl Iterator<Item = &'static str> {
    told(table).filter_map(move |line| {
        let (name, releases) = line.split_once(" @").unwrap_or((line, ".."));
        has(releases, release).then_some(name)
    })
}

fn told(table: &'static str) -> impl Iterator<Item = &'static str> {
    table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Whether a range includes a release. Both bounds are inclusive and optional.
fn has(releases: &str, release: Release) -> bool {
    let (first, last) = releases.split_once("..").unwrap_or((releases, releases));
    let bound = |text: &str| text.parse::<Release>().ok();
    bound(first).is_none_or(|first| first <= release)
        && bound(last).is_none_or(|last| release <= last)
}
