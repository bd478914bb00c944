//! The part of an object that a set of fields names, the set written as in `fieldsV1`
//! (<https://github.com/kubernetes-sigs/structured-merge-diff>, `fieldpath/serialize.go`).

use serde_json::{Map, Value};

/// The part of a value that the fields name. A field without any below it stands for all that is there.
pub(crate) fn projection(value: &Value, fields: &Value) -> Value {
    let below = match fields.as_object() {
        Some(below) if below.keys().any(|name| name != ".") => below,
        _ => return value.clone(),
    };
    match value {
        Value::Object(object) => {
            let mut part = Map::new();
            for (name, fields) in below {
                if let Some(name) = name.strip_prefix("f:")
                    && let Some(value) = object.get(name)
                {
                    part.insert(name.to_owned(), projection(value, fields));
                }
            }
            Value::Object(part)
        }
        Value::Array(items) => {
            let part = items.iter().enumerate().filter_map(|(index, item)| {
                let (_, fields) = below.iter().find(|(name, _)| names(name, index, item))?;
                Some(projection(item, fields))
            });
            Value::Array(part.collect())
        }
        other => other.clone(),
    }
}

/// Whether a path element names this element of a list: by some of its fields, its value or its place.
fn names(name: &str, index: usize, item: &Value) -> bool {
    let Some((sort, text)) = name.split_once(':') else {
        return false;
    };
    match (sort, serde_json::from_str::<Value>(text)) {
        ("k", Ok(Value::Object(keys))) => {
            keys.iter().all(|(key, value)| item.get(key) == Some(value))
        }
        ("v", Ok(value)) => *item == value,
        ("i", Ok(place)) => place.as_u64() == Some(index as u64),
        _ => false,
    }
}
