//! Fields, types and bounds of the schema.

use regex::Regex;
use serde_json::{Map, Value};

use crate::form::form;
use crate::{Problem, Validator, near, within};

/// A longer pattern isn't shown: it helps nobody.
const LONGEST_PATTERN: usize = 80;

/// A longer text isn't repeated in a message.
const LONGEST_SHOWN: usize = 64;

impl Validator {
    /// Checks a value against a schema. `path` is that of the value, for instance `spec.size`.
    pub(crate) fn shape(
        &mut self,
        schema: &Value,
        value: &Value,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        let kind = match schema["x-kubernetes-int-or-string"] == true {
            true => "integer or string",
            false => schema["type"].as_str().unwrap_or_default(),
        };
        if !is_of(kind, value) {
            let message = format!("must be {}, not {}", article(kind), article(called(value)));
            problems.push(problem(path, message));
            return;
        }
        if let Some(known) = schema["enum"].as_array()
            && !known.contains(value)
        {
            let known: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
            let message = format!("must be one of {}, not {value}", known.join(", "));
            problems.push(problem(path, message));
        }
        let (bounds, size, unit) = match value {
            Value::String(text) => (
                ["minLength", "maxLength"],
                text.chars().count() as f64,
                "character",
            ),
            Value::Number(number) => (
                ["minimum", "maximum"],
                number.as_f64().unwrap_or(f64::NAN),
                "",
            ),
            Value::Array(items) => (["minItems", "maxItems"], items.len() as f64, "item"),
            Value::Object(fields) => (
                ["minProperties", "maxProperties"],
                fields.len() as f64,
                "entry",
            ),
            Value::Null | Value::Bool(_) => return,
        };
        let [least, most] = bounds.map(|bound| schema[bound].as_f64());
        let wrong = least
            .filter(|least| size < *least)
            .map(|least| ("at least", least))
            .or(most
                .filter(|most| size > *most)
                .map(|most| ("at most", most)));
        if let Some((which, bound)) = wrong {
            problems.push(problem(
                path,
                match (unit, bound == 1.0) {
                    ("", _) => format!("must be {which} {bound}, not {size}"),
                    (unit, true) => format!("must have {which} 1 {unit}, not {size}"),
                    ("entry", false) => format!("must have {which} {bound} entries, not {size}"),
                    (unit, false) => format!("must have {which} {bound} {unit}s, not {size}"),
                },
            ));
        }
        match value {
            Value::String(text) => problems.extend(self.mismatch(schema, text, path)),
            Value::Array(items) => {
                problems.extend(duplicates(schema, items, path));
                for (index, item) in items.iter().enumerate() {
                    self.shape(
                        &schema["items"],
                        item,
                        &format!("{path}[{index}]"),
                        problems,
                    );
                }
            }
            Value::Object(fields) => self.fields(schema, fields, path, problems),
            _ => {}
        }
    }

    fn mismatch(&mut self, schema: &Value, text: &str, path: &str) -> Option<Problem> {
        let pattern = schema["pattern"].as_str()?;
        if !self.patterns.contains_key(pattern) {
            let compiled = Regex::new(pattern).ok();
            self.patterns.insert(pattern.to_owned(), compiled);
        }
        let compiled = self.patterns.get(pattern).and_then(Option::as_ref)?;
        let shown = match text.chars().count() {
            0..=LONGEST_SHOWN => format!("{text:?}"),
            count => format!("a text of {count} characters"),
        };
        // The first sentence of a description says in words what a pattern can't, often with an example.
        let meant = schema["description"].as_str().unwrap_or_default();
        let meant = meant.split(". ").next().unwrap_or_default();
        let meant = meant.trim_end_matches('.');
        let title = schema["title"].as_str();
        let message = || match (title, meant.contains("for instance"), form(pattern)) {
            (Some(form), ..) | (None, false, Some(form)) => {
                format!("{shown} is not valid: write {form}")
            }
            (None, true, _) => format!("{shown} is not valid ({meant})"),
            (None, false, None) => {
                let meant = match meant {
                    "" => String::new(),
                    meant => format!(" ({meant})"),
                };
                match pattern.len() > LONGEST_PATTERN {
                    true => format!("{shown} is not valid{meant}"),
                    false => format!("must match {pattern}, not {shown}{meant}"),
                }
            }
        };
        (!compiled.is_match(text)).then(|| problem(path, message()))
    }

    fn fields(
        &mut self,
        schema: &Value,
        fields: &Map<String, Value>,
        path: &str,
        problems: &mut Vec<Problem>,
    ) {
        for required in schema["required"].as_array().into_iter().flatten() {
            let name = required.as_str().unwrap_or_default();
            if !fields.contains_key(name) {
                problems.push(problem(&within(path, name), "must be set".to_owned()));
            }
        }
        let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
        for (name, field) in fields {
            let property = schema["properties"].get(name);
            match property.or_else(|| schema.get("additionalProperties")) {
                Some(property) => self.shape(property, field, &within(path, name), problems),
                None if open => {}
                None => {
                    let known = schema["properties"].as_object();
                    let known = known.into_iter().flat_map(Map::keys).map(String::as_str);
                    let message = match near(name, known) {
                        Some(meant) => format!("unknown field; did you mean {meant}?"),
                        None => "unknown field; remove it".to_owned(),
                    };
                    problems.push(problem(&within(path, name), message));
                }
            }
        }
    }
}

fn problem(path: &str, message: String) -> Problem {
    Problem {
        path: path.to_owned(),
        message,
    }
}

/// Whether a value is of a type; without a type any is.
fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "integer or string" => value.is_i64() || value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn called(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn article(noun: &str) -> String {
    match noun.starts_with(['a', 'i', 'o']) {
        true => format!("an {noun}"),
        false if noun == "null" => noun.to_owned(),
        false => format!("a {noun}"),
    }
}

/// A list may have keys, its items' own or the items themselves, each of which may occur once.
fn duplicates(schema: &Value, items: &[Value], path: &str) -> Vec<Problem> {
    let key = |item: &Value| -> Vec<(String, Value)> {
        match schema["x-kubernetes-list-map-keys"].as_array() {
            Some(keys) => keys
                .iter()
                .filter_map(Value::as_str)
                .map(|name| (name.to_owned(), item[name].clone()))
                .collect(),
            None => vec![(String::new(), item.clone())],
        }
    };
    let keyed = ["map", "set"]
        .map(Value::from)
        .contains(&schema["x-kubernetes-list-type"]);
    let repeats = |(index, item): (usize, &Value)| {
        let first = items
            .iter()
            .take(index)
            .position(|other| key(other) == key(item))?;
        let names: Vec<String> = key(item)
            .into_iter()
            .map(|(name, value)| format!("{name} {value}").trim_start().to_owned())
            .collect();
        let message = format!("repeats {} of {path}[{first}]", names.join(", "));
        Some(problem(&format!("{path}[{index}]"), message))
    };
    match keyed {
        true => items.iter().enumerate().filter_map(repeats).collect(),
        false => Vec::new(),
    }
}
