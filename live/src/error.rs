//! Why a cluster can't be looked at.

use kube::config::KubeconfigError;
use thiserror::Error;

/// Why a cluster can't be looked at. Each says what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no kubeconfig, or it doesn't say what is needed.
    #[error(
        "no cluster can be reached by the kubeconfig: {0}; name another file, or another context of it with --context"
    )]
    Kubeconfig(#[source] Box<KubeconfigError>),
    /// The cluster doesn't answer.
    #[error("the cluster doesn't answer: {0}; check the kubeconfig's server and credentials")]
    Unreachable(#[source] Box<kube::Error>),
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
    #[error("there is no {0} in the cluster that our operators work on")]
    NotFound(String),
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
    /// What the API server refused.
    pub(crate) fn of(verb: &'static str, what: &str, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if [401, 403].contains(&status.code) => Self::Forbidden {
                verb,
                what: what.to_owned(),
                message: status.message.clone(),
            },
            error => Self::Unreachable(Box::new(error)),
        }
    }
}
