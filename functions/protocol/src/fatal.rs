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
}

impl Fatal {
    /// With this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    /// The same, saying first what it happened to: `context: message`.
    pub fn within(self, context: &str) -> Self {
        Self {
            message: format!("{context}: {}", self.message),
        }
    }
}

impl From<DocumentError> for Fatal {
    fn from(error: DocumentError) -> Self {
        Self::new(error.to_string())
    }
}
