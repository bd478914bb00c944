//! Why a resource can't be composed at all.

use c5c3_api::Reason;

use crate::gauge::Gauge;

/// Why a resource can't be composed at all. No object changes; the runtime reports the failure in the condition Ready
/// and in an event, and retries later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    reason: Reason,
    message: String,
    is_transient: bool,
    gauges: Vec<Gauge>,
}

impl Failure {
    /// A failure that the user can fix. The message says what to do.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            is_transient: false,
            gauges: Vec::new(),
        }
    }

    /// A failure that resolves itself, for instance while the API server restarts. Its event is a Normal one.
    pub fn transient(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            is_transient: true,
            ..Self::new(reason, message)
        }
    }

    /// The same failure with gauges of the subject, which the operator exports meanwhile.
    #[must_use]
    pub fn exporting(self, gauges: Vec<Gauge>) -> Self {
        Self { gauges, ..self }
    }

    /// Returns the gauges of the subject.
    pub fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }

    /// Whether it resolves itself.
    pub fn is_transient(&self) -> bool {
        self.is_transient
    }

    /// Returns the reason that the condition Ready gets.
    pub fn reason(&self) -> Reason {
        self.reason
    }
}
