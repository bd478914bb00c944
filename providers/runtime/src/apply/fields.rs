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
            let elements = below.iter();
            let elements = elements.filter_map(|(name, fields)| Some((Element::of(name)?, fields)));
            let elements: Vec<(Element, &Value)> = elements.collect();
            let part = items.iter().enumerate().filter_map(|(index, item)| {
                let mut elements = elements.iter();
                let (_, fields) = elements.find(|(element, _)| element.is(index, item))?;
                Some(projection(item, fields))
            });
            Value::Array(part.collect())
        }
        other => other.clone(),
    }
}

/// What a path element names of a list.
enum Element {
    /// The element with these fields.
    Keys(Map<String, Value>),
    /// The element that is this value.
    Value(Value),
    /// The element at this index.
    Index(u64),
}

impl Element {
    fn of(name: &str) -> Option<Self> {
        let (sort, text) = name.split_once(':')?;
        match (sort, serde_json::from_str::<Value>(text).ok()?) {
            ("k", Value::Object(keys)) => Some(Self::Keys(keys)),
            ("v", value) => Some(Self::Value(value)),
            ("i", index) => index.as_u64().map(Self::Index),
            _ => None,
        }
    }

    /// Whether it is this element of a list.
    fn is(&self, index: usize, item: &Value) -> bool {
        match self {
            Self::Keys(keys) => keys.iter().all(|(key, value)| item.get(key) == Some(value)),
            Self::Value(value) => item == value,
            Self::Index(at) => *at == index as u64,
        }
    }
}
