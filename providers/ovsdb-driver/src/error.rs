//! Why a database can't be asked or called, in words for everybody: no key is ever among them.

use provider_runtime::DriverError;

/// Why a database can't be asked or called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "the certificate, key or ca.crt of OVN's clients isn't valid PEM: write the Secret again"
    )]
    NoCertificate,
    #[error("OVSDB at {host} can't be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("OVSDB at {host} did not answer within {seconds} s")]
    Slow { host: String, seconds: u64 },
    #[error("OVSDB at {host} answered {what} with something that isn't valid")]
    Strange { host: String, what: &'static str },
    #[error("no member of {database} is connected to a majority")]
    NoMajority { database: String },
}

impl From<Error> for DriverError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::NoCertificate => Self::Refused(message),
            Error::Unreachable { .. }
            | Error::Slow { .. }
            | Error::Strange { .. }
            | Error::NoMajority { .. } => Self::Unavailable(message),
        }
    }
}
