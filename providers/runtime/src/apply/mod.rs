//! Whether applying an object would change anything. Pure: the live object's managedFields name the fields that this
//! manager owns, and these are compared with the wanted ones. Manual edits, fields that aren't wanted any more and
//! changed labels are all detected.

mod digest;
mod fields;

use serde_json::Value;

pub(crate) use digest::Digest;
use fields::projection;

/// What an operator manages of a live object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Managed {
    /// The operator.
    pub manager: &'static str,
    /// Of the fields that it applied; none where it applied nothing, or where the object was seen without its body.
    pub digest: Option<Digest>,
    /// Whether it applied any, as opposed to having created the object.
    pub applied: bool,
}

/// Returns what each operator manages of a live object. `whole`: the body is present.
pub(crate) fn managed(live: &Value, whole: bool, managers: &[&'static str]) -> Vec<Managed> {
    let entries = live.pointer("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<Managed> = Vec::new();
    for entry in entries.filter(|entry| entry.get("subresource").is_none()) {
        let Some(manager) = managers
            .iter()
            .find(|manager| entry["manager"] == **manager)
        else {
            continue;
        };
        let applied = entry["operation"] == "Apply";
        let digest = (applied && whole).then(|| Digest::of(&projection(live, &entry["fieldsV1"])));
        let managed = Managed {
            manager,
            digest,
            applied,
        };
        match found.iter_mut().find(|other| other.manager == *manager) {
            Some(other) if !other.applied => *other = managed,
            Some(_) => {}
            None => found.push(managed),
        }
    }
    // Kept for every object there is, most of which one manager has to do with.
    found.shrink_to_fit();
    found
}

/// The fields of a live object that a manager applied, its name and kind left out; none where it applied nothing.
pub fn applied(live: &Value, manager: &str) -> Option<Value> {
    let entries = live.pointer("/metadata/managedFields")?.as_array()?;
    let mut applied = entries.iter().filter(|entry| {
        entry["manager"] == manager
            && entry["operation"] == "Apply"
            && entry.get("subresource").is_none()
    });
    Some(projection(live, &applied.next()?["fieldsV1"]))
}

/// The digest that a live object's has to have for a wanted object to be there already.
pub(crate) fn wanted(object: &Value) -> Digest {
    Digest::of_content(object)
}

#[cfg(test)]
mod tests;
