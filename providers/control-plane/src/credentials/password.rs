//! The password of a user in Keystone, and how the next one replaces it.
//!
//! Keystone has one password for each user. The next one therefore replaces it at once in Keystone, and whoever logs in with it gets it
//! as soon as Keystone has it. Application credentials stay valid, and pods use nothing else.

use c5c3_api::credential_rotation::RotationType;
use c5c3_api::keystone::KeystoneSpec;
use c5c3_kinds::korc::{Observed, User};
use provider_composer::{
    DesiredState, Generated, Key, Lookup, ObservedState, Progress, Reason, ResourceKind,
    SecretValues,
};
use provider_openstack::{KEYSTONE, Prerequisite, Rotations, Succession};
use serde_json::Value;

use super::CredentialSet;

/// Keystone's first user.
pub(crate) const ADMIN: &str = "admin";

/// Secret with the password of Keystone's first user, under `username` and `password`.
const ADMIN_CREDENTIALS: &str = "keystone-admin-credentials";

/// The password of a user.
pub(crate) struct Password<'a> {
    namespace: &'a str,
    user: &'a str,
    secrets: Succession<'a>,
    /// The number of the Secret whose password Keystone has. `None` while that isn't known.
    applied: Option<u32>,
    /// The number of the Secret that a rotation asks for.
    next: Option<u32>,
}

impl<'a> Password<'a> {
    /// The password of a user that K-ORC creates, whose first Secret has this name.
    ///
    /// # Errors
    /// Something can't be read.
    pub(crate) fn of(
        observed: &ObservedState<'_>,
        namespace: &'a str,
        user: &'a str,
        first: &'a str,
    ) -> Prerequisite<Self> {
        let key = Key::of::<Observed<User>>(namespace, user);
        let applied = observed.object(&key).map(|object| {
            let applied = object.pointer("/status/resource/appliedPasswordRef");
            applied.and_then(Value::as_str).map(str::to_owned)
        });
        Self::with(observed, namespace, (user, first), applied)
    }

    /// The password of Keystone's first user, which Keystone's operator sets.
    ///
    /// # Errors
    /// Something can't be read.
    pub(crate) fn of_admin(observed: &ObservedState<'_>, namespace: &'a str) -> Prerequisite<Self> {
        let key = Key::new(ResourceKind::of::<KeystoneSpec>(), namespace, KEYSTONE.name);
        let bootstrapped = observed
            .condition(&key, "Bootstrapped")
            .optional()?
            .flatten();
        let is_set = bootstrapped.is_some_and(|it| it.status == "True");
        let applied = observed.object(&key).map(|object| {
            let named = object.pointer("/spec/bootstrap/adminPasswordSecretRef/name");
            let named = named.and_then(Value::as_str).filter(|_| is_set);
            named.map(str::to_owned)
        });
        Self::with(observed, namespace, (ADMIN, ADMIN_CREDENTIALS), applied)
    }

    fn with(
        observed: &ObservedState<'_>,
        namespace: &'a str,
        (user, first): (&'a str, &'a str),
        applied: Lookup<Option<String>>,
    ) -> Prerequisite<Self> {
        // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
        let secrets = Succession::of(observed, namespace, first);
        let rotations = Rotations::of(observed, namespace, user, RotationType::UserPassword);
        let applied = applied.optional()?.flatten();
        let secrets = secrets?;
        Ok(Self {
            namespace,
            user,
            applied: applied.and_then(|secret| secrets.number(&secret)),
            next: rotations.map_err(Progress::unknown)?.next(),
            secrets,
        })
    }

    /// The Secret whose password Keystone should have.
    pub(crate) fn wanted(&self) -> String {
        self.secrets.secret(self.secrets.newest())
    }

    /// The Secret whose password Keystone has. Before it has any, it is the first.
    ///
    /// # Errors
    /// It isn't known which one it is.
    pub(crate) fn valid(&self) -> Prerequisite<String> {
        let first = Some(1).filter(|first| *first == self.secrets.newest());
        match self.applied.or(first) {
            Some(number) => Ok(self.secrets.secret(number)),
            None => Err(Progress::waiting(
                Reason::WaitingFor("Keystone"),
                format!(
                    "waits for Keystone to have the password of user {} that Secret {} has",
                    self.user,
                    self.wanted()
                ),
            )),
        }
    }

    /// The password that Keystone has, from its Secret. `purpose` says what the Secret is for, and who creates the first.
    ///
    /// # Errors
    /// It isn't known which one it is, or the Secret can't be read.
    pub(crate) fn read(&self, observed: &ObservedState<'_>, purpose: &str) -> Prerequisite<String> {
        let values = SecretValues::read(observed, self.namespace, &self.valid()?, purpose)?;
        values.line("password").map(str::to_owned)
    }

    /// Generates the first Secret, and the one that a rotation asks for once Keystone has the password before. They are kept, so that
    /// nothing that is read too late can lock anybody out.
    pub(crate) fn generate(&self, desired: &mut DesiredState) {
        let newest = self.secrets.newest();
        let generated = Generated::credentials(self.user);
        if newest == 1 {
            desired.generate(self.namespace, &self.wanted(), generated.clone());
        }
        let is_applied = self.applied == Some(newest);
        if let Some(next) = self.next.filter(|next| is_applied && *next > newest) {
            self.secrets.generate(next, generated, desired);
        }
    }

    /// Returns the passwords: the one that Keystone has, and the one that it should have.
    pub(crate) fn credential_set(
        &self,
        observed: &ObservedState<'_>,
    ) -> Prerequisite<CredentialSet> {
        let numbers = self.applied.into_iter().chain([self.secrets.newest()]);
        let secret = |number| self.secrets.secret(number);
        CredentialSet::of_numbers(
            observed,
            self.namespace,
            numbers.collect(),
            self.applied,
            secret,
        )
    }
}
