//! Why a cluster can't be looked at.

use provider_composer::Failure;
use provider_runtime::ConfigError;
use thiserror::Error;

/// Why a cluster can't be looked at. Each says what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// The kubeconfig can't be used.
    #[error(transparent)]
    Kubeconfig(#[from] ConfigError),
    /// The cluster doesn't answer.
    #[error(
        "the cluster at {server} doesn't answer: {cause}; check the kubeconfig's server and certificates"
    )]
    Unreachable {
        /// Its URL.
        server: String,
        /// What went wrong first.
        cause: String,
    },
    /// The cluster doesn't know who asks.
    #[error(
        "the cluster at {server} doesn't know the kubeconfig's user: log in again, or use another context"
    )]
    Unknown {
        /// Its URL.
        server: String,
    },
    /// A kind is gone.
    #[error("the cluster doesn't serve {0} any more")]
    NotServed(String),
    /// A list has changed since its first part was listed.
    #[error("the list of {0} has changed since its beginning was read: begin again")]
    Expired(String),
    /// The kubeconfig's user has no right to look.
    #[error(
        "the kubeconfig's user may not {verb} {what}: {message}; have that right granted, or use another context"
    )]
    Forbidden {
        /// `get` or `list`.
        verb: &'static str,
        /// The plural and the group.
        what: String,
        /// The API server's words.
        message: String,
    },
    /// Our definitions aren't in the cluster.
    #[error(
        "the cluster knows no ControlPlanes: install the c5c3-operator in it, or choose the cluster that it runs in with \
         --context"
    )]
    NotInstalled,
    /// Nothing goes by the name that was asked for.
    #[error("the cluster has no {0} that an operator of this project reconciles")]
    NotFound(String),
    /// The pool can't be divided; the operator's own words.
    #[error(transparent)]
    Pool(#[from] Failure),
    /// The plan has nothing for the pool.
    #[error(
        "nothing is planned for the HypervisorPool {0} of this cluster: give a claim that names that pool together with its pools, or \
         the kubeconfig of another cluster"
    )]
    NotPlannedForPool(String),
    /// The plan has nothing for a control plane cluster.
    #[error(
        "there is nothing to compare: only what is planned in a control plane cluster is, so give a claim with its pools, \
         or a ControlPlane"
    )]
    Nothing,
    /// The plan is for more than one control plane cluster.
    #[error(
        "the plan is for the control plane clusters {0}, and a kubeconfig reaches one: give the claims of one at a time"
    )]
    Several(String),
    /// What is planned changes whenever more is known of the cluster.
    #[error("the plan isn't the same twice: this is a bug, please report it")]
    Unsettled,
    /// Nothing can be planned.
    #[error(transparent)]
    Plan(#[from] c5c3_plan::Error),
    /// What a cluster has is no Kubernetes object.
    #[error(transparent)]
    NotAnObject(#[from] c5c3_plan::NotAnObject),
    /// A text can't be written.
    #[error("what was found can't be shown: {0}")]
    Shown(String),
}

impl Error {
    /// What a cluster didn't answer, or refused.
    pub(crate) fn of(server: &str, verb: &'static str, what: &str, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 401 => Self::Unknown {
                server: server.to_owned(),
            },
            kube::Error::Api(status) if status.code == 403 => Self::Forbidden {
                verb,
                what: what.to_owned(),
                message: status.message.clone(),
            },
            kube::Error::Api(status) => Self::Unreachable {
                server: server.to_owned(),
                cause: status.message.clone(),
            },
            error => Self::Unreachable {
                server: server.to_owned(),
                cause: first_cause(&error),
            },
        }
    }
}

/// What went wrong first: whoever called it says less.
fn first_cause(error: &(dyn std::error::Error + 'static)) -> String {
    match error.source() {
        Some(cause) => first_cause(cause),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use kube::core::Status;

    use super::*;

    fn refused(code: u16) -> String {
        let status = Status::failure("no", "Reason").with_code(code);
        let error = kube::Error::Api(Box::new(status));
        Error::of("https://a:6443", "list", "secrets", error).to_string()
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        assert!(refused(403).starts_with("the kubeconfig's user may not list secrets: no; have"));
        assert!(refused(401).contains("https://a:6443 doesn't know the kubeconfig's user: log in"));
        assert!(refused(500).contains("https://a:6443 doesn't answer: no; check"));
        let refused = io::Error::from_raw_os_error(111);
        let error = kube::Error::Service(Box::new(io::Error::other(refused)));
        let said = Error::of("https://a:6443", "list", "secrets", error).to_string();
        assert!(
            said.contains("doesn't answer: Connection refused"),
            "{said}"
        );
    }
}
