//! Digests that identify a value by sixteen bytes.

use ring::digest::{Context, SHA256};
use serde_json::Value;

/// The first half of SHA-256 over the value with sorted keys and without nulls, which mean absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Digest([u8; 16]);

impl Digest {
    /// Of one value.
    pub(crate) fn of(value: &Value) -> Self {
        Self::fed(|context| feed(context, value))
    }

    /// Of an object without what says which object it is.
    pub(crate) fn of_content(object: &Value) -> Self {
        Self::fed(|context| {
            let fields = without(object, &["apiVersion", "kind"]);
            feed_fields(context, fields, |context, name, value| match name {
                "metadata" if value.is_object() => {
                    let metadata = without(value, &["name", "namespace"]);
                    feed_fields(context, metadata, |context, _, value| feed(context, value));
                }
                _ => feed(context, value),
            });
        })
    }

    fn fed(feed: impl FnOnce(&mut Context)) -> Self {
        let mut context = Context::new(&SHA256);
        feed(&mut context);
        let mut half = [0; 16];
        half.copy_from_slice(&context.finish().as_ref()[..16]);
        Self(half)
    }
}

/// Encodes each value with a byte for its type and, where its length varies, with its length, so that no two values
/// have the same encoding.
fn feed(context: &mut Context, value: &Value) {
    match value {
        Value::Null => context.update(b"n"),
        Value::Bool(truth) => context.update(if *truth { b"t" } else { b"f" }),
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                text(context, b'i', &(float as i64).to_string());
            }
            _ => text(context, b'd', &number.to_string()),
        },
        Value::String(string) => text(context, b's', string),
        Value::Array(items) => {
            length(context, b'a', items.len());
            items.iter().for_each(|item| feed(context, item));
        }
        Value::Object(_) => {
            feed_fields(context, without(value, &[]), |context, _, value| {
                feed(context, value);
            });
        }
    }
}

/// The fields of an object, but for nulls and these.
fn without<'a>(object: &'a Value, names: &[&str]) -> Vec<(&'a str, &'a Value)> {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| (name.as_str(), value));
    fields
        .filter(|(name, value)| !value.is_null() && !names.contains(name))
        .collect()
}

/// Encodes fields by their names, each value by `feed`.
fn feed_fields(
    context: &mut Context,
    mut fields: Vec<(&str, &Value)>,
    feed: impl Fn(&mut Context, &str, &Value),
) {
    fields.sort_unstable_by_key(|(name, _)| *name);
    length(context, b'o', fields.len());
    for (name, value) in fields {
        text(context, b's', name);
        feed(context, name, value);
    }
}

fn text(context: &mut Context, mark: u8, text: &str) {
    length(context, mark, text.len());
    context.update(text.as_bytes());
}

fn length(context: &mut Context, mark: u8, length: usize) {
    context.update(&[mark]);
    context.update(&(length as u64).to_be_bytes());
}
