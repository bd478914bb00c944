//! What a cell of a table shows of an object.

use c5c3_api::Condition;
use c5c3_api::parts::Quantity;
use c5c3_plan::{Manifest, Readiness, conditions, printable, readiness};
use maud::{Markup, html};
use serde::de::DeserializeOwned;

/// The longest text of a cell, in characters. A message may have 32,768.
const LONGEST: usize = 400;

/// How an object is. What needs a person comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It needs a person.
    Stalled,
    /// It waits for something.
    Waiting,
    /// It serves.
    Ready,
}

/// How an object is.
pub fn level(object: &Manifest) -> Level {
    let stalled =
        |condition: &Condition| condition.type_ == "Stalled" && condition.status == "True";
    let phase = object.text("/status/phase");
    match readiness(object) {
        Readiness::Ready => Level::Ready,
        Readiness::Waiting(_) if is_deleted(object) => Level::Waiting,
        Readiness::Waiting(_)
            if ["Failed", "Degraded"].contains(&phase)
                || conditions(object).iter().any(stalled) =>
        {
            Level::Stalled
        }
        Readiness::Waiting(_) => Level::Waiting,
    }
}

fn is_deleted(object: &Manifest) -> bool {
    !object.text("/metadata/deletionTimestamp").is_empty()
}

/// How an object is, in a word and with a sign.
pub fn state(object: &Manifest) -> Markup {
    let level = level(object);
    let phase = match object.text("/status/phase") {
        // Of an earlier generation, or it contradicts its conditions.
        "Ready" => "",
        phase => phase,
    };
    let (class, sign, word) = match level {
        Level::Ready => ("ready", "✔", "Ready"),
        Level::Waiting if is_deleted(object) => ("waiting", "○", "Deleting"),
        Level::Waiting if phase.is_empty() => ("waiting", "○", "Waiting"),
        Level::Waiting => ("waiting", "○", phase),
        Level::Stalled if phase.is_empty() => ("stalled", "✘", "Stalled"),
        Level::Stalled => ("stalled", "✘", phase),
    };
    html! { span class={ "state " (class) } { span aria-hidden="true" { (sign) } " " (text(word)) } }
}

/// Conditions that an object is Ready without, and that may need a person. Others of an object that is Ready may never be True, such as
/// `Retained`.
const OPEN_WHILE_READY: [&str; 26] = [
    "AggregateMembersKnown",
    "AggregateReady",
    "AggregateTraitsPresent",
    "AggregatesReady",
    "BackedUp",
    "CapacityAvailable",
    "CephConnected",
    "CertificateReady",
    "CertificatesRenewed",
    "ConsolesReady",
    "Exposed",
    "HostsWorking",
    "HypervisorCertificatesReady",
    "HypervisorsWorking",
    "ImagesAllowed",
    "ImagesReady",
    "IssuerExclusive",
    "LeasesHaveShares",
    "LostNodesRemoved",
    "MigrationBetweenPools",
    "MigrationReady",
    "NodesProtected",
    "NodesReady",
    "OVNBackedUp",
    "RabbitMQUnblocked",
    "ReturnedNodesEmpty",
];

/// What an object waits for, and its other conditions that aren't True; of one that is Ready, those that may need a person.
pub fn waits_for(object: &Manifest) -> Markup {
    let readiness = readiness(object);
    let is_ready = matches!(readiness, Readiness::Ready);
    let conditions = conditions(object);
    let is_open = |condition: &&Condition| {
        let type_ = condition.type_.as_str();
        let is_shown = !is_ready || OPEN_WHILE_READY.contains(&type_);
        is_shown && type_ != "Ready" && condition.status != "True"
    };
    let open: Vec<&Condition> = conditions.iter().filter(is_open).collect();
    html! {
        @if let Readiness::Waiting(why) = &readiness {
            @if why.is_empty() { "its operator, which hasn't reported yet" } @else { (text(why)) }
        }
        @if !open.is_empty() {
            details {
                summary { (open.len()) @if open.len() == 1 { " condition isn't True" } @else { " conditions aren't True" } }
                dl {
                    @for condition in open {
                        dt { (text(&condition.type_)) }
                        dd { (text(&condition.reason)) @if !condition.message.is_empty() { ": " (text(&condition.message)) } }
                    }
                }
            }
        }
    }
}

/// A text of others: short, and without control characters.
pub fn text(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text),
    }
}

/// A text at a JSON pointer.
pub fn field(object: &Manifest, pointer: &str) -> Markup {
    let value = object.text(pointer);
    html! { @if value.is_empty() { (none()) } @else { (text(value)) } }
}

/// A whole number at a JSON pointer.
pub fn number(object: &Manifest, pointer: &str) -> Markup {
    let value = object.value().pointer(pointer);
    count(value.and_then(|value| value.as_u64()))
}

/// A whole number, if it is known.
pub fn count(number: Option<u64>) -> Markup {
    html! { @match number { Some(number) => (thousands(number)), None => (none()) } }
}

/// What isn't known.
pub fn none() -> Markup {
    html! { span aria-label="none" { "–" } }
}

/// A part of an object, as far as it can be understood.
pub fn part<T: DeserializeOwned + Default>(object: &Manifest, pointer: &str) -> T {
    let part = object.value().pointer(pointer);
    let part = part.and_then(|part| T::deserialize(part).ok());
    part.unwrap_or_default()
}

/// Digits in groups of three.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let start = digits.len() % 3;
    let (first, rest) = digits.split_at(start);
    let groups = rest.as_bytes().chunks(3);
    let groups = groups.map(|group| String::from_utf8_lossy(group).into_owned());
    let first = (!first.is_empty()).then(|| first.to_owned());
    first
        .into_iter()
        .chain(groups)
        .collect::<Vec<_>>()
        .join(",")
}

/// Bytes, in the largest unit of which there is at least one.
pub fn bytes(number: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut number, mut unit) = (number, 0);
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && number < 100.0);
    format!("{number:.digits$} {}", UNITS[unit])
}

/// The bytes that a quantity stands for.
pub fn quantity(object: &Manifest, pointer: &str) -> Option<f64> {
    let quantity: Quantity = object.text(pointer).parse().ok()?;
    Some(quantity.amount())
}

/// How much of something is in use, as a bar and in words.
pub fn usage(used: Option<f64>, total: Option<f64>) -> Markup {
    html! {
        @match (used, total) {
            (Some(used), Some(total)) if total > 0.0 => {
                (bytes(used)) " of " (bytes(total)) " (" (format!("{:.0}", used / total * 100.0)) " %)"
                meter min="0" max="1" high="0.8" optimum="0" value=(format!("{:.4}", used / total)) aria-hidden="true" {}
            }
            (Some(used), _) => (bytes(used)),
            (None, _) => (none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_bytes_have_units() {
        let numbers = [0, 999, 1000, 10_000, 1_234_567].map(thousands);
        assert_eq!(numbers, ["0", "999", "1,000", "10,000", "1,234,567"]);
        let sizes = [0.0, 1023.0, 1536.0, 527_765_581_332_480.0].map(bytes);
        assert_eq!(sizes, ["0 B", "1023 B", "1.5 KiB", "480 TiB"]);
    }

    #[test]
    fn text_of_others_is_short_and_printable() {
        assert_eq!(text("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(text(&"é".repeat(LONGEST)), "é".repeat(LONGEST));
        let cut = format!("{}…", "é".repeat(LONGEST));
        assert_eq!(text(&"é".repeat(LONGEST + 1)), cut);
    }
}
