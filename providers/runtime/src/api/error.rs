//! Why calls of the API server fail, without values of Secrets.

use provider_composer::ResourceKind;

use super::TIMEOUT;

/// Why a call of the API server failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// Another replica may be leading by now: nothing was written.
    #[error("another replica may be leading by now")]
    NotLeading,
    /// It took too long.
    #[error("the API server did not answer within {} s", TIMEOUT.as_secs())]
    Slow,
    /// It did not end a watch in time.
    #[error("the connection to the API server is lost")]
    Lost,
    /// The metadata of an object can't be understood; the message has no value of it.
    #[error("the metadata of an object can't be understood")]
    Metadata,
    /// No object can have that name.
    #[error("{0:?} can't be the name of an object")]
    Name(String),
    /// The API server refused the call.
    #[error("{0}")]
    Refused(#[source] Box<kube::core::Status>),
    /// It can't be reached, or can't be understood.
    #[error("{0}")]
    Client(#[source] kube::Error),
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status),
            other => Self::Client(other),
        }
    }
}

impl ApiError {
    /// The HTTP status, where the API server answered.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(status) => Some(status.code),
            _ => None,
        }
    }

    /// Returns the label for metrics.
    pub(crate) fn label(&self) -> &'static str {
        match (self, self.code()) {
            (Self::NotLeading, _) => "not_leading",
            (Self::Slow | Self::Lost, _) => "slow",
            (_, Some(403)) => "forbidden",
            (_, Some(404)) => "not_found",
            (_, Some(409)) => "conflict",
            (_, Some(code)) if code >= 500 => "server",
            (_, Some(_)) => "refused",
            (_, None) => "unreachable",
        }
    }

    /// Returns a message without values of Secrets, which an API server may quote.
    pub(crate) fn shown(&self, kind: ResourceKind) -> String {
        match self {
            Self::Refused(status) if kind.kind == "Secret" => {
                format!("{} ({})", status.reason, status.code)
            }
            Self::Refused(status) if status.message.is_empty() => {
                format!("{} ({})", status.reason, status.code)
            }
            Self::Refused(status) => status.message.clone(),
            other => other.to_string(),
        }
    }
}
