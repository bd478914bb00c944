//! What would change in a cluster. Pure.

use c5c3_plan::{Applied, Key, Manifest, Paint};
use serde_json::Value;
use similar::TextDiff;

use crate::error::Error;
use crate::ours::{comparable, shown};

/// What would change in a cluster, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// What would change.
    pub changes: Vec<Change>,
    /// How many objects are as planned.
    pub same: usize,
}

/// What would happen to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Kind, namespace and name.
    pub title: String,
    /// What would happen.
    pub what: What,
}

/// What would happen to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It would be made: this.
    Added(String),
    /// It would become another: a unified diff.
    Changed(String),
    /// It would go.
    Gone,
}

/// Lines around a change.
const CONTEXT: usize = 3;

impl Difference {
    /// Compares what is planned with what is there; `left` is what is there and isn't planned.
    ///
    /// # Errors
    /// Something can't be written as YAML.
    pub fn between(
        planned: &[&Applied],
        there: &[Manifest],
        left: &[Manifest],
    ) -> Result<Self, Error> {
        let mut difference = Self::default();
        for planned in planned {
            let key = &planned.key;
            let live = there
                .iter()
                .find(|live| Key::of(&key.cluster, live) == *key);
            let title = planned.manifest.title();
            let what = match live {
                None => Some(What::Added(yaml(&shown(&planned.manifest))?)),
                Some(live) => changed(&title, planned, live)?.map(What::Changed),
            };
            match what {
                Some(what) => difference.changes.push(Change { title, what }),
                None => difference.same += 1,
            }
        }
        let gone = left.iter().map(|manifest| Change {
            title: manifest.title(),
            what: What::Gone,
        });
        difference.changes.extend(gone);
        Ok(difference)
    }

    /// Whether everything is as planned.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Everything that would change, and a summary.
    pub fn render(&self, paint: Paint) -> String {
        let mut out = String::new();
        let (mut added, mut changed, mut gone) = (0, 0, 0);
        for change in &self.changes {
            let title = &change.title;
            match &change.what {
                What::Added(text) => {
                    added += 1;
                    out += &colour(paint, 32, &format!("+ {title}"));
                    out += &indented(text, |line| colour(paint, 32, line));
                }
                What::Changed(text) => {
                    changed += 1;
                    out += &colour(paint, 33, &format!("~ {title}"));
                    out += &indented(text, |line| match line.chars().next() {
                        Some('+') => colour(paint, 32, line),
                        Some('-') => colour(paint, 31, line),
                        _ => format!("{line}\n"),
                    });
                }
                What::Gone => {
                    gone += 1;
                    out += &colour(paint, 31, &format!("- {title}"));
                }
            }
        }
        let same = self.same;
        out + &format!("{added} to add, {changed} to change, {gone} to go, {same} as planned\n")
    }
}

fn changed(title: &str, planned: &Applied, live: &Manifest) -> Result<Option<String>, Error> {
    let (wanted, there) = comparable(planned, live);
    if wanted == there {
        return Ok(None);
    }
    let (wanted, there) = (yaml(&wanted)?, yaml(&there)?);
    let diff = TextDiff::from_lines(&there, &wanted);
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT);
    Ok(Some(
        unified
            .header(&format!("{title} as it is"), &format!("{title} as planned"))
            .to_string(),
    ))
}

fn yaml(value: &Value) -> Result<String, Error> {
    serde_saphyr::to_string(value).map_err(|error| Error::Shown(error.to_string()))
}

fn indented(text: &str, line: impl Fn(&str) -> String) -> String {
    let lines = text.lines().map(|text| format!("    {}", line(text)));
    lines.collect()
}

fn colour(paint: Paint, colour: u8, line: &str) -> String {
    match paint {
        Paint::Colours => format!("\u{1b}[{colour}m{line}\u{1b}[0m\n"),
        Paint::Plain => format!("{line}\n"),
    }
}
