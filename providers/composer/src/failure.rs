//! Why a resource can't be composed at all.

/// Why a resource can't be composed at all. Everything that exists stays as it is; the runtime says so in the condition
/// Ready and in an event, and tries again later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    reason: &'static str,
    message: String,
    is_transient: bool,
}

impl Failure {
    /// A failure that the user can fix. `reason` is one word in CamelCase, the message says what to do.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            is_transient: false,
        }
    }

    /// A failure that passes without anybody's help, for instance while the API server restarts. Its event is a normal one.
    pub fn transient(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            is_transient: true,
            ..Self::new(reason, message)
        }
    }

    /// Whether it passes without anybody's help.
    pub fn is_transient(&self) -> bool {
        self.is_transient
    }

    /// One word for why, in CamelCase.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}
