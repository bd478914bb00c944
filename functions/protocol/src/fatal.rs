//! The error that ends a pipeline.

use thiserror::Error;

use crate::{ConditionStatus, DocumentError};

/// Ends the pipeline: nothing of this call is applied. The message is what the owner of the claim reads, so it says
/// what to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Fatal {
    /// One sentence, for people.
    pub message: String,
    /// Type, status and reason of each condition that shows it, too.
    pub(crate) shown_as: Vec<(&'static str, ConditionStatus, &'static str)>,
}

impl Fatal {
    /// With this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            shown_as: Vec::new(),
        }
    }

    /// The same, saying first what it happened to: `context: message`.
    pub fn within(self, context: &str) -> Self {
        Self {
            message: format!("{context}: {}", self.message),
            ..self
        }
    }

    /// The same, shown by one more condition, too. Core 1.20 tells the owner of a claim nothing else of it: the message alone
    /// reaches the composite resource only.
    pub fn shown_as(
        mut self,
        type_: &'static str,
        status: ConditionStatus,
        reason: &'static str,
    ) -> Self {
        self.shown_as.push((type_, status, reason));
        self
    }
}

impl From<DocumentError> for Fatal {
    fn from(error: DocumentError) -> Self {
        Self::new(error.to_string())
    }
}
