//! What would change in a cluster. Pure.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_plan::{Applied, Key, Manifest, Paint};
use serde_json::Value;
use similar::TextDiff;

use crate::comparable::{comparable, shown};
use crate::error::Error;

/// What would change in a cluster, by kind and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// What would change.
    pub changes: Vec<Change>,
    /// How many objects are as planned.
    pub same: usize,
    /// Clusters in which something is planned, but which weren't read.
    pub elsewhere: BTreeSet<String>,
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
        there: &BTreeMap<Key, Manifest>,
        left: &[Manifest],
    ) -> Result<Self, Error> {
        let mut difference = Self::default();
        for planned in planned {
            let title = planned.manifest.title();
            let what = match there.get(&planned.key) {
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
        out += &format!("{added} to add, {changed} to change, {gone} to go, {same} as planned\n");
        if !self.elsewhere.is_empty() {
            let clusters: Vec<&str> = self.elsewhere.iter().map(String::as_str).collect();
            out += &format!("Not compared: what is planned in {}\n", clusters.join(", "));
        }
        out
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

#[cfg(test)]
mod tests {
    use c5c3_plan::defaulted;
    use serde_json::json;

    use super::*;

    fn manifest(value: Value) -> Manifest {
        Manifest::try_from(value).unwrap()
    }

    /// Planned by somebody else than our operators.
    fn planned(value: Value) -> Applied {
        let manifest = manifest(value);
        Applied {
            key: Key::of("here", &manifest),
            manifest,
            operator: None,
        }
    }

    fn between(planned: &[Applied], there: &[Value], left: &[Value]) -> Difference {
        let planned: Vec<&Applied> = planned.iter().collect();
        let there = there.iter().cloned().map(manifest);
        let there = there.map(|object| (Key::of("here", &object), object));
        let left: Vec<Manifest> = left.iter().cloned().map(manifest).collect();
        Difference::between(&planned, &there.collect(), &left).unwrap()
    }

    fn secret(name: &str, data: Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": name, "namespace": "openstack", "labels": { "app": "x" } },
            "data": data,
        })
    }

    fn control_plane(spec: Value) -> Value {
        json!({
            "apiVersion": "c5c3.io/v1alpha1", "kind": "ControlPlane",
            "metadata": { "name": "production", "namespace": "openstack" },
            "spec": spec,
        })
    }

    #[test]
    fn everything_that_would_change_is_shown_with_a_summary() {
        let service = |port: u16| {
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "a", "namespace": "openstack" },
                "spec": { "ports": [{ "port": port }], "selector": { "app": "a" } },
            })
        };
        let mut live = service(80);
        live["metadata"]["uid"] = json!("1");
        live["spec"]["clusterIP"] = json!("10.0.0.1");
        live["spec"]["ports"][0]["protocol"] = json!("TCP");
        let same = between(&[planned(service(80))], &[live.clone()], &[]);
        assert!(same.is_empty(), "{same:?}");
        assert_eq!(
            same.render(Paint::Plain),
            "0 to add, 0 to change, 0 to go, 1 as planned\n"
        );

        let given = [
            planned(service(8080)),
            planned(secret("s", json!({ "k": "djE=" }))),
        ];
        let mut difference = between(&given, &[live], &[secret("old", json!({}))]);
        difference.elsewhere = BTreeSet::from(["st-pool-a".to_owned(), "hv-pool-a".to_owned()]);
        insta::assert_snapshot!(difference.render(Paint::Plain));
        let coloured = difference.render(Paint::Colours);
        assert!(
            coloured.contains("\u{1b}[31m-  - port: 80\u{1b}[0m"),
            "{coloured:?}"
        );
    }

    #[test]
    fn values_of_secrets_are_hidden_and_still_it_is_seen_which_differ() {
        let wanted = secret(
            "s",
            json!({ "same": "c2FtZQ==", "new": "bmV3", "other": "YWZ0ZXI=" }),
        );
        let live = secret(
            "s",
            json!({ "same": "c2FtZQ==", "other": "YmVmb3Jl", "more": "bW9yZQ==" }),
        );
        let text = between(&[planned(wanted)], &[live], &[]).render(Paint::Plain);
        assert!(text.contains("+  other: (hidden, another value)"), "{text}");
        assert!(text.contains("+  new: (hidden)"), "{text}");
        assert!(text.contains("   same: (hidden)"), "{text}");
        for value in ["c2FtZQ==", "bmV3", "YWZ0ZXI=", "YmVmb3Jl", "bW9yZQ=="] {
            assert!(!text.contains(value), "{text}");
        }
        let added = between(&[planned(secret("s", json!({ "new": "bmV3" })))], &[], &[]);
        let text = added.render(Paint::Plain);
        assert!(
            text.contains("new: (hidden)") && !text.contains("bmV3"),
            "{text}"
        );
    }

    #[test]
    fn spec_of_a_user_shows_removed_fields() {
        let live = control_plane(json!({
            "openStackRelease": "2025.2", "tempest": { "enabled": true },
        }));
        let given = control_plane(json!({ "openStackRelease": "2025.2" }));
        let text = between(&[planned(given)], &[live], &[]).render(Paint::Plain);
        assert!(
            text.contains("~ ControlPlane openstack/production"),
            "{text}"
        );
        assert!(text.contains("-  tempest:"), "{text}");
    }

    #[test]
    fn defaults_of_the_api_server_are_no_difference() {
        let given =
            control_plane(json!({ "openStackRelease": "2025.2", "services": { "nova": {} } }));
        let mut live = defaulted(&manifest(given.clone())).unwrap().value().clone();
        live["metadata"]["resourceVersion"] = json!("7");
        live["status"] = json!({ "updatePhase": "Idle" });
        assert_ne!(live["spec"], given["spec"]);
        let difference = between(&[planned(given)], &[live], &[]);
        assert!(difference.is_empty(), "{difference:?}");
    }
}
