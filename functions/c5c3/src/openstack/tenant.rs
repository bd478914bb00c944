//! How the claim's owner gets the clouds.yaml of the tenant's first user: pushed from the control plane's cluster into a
//! secret store, pulled from it into the claim's namespace. No value passes through this function.

use std::collections::BTreeMap;

use c5c3_api::Reason;
use c5c3_api::control_plane::{Connection, TenantAccess};
use c5c3_kinds::external_secrets::{ExternalSecret, PushSecret};
use function_protocol::{Fatal, Response};
use serde_json::Value;

use super::Recipe;
use crate::composed::Composed;
use crate::manifest::Manifest;
use crate::transitions;

/// How often External Secrets compares both sides.
const REFRESH: &str = "5m0s";
/// Name of the composed PushSecret.
pub const PUSH: &str = "push-tenant-clouds";
/// Name of the composed ExternalSecret.
pub const PULL: &str = "pull-tenant-clouds";

/// Where the spec of a PushSecret has the name of its Secret.
const SECRET: &str = "/selector/secret/name";

/// The condition of the claim that says how far its clouds.yaml has come.
const CONNECTION_READY: &str = "ConnectionReady";

/// How far the clouds.yaml has come.
pub struct Tenant {
    /// What it waits for.
    waiting: Option<String>,
    /// The Secret in the claim's namespace, once it works.
    connection: Option<Connection>,
}

impl Recipe<'_> {
    /// What the tenant's first user may do. A site that hands out no clouds.yaml any more keeps the users that there are.
    pub fn access(&self) -> Option<TenantAccess> {
        if self.presets.tenant_access.is_none() {
            return self.existing.spec.as_ref()?.access;
        }
        Some(match self.is_admin_refused() {
            true => TenantAccess::Domain,
            false => self.cluster.spec.access.unwrap_or_default(),
        })
    }

    /// Whether the claim asks for an administrator, and the site allows none: an administrator of a cloud tells its
    /// hypervisors which services to call.
    fn is_admin_refused(&self) -> bool {
        let preset = self.presets.tenant_access.as_ref();
        self.cluster.spec.access == Some(TenantAccess::Admin)
            && preset.is_some_and(|preset| !preset.allow_admin)
    }

    /// Wants the path of the clouds.yaml, where the site hands it out: its end once its beginning works, so that nothing is
    /// read that was another claim's.
    pub fn tenant(&self, composed: &mut Composed<'_>) -> Result<Option<Tenant>, Fatal> {
        let namespace = self.cluster.metadata.claim_namespace();
        let Some(preset) = self.presets.tenant_access.as_ref() else {
            return Ok(None);
        };
        if namespace.is_empty() {
            return Ok(None);
        }
        let source = self.existing.status.connection.as_ref();
        let name = self.names.with("clouds");
        let path = self.path("tenant/clouds");
        let store = &self.presets.secret_store;
        // While the ControlPlane doesn't name it, the Secret stays: one that the claim's name gives may be K-ORC's.
        let last = || {
            let push: Value = composed.last_wanted(PUSH)?;
            push.pointer(SECRET)?.as_str().map(str::to_owned)
        };
        let secret = source.map(|source| source.secret_name.clone());
        let secret = secret.or_else(last).unwrap_or_default();
        let push = PushSecret::whole(secret, path.clone(), store, REFRESH);
        let push = Manifest::new(&self.names.namespace(), name.clone(), push);
        let creation = self.site.creation_in_namespace().when(source.is_some());
        let cluster = self.site.control_plane.name.name();
        let pushes = composed.transfer(PUSH, cluster, push, creation)?;

        let (secret, store, labels) = (name.clone(), &preset.secret_store, BTreeMap::new());
        let pull = ExternalSecret::whole(secret, path, store, REFRESH, "Owner", labels);
        let pull = Manifest::new(namespace, name.clone(), pull);
        let creation = creation.when(pushes.done);
        let pulls = composed.transfer(PULL, &preset.provider_config, pull, creation)?;
        let is_own = composed.owns(PULL);
        let user = "the tenant's first user: see the condition AccessReady of the ControlPlane";
        let waits = pulls.waiting.or(pushes.waiting);
        let last = self.cluster.status.connection.clone();
        Ok(Some(match pulls.done {
            true => Tenant {
                waiting: None,
                connection: Some(Connection { secret_name: name }),
            },
            false => Tenant {
                waiting: Some(waits.unwrap_or_else(|| user.to_owned())),
                connection: last.filter(|_| is_own),
            },
        }))
    }

    /// Says how far the clouds.yaml has come. Returns the Secret with it.
    pub fn connection(
        &self,
        tenant: Option<&Tenant>,
        response: &mut Response,
    ) -> Option<Connection> {
        let (holds, reason, message) = match tenant {
            Some(_) if self.is_admin_refused() => (
                false,
                Reason::Unsupported,
                "this site gives tenants no administrator of their cloud, and the user manages a domain: remove spec.access, or \
                 ask the platform team for tenantAccess.allowAdmin in the Composition's input"
                    .to_owned(),
            ),
            Some(Tenant { waiting, .. }) => match waiting {
                Some(waiting) => (false, Reason::Waiting, format!("waiting for {waiting}")),
                None => (true, Reason::Ready, String::new()),
            },
            None if self.cluster.spec.access == Some(TenantAccess::Admin) => (
                false,
                Reason::Unsupported,
                "this site hands out no credentials: ask the platform team for tenantAccess in the Composition's input, or \
                 remove spec.access"
                    .to_owned(),
            ),
            None => {
                let message = "the site hands out no credentials";
                transitions::lapse(response, CONNECTION_READY, None, Reason::NotOffered, message);
                return None;
            }
        };
        transitions::set(response, CONNECTION_READY, holds, reason, message);
        tenant?.connection.clone()
    }
}
