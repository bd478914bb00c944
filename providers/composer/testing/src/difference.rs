//! What differs between two values that are almost the same: their snapshots have the rest once.

use serde_json::{Map, Value};

/// What of a value differs from another, by path. Null stands for what only the other has.
pub fn difference(from: &Value, to: &Value) -> Value {
    let mut found = Map::new();
    compare("", from, to, &mut found);
    found.into()
}

fn compare(path: &str, from: &Value, to: &Value, found: &mut Map<String, Value>) {
    match (from, to) {
        (Value::Object(fields), Value::Object(others)) => {
            for name in fields.keys().chain(others.keys()) {
                compare(&format!("{path}/{name}"), &from[name], &to[name], found);
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (index, (from, to)) in items.iter().zip(others).enumerate() {
                compare(&format!("{path}/{index}"), from, to, found);
            }
        }
        _ if from == to => {}
        _ => {
            found.insert(path.to_owned(), to.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn difference_has_what_is_changed_missing_and_added() {
        let from = json!({ "a": { "same": 1, "items": [1, 2], "missing": "x" }, "longer": [1] });
        let to = json!({ "a": { "same": 1, "items": [1, 3], "added": true }, "longer": [1, 2] });
        let found =
            json!({ "/a/items/1": 3, "/a/missing": null, "/a/added": true, "/longer": [1, 2] });
        assert_eq!(difference(&from, &to), found);
    }
}
