//! What a reconcile knows of an object that exists.

use serde_json::Value;

use crate::generated::WHILE_WANTED;

/// What a reconcile knows of an object that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// None.
    None,
    /// The subject.
    Subject,
    /// Another resource.
    Other,
}

/// What an operator did with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Management {
    /// Nothing.
    None,
    /// It created the object, and changes nothing about it.
    Created,
    /// It applied fields.
    Applied,
}

impl Existing {
    /// Reads an object.
    pub fn of(object: &Value, subject_uid: Option<&str>, management: Management) -> Self {
        let metadata = &object["metadata"];
        let references = metadata["ownerReferences"].as_array();
        let controller = references
            .into_iter()
            .flatten()
            .find(|reference| reference["controller"] == true);
        Self {
            controller: match controller {
                None => Controller::None,
                Some(controller) if controller["uid"].as_str() == subject_uid => {
                    Controller::Subject
                }
                Some(_) => Controller::Other,
            },
            management,
            is_temporary: metadata["annotations"].get(WHILE_WANTED).is_some(),
            is_deleted: metadata.get("deletionTimestamp").is_some(),
        }
    }

    /// Whether the subject owns it: by its controller or, where it has none, because the operator applied it.
    pub fn is_owned(&self) -> bool {
        match self.controller {
            Controller::Subject => true,
            Controller::Other => false,
            Controller::None => self.management == Management::Applied,
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
