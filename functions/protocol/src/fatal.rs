//! The error that ends a pipeline.

use thiserror::Error;

use crate::DocumentError;

/// Ends the pipeline: nothing of this call is applied. The message is what the owner of the claim reads, so it says
/// what to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Fatal {
    /// One sentence, for people.
    pub message: String,
    /// Type and reason of the condition that shows it, too.
    pub(crate) shown_as: Option<(&'static str, &'static str)>,
}

impl Fatal {
    /// With this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            shown_as: None,
        }
    }

    /// The same, saying first what it happened to: `context: message`.
    pub fn within(self, context: &str) -> Self {
        Self {
            message: format!("{context}: {}", self.message),
            ..self
        }
    }

    /// The same, shown by a condition that doesn't hold, too. Core 1.20 tells the owner of a claim nothing else of it: the
    /// message alone reaches the composite resource only.
    pub fn shown_as(self, type_: &'static str, reason: &'static str) -> Self {
        Self {
            shown_as: Some((type_, reason)),
            ..self
        }
    }
}

impl From<DocumentError> for Fatal {
    fn from(error: DocumentError) -> Self {
        Self::new(error.to_string())
    }
}
