//! Why a resource can't be composed at all.

/// Why a resource can't be composed at all. Everything that exists stays as it is; the runtime says so in the condition
/// Ready and in an event, and tries again later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    reason: &'static str,
    message: String,
}

impl Failure {
    /// A failure that the user can mend. `reason` is one word in CamelCase, the message says what to do.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    /// One word for why, in CamelCase.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}
