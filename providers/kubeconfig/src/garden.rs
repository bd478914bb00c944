//! What is requested of Gardener's API, as the driver of Gardener understands it.

use std::fmt;

use c5c3_api::shoot_kubeconfig::ShootRole;
use provider_composer::{ExternalRequest, ObservedState};
use serde::{Deserialize, Serialize};

/// The system, as [`ExternalRequest`] names it.
pub const SYSTEM: &str = "gardener";

/// How long an answer counts, in seconds.
pub const VALID: u32 = 60;

/// A request for a kubeconfig. Nothing remembers in Gardener that it was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    /// How Gardener's API is reached.
    pub access: Access,
    /// The namespace of Gardener's project.
    pub namespace: String,
    /// The name of the Shoot.
    pub shoot: String,
    /// What the kubeconfig allows.
    pub role: ShootRole,
    /// The seconds that it is requested for.
    pub seconds: u32,
}

/// How Gardener's API is reached.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// A kubeconfig.
    pub kubeconfig: String,
}

/// A kubeconfig is never shown.
impl fmt::Debug for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Access")
    }
}

/// Gardener's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The kubeconfig.
    Issued(Issued),
    /// There is no such Shoot, or it has no address yet. The text is Gardener's.
    Pending(String),
    /// Gardener refuses the request, or its API can't be used with that access. The text says why.
    Refused(String),
}

/// A kubeconfig that Gardener has issued.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// The kubeconfig.
    pub kubeconfig: String,
    /// When it was requested, by the clock of the operator, RFC 3339.
    pub issued: String,
    /// When it expires, by Gardener's clock, RFC 3339.
    pub expires: String,
}

/// A kubeconfig is never shown.
impl fmt::Debug for Issued {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Issued(until {})", self.expires)
    }
}

impl Query {
    /// Requests a kubeconfig.
    ///
    /// # Errors
    /// Gardener's API can't be reached now.
    pub(crate) fn ask(&self, observed: &ObservedState<'_>) -> Result<Answer, String> {
        let answer = observed.external(ExternalRequest::new(SYSTEM, self));
        // An error would quote the answer.
        let answer = answer.parsed(|_| "the answer of Gardener's API isn't valid".to_owned());
        let none = || "Gardener's API gives no answer".to_owned();
        answer.known()?.ok_or_else(none)
    }
}
