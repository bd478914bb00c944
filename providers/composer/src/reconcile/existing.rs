//! What a reconcile knows of an object that exists.

use serde_json::Value;

use crate::generated::WHILE_WANTED;
use crate::subject::is_deleted;

/// What a reconcile knows of an object that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its controller.
    pub controller: Controller,
    /// What the operator did with it.
    pub management: Management,
    /// Whether it is deleted when it isn't wanted any more, though the operator only created it.
    pub is_temporary: bool,
    /// Whether it is being deleted.
    pub is_deleted: bool,
}

/// The controller that an object's ownerReferences name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Controller {
    /// None.
    None,
    /// The subject.
    Subject,
    /// Another resource, by kind and name.
    Other(String),
}

/// What an operator did with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Management {
    /// Nothing.
    None,
    /// It created the object, and changes nothing about it.
    Created,
    /// It applied fields.
    Applied,
}

impl Management {
    /// Reads from an object's managedFields what an operator did with it.
    pub fn of(object: &Value, operator: &str) -> Self {
        let entries = object["metadata"]["managedFields"].as_array();
        let entries = entries
            .into_iter()
            .flatten()
            .filter(|entry| entry["manager"] == operator && entry.get("subresource").is_none());
        let managed = entries.map(|entry| match entry["operation"] == "Apply" {
            true => Self::Applied,
            false => Self::Created,
        });
        managed.max().unwrap_or(Self::None)
    }
}

impl Existing {
    /// Reads an object. `is_subject` returns whether an ownerReference is to the subject.
    pub fn of(
        object: &Value,
        is_subject: impl FnOnce(&Value) -> bool,
        management: Management,
    ) -> Self {
        let metadata = &object["metadata"];
        let references = metadata["ownerReferences"].as_array();
        let controller = references
            .into_iter()
            .flatten()
            .find(|reference| reference["controller"] == true);
        Self {
            controller: match controller.map(|reference| (is_subject(reference), reference)) {
                None => Controller::None,
                Some((true, _)) => Controller::Subject,
                Some((false, other)) => {
                    let [kind, name] = ["kind", "name"].map(|field| other[field].as_str());
                    let (kind, name) = (kind.unwrap_or_default(), name.unwrap_or_default());
                    Controller::Other(format!("{kind} {name}"))
                }
            },
            management,
            is_temporary: metadata["annotations"].get(WHILE_WANTED).is_some(),
            is_deleted: is_deleted(object),
        }
    }

    /// Whether the subject owns it: by its controller or, where it has none, because the operator applied it.
    pub fn is_owned(&self) -> bool {
        match self.controller {
            Controller::Subject => true,
            Controller::Other(_) => false,
            Controller::None => self.management == Management::Applied,
        }
    }

    /// The controller, if that is another resource.
    pub fn other_owner(&self) -> Option<&str> {
        match &self.controller {
            Controller::Other(owner) => Some(owner),
            Controller::Subject | Controller::None => None,
        }
    }

    /// Whether it is deleted when it isn't wanted any more: every applied one, and Secrets that were generated for a limited time.
    pub fn is_pruned(&self) -> bool {
        match self.management {
            Management::Applied => true,
            Management::Created => self.is_temporary,
            Management::None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn management_is_what_managed_fields_say_of_the_operator() {
        let management = |entries: Value| {
            let object = json!({ "metadata": { "managedFields": entries } });
            Management::of(&object, "ours")
        };
        let entry =
            |manager: &str, operation: &str| json!({ "manager": manager, "operation": operation });
        let [applied, created] = ["Apply", "Update"].map(|operation| entry("ours", operation));
        let mut status = applied.clone();
        status["subresource"] = json!("status");
        let theirs = entry("kubectl", "Apply");

        assert_eq!(management(Value::Null), Management::None);
        assert_eq!(management(json!([theirs, status])), Management::None);
        assert_eq!(management(json!([theirs, created])), Management::Created);
        assert_eq!(management(json!([applied, created])), Management::Applied);
    }
}
