//! The fields of an object that its field managers own, and the object after a server-side apply.

use serde_json::Value;

/// Lists that have an entry for each value of this field, or for each value, of which every manager owns its own.
const LISTS: [(&str, Option<&str>); 2] = [("ownerReferences", Some("uid")), ("finalizers", None)];

/// Applies fields to an object. `own` is what the manager applied before, and `others` what other managers own: their fields stay.
pub fn applied(live: &Value, own: &Value, others: &[&Value], wanted: &Value) -> Value {
    let mut left = own.clone();
    for other in others {
        left = unshared(&left, other);
    }
    let mut object = merged(live, &left, wanted);
    for (list, id) in LISTS {
        let live = entries(live, list);
        if live.is_empty() {
            continue;
        }
        let [own, wanted] = [own, wanted].map(|it| entries(it, list));
        let same = |one: &Value, other: &Value| match id {
            Some(id) => one[id] == other[id],
            None => one == other,
        };
        let is_in = |all: &[Value], entry: &Value| all.iter().any(|it| same(it, entry));
        let is_shared = |entry: &Value| others.iter().any(|it| is_in(entries(it, list), entry));
        let stays = live.iter().filter_map(|entry| {
            let now = wanted.iter().find(|it| same(it, entry));
            now.or_else(|| (!is_in(own, entry) || is_shared(entry)).then_some(entry))
        });
        let new = wanted.iter().filter(|entry| !is_in(live, entry));
        let all: Vec<Value> = stays.chain(new).cloned().collect();
        match (all.is_empty(), object["metadata"].as_object_mut()) {
            (false, Some(metadata)) => drop(metadata.insert(list.to_owned(), all.into())),
            (true, Some(metadata)) => drop(metadata.shift_remove(list)),
            (_, None) => {}
        }
    }
    object
}

/// Merges fields into an object as server-side apply does: those that were applied before and aren't any more are removed, and those
/// of others stay. Null is an absent field. Lists are replaced as a whole.
pub fn merged(live: &Value, before: &Value, wanted: &Value) -> Value {
    let Value::Object(wanted) = wanted else {
        return wanted.clone();
    };
    let mut merged = live.as_object().cloned().unwrap_or_default();
    for (field, before) in before.as_object().into_iter().flatten() {
        let is_wanted = wanted.get(field).is_some_and(|value| !value.is_null());
        if !is_wanted && let Some(live) = merged.shift_remove(field) {
            let left = without(live, before);
            if !left.is_null() {
                merged.insert(field.clone(), left);
            }
        }
    }
    for (field, wanted) in wanted.iter().filter(|(_, wanted)| !wanted.is_null()) {
        let live = merged.get(field).unwrap_or(&Value::Null);
        let value = self::merged(live, &before[field], wanted);
        merged.insert(field.clone(), value);
    }
    Value::Object(merged)
}

/// Merges a change into a value (RFC 7396).
pub fn patched(live: &Value, change: &Value) -> Value {
    let Value::Object(change) = change else {
        return change.clone();
    };
    let mut patched = live.as_object().cloned().unwrap_or_default();
    for (field, change) in change {
        let live = patched.get(field).unwrap_or(&Value::Null);
        match self::patched(live, change) {
            Value::Null => drop(patched.shift_remove(field)),
            value => drop(patched.insert(field.clone(), value)),
        }
    }
    Value::Object(patched)
}

/// Whether fields have other values in an object, and another manager owns one of them. Of lists with an entry for each manager, each owns
/// its own.
pub fn conflicts(live: &Value, others: &[&Value], wanted: &Value) -> bool {
    let (Value::Object(live), Value::Object(wanted)) = (live, wanted) else {
        return live != wanted && !others.is_empty();
    };
    let is_shared = |field: &str| LISTS.iter().any(|(list, _)| *list == field);
    let mut wanted = wanted
        .iter()
        .filter(|(field, wanted)| !wanted.is_null() && !is_shared(field));
    wanted.any(|(field, wanted)| {
        let others: Vec<&Value> = others.iter().filter_map(|it| it.get(field)).collect();
        live.get(field)
            .is_some_and(|live| conflicts(live, &others, wanted))
    })
}

/// What a manager still owns after another one's write: the fields that it left as they were.
pub fn remaining(own: &Value, before: &Value, after: &Value) -> Value {
    let Value::Object(own) = own else {
        return own.clone();
    };
    let fields = own.iter().filter_map(|(field, own)| {
        let (before, after) = (before.get(field), after.get(field));
        let remaining = match (own, before, after) {
            (Value::Object(_), Some(before @ Value::Object(_)), Some(after @ Value::Object(_))) => {
                remaining(own, before, after)
            }
            _ if before == after => own.clone(),
            _ => return None,
        };
        Some((field.clone(), remaining))
    });
    Value::Object(fields.collect())
}

/// The fields that a write sets; null where there are none.
pub fn written(before: &Value, after: &Value) -> Value {
    if before == after {
        return Value::Null;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let fields = after.iter().filter_map(|(field, after)| {
        let written = written(before.get(field).unwrap_or(&Value::Null), after);
        (!written.is_null()).then(|| (field.clone(), written))
    });
    Value::Object(fields.collect())
}

/// A manager's fields without those that another one owns, too.
fn unshared(own: &Value, other: &Value) -> Value {
    let (Value::Object(own), Value::Object(other)) = (own, other) else {
        return own.clone();
    };
    let fields = own.iter().filter_map(|(field, own)| {
        let unshared = match other.get(field) {
            Some(other @ Value::Object(_)) if own.is_object() => unshared(own, other),
            Some(_) => return None,
            None => own.clone(),
        };
        Some((field.clone(), unshared))
    });
    Value::Object(fields.collect())
}

/// What is left of a value without the fields that were applied; null if nothing is.
fn without(live: Value, applied: &Value) -> Value {
    let (Value::Object(mut live), Value::Object(applied)) = (live, applied) else {
        return Value::Null;
    };
    for (field, applied) in applied {
        if let Some(value) = live.shift_remove(field) {
            let left = without(value, applied);
            if !left.is_null() {
                live.insert(field.clone(), left);
            }
        }
    }
    match live.is_empty() {
        true => Value::Null,
        false => Value::Object(live),
    }
}

/// The entries of a list in an object's metadata.
fn entries<'a>(object: &'a Value, list: &str) -> &'a [Value] {
    let list = object["metadata"][list].as_array();
    list.map_or(&[], Vec::as_slice)
}
