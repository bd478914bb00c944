//! Why a service can't be read or changed. No message has a credential.

use provider_runtime::DriverError;

use crate::addresses::ForbiddenAddress;

/// Why a service can't be read or changed. `server` is the service and its host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("a request to OpenStack can't be read: run the same version of all operators")]
    NotUnderstood,
    #[error("the clouds.yaml can't be read: write it as YAML, with clouds.{cloud}.auth.auth_url")]
    NoCloud { cloud: String },
    #[error(
        "the clouds.yaml has no way to authenticate to cloud {cloud}: give auth a username and password with \
         project_name, or application_credential_id and application_credential_secret"
    )]
    NoLogin { cloud: String },
    #[error(
        "the clouds.yaml says verify: false for cloud {cloud}, which isn't done: put the certificates that the \
         service's is checked against under the key cacert of the Secret"
    )]
    Unverified { cloud: String },
    #[error("{field} of cloud {cloud} is not an http or https URL: correct it")]
    NoUrl { cloud: String, field: &'static str },
    #[error(
        "the key cacert beside the clouds.yaml holds no certificate in PEM: correct it, or remove it"
    )]
    NoCertificate,
    #[error(
        "ca.crt, which the certificate of {server} is checked against, holds no certificate in PEM: correct it in the Secret with that \
         certificate"
    )]
    NoAuthority { server: String },
    #[error(
        "this system knows no certificates to check a service's against: put those under the key cacert of the Secret \
         with the clouds.yaml"
    )]
    NoRoots,
    #[error(
        "this system knows no certificates to check that of {server} against: put its authority's under the key ca.crt of the Secret with \
         that certificate"
    )]
    NoRootsBeside { server: String },
    #[error("{server} can't be reached: {why}")]
    NoServer {
        server: String,
        why: ForbiddenAddress,
    },
    #[error("{server} can't be reached: {why}")]
    Unreachable { server: String, why: String },
    #[error("{server} did not answer within {seconds} s")]
    Slow { server: String, seconds: u64 },
    #[error("{server} answered {status} to {what}")]
    Failed {
        server: String,
        status: u16,
        what: &'static str,
    },
    #[error("{server} answered {what} with something that can't be understood")]
    Strange { server: String, what: &'static str },
    #[error(
        "{server} refuses the credentials of the clouds.yaml: set right what the Secret with it holds, or the \
         user's password in Keystone"
    )]
    Unauthenticated { server: String },
    #[error("{server} forbids {what}: give the user of the clouds.yaml the role admin")]
    Forbidden { server: String, what: &'static str },
    #[error(
        "{server} keeps the compute service of {host}, because servers or migrations are there: see `openstack server list \
         --all-projects --host {host}` and `openstack server migration list --host {host}`"
    )]
    Occupied { server: String, host: String },
    #[error(
        "{server} keeps the resource provider {id} of {host}, which doesn't exist in Nova any more, because something is allocated there: \
         see `openstack resource provider show --allocations {id}`, and remove allocations of servers that run on other hosts or don't exist \
         any more by `openstack resource provider allocation unset --provider {id} SERVER`"
    )]
    Allocated {
        server: String,
        host: String,
        id: String,
    },
    #[error(
        "{server} has no answer from the cell of {host}: see that the cell's database and message bus can be reached"
    )]
    NoCell { server: String, host: String },
    #[error(
        "{server} has no cell for the host {host} yet: its scheduler finds new hosts within seconds"
    )]
    Unmapped { server: String, host: String },
    #[error(
        "{server} has no resource provider of {host} yet: nova-compute creates it after its start; where that lasts, see the log of its pod"
    )]
    NoProvider { server: String, host: String },
    #[error(
        "the control plane reports no address of {server} for hypervisors: wait until status.agentEndpoints of the ControlPlane has it, \
         and the HypervisorShare"
    )]
    Elsewhere { server: String },
    #[error(
        "{server} refuses {what}: a host with servers can't change its availability zone, and none is in two; delete or move its servers \
         first, and see `openstack aggregate list --long`"
    )]
    Zone { server: String, what: &'static str },
    #[error("{server} has another aggregate {name}: rename or delete one of the two")]
    Taken { server: String, name: String },
    #[error("{server} has no {what}: create it, as Keystone's bootstrap does")]
    Missing { server: String, what: String },
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
            | Error::NoAuthority { .. }
            | Error::NoRoots
            | Error::NoRootsBeside { .. }
            | Error::NoServer { .. }
            | Error::Unauthenticated { .. }
            | Error::Forbidden { .. } => Self::Refused(message),
            Error::Unreachable { .. }
            | Error::Slow { .. }
            | Error::Failed { .. }
            | Error::Strange { .. }
            | Error::Occupied { .. }
            | Error::Allocated { .. }
            | Error::NoCell { .. }
            | Error::Zone { .. }
            | Error::Taken { .. }
            | Error::Unmapped { .. }
            | Error::NoProvider { .. }
            | Error::Elsewhere { .. }
            | Error::Missing { .. } => Self::Unavailable(message),
        }
    }
}
