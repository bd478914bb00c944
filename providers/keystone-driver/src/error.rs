//! Why Keystone can't be asked or called, in words for everybody: no credential is ever among them.

use provider_runtime::DriverError;

/// Why Keystone can't be asked or called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("a query or call of Keystone can't be understood: run the same version of everything")]
    NotUnderstood,
    #[error("the clouds.yaml can't be read: write it as YAML, with clouds.{cloud}.auth.auth_url")]
    NoCloud { cloud: String },
    #[error(
        "the clouds.yaml has no way to authenticate to cloud {cloud}: give auth a username and password with \
         project_name, or application_credential_id and application_credential_secret"
    )]
    NoLogin { cloud: String },
    #[error(
        "the clouds.yaml says verify: false for cloud {cloud}, which isn't done: put the certificates that Keystone's is \
         checked against under the key cacert of the Secret"
    )]
    Unverified { cloud: String },
    #[error("auth_url of cloud {cloud} is not an http or https URL: correct it")]
    NoUrl { cloud: String },
    #[error(
        "the key cacert beside the clouds.yaml holds no certificate in PEM: set it right, or leave it out"
    )]
    NoCertificate,
    #[error(
        "this system knows no certificates to check Keystone's against: put those under the key cacert of the Secret \
         with the clouds.yaml"
    )]
    NoRoots,
    #[error("Keystone at {host} can't be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("Keystone at {host} did not answer within {seconds} s")]
    Slow { host: String, seconds: u64 },
    #[error("Keystone at {host} answered {status} to {what}")]
    Failed {
        host: String,
        status: u16,
        what: &'static str,
    },
    #[error("Keystone at {host} answered {what} with something that can't be understood")]
    Strange { host: String, what: &'static str },
    #[error(
        "Keystone at {host} refuses the credentials of the clouds.yaml: set right what the Secret with it holds, or the \
         user's password in Keystone"
    )]
    Unauthenticated { host: String },
    #[error("Keystone at {host} forbids {what}: give the user of the clouds.yaml the role admin")]
    Forbidden { host: String, what: &'static str },
    #[error("Keystone at {host} has no {what}: have it made, as Keystone's bootstrap does")]
    Missing { host: String, what: String },
}

impl From<Error> for DriverError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::NotUnderstood
            | Error::NoCloud { .. }
            | Error::NoLogin { .. }
            | Error::Unverified { .. }
            | Error::NoUrl { .. }
            | Error::NoCertificate
            | Error::NoRoots
            | Error::Unauthenticated { .. }
            | Error::Forbidden { .. } => Self::Refused(message),
            Error::Unreachable { .. }
            | Error::Slow { .. }
            | Error::Failed { .. }
            | Error::Strange { .. }
            | Error::Missing { .. } => Self::Unavailable(message),
        }
    }
}
