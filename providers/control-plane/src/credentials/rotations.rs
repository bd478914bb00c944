//! What the CredentialRotations of a namespace ask for.

use std::collections::BTreeSet;

use c5c3_api::credential_rotation::CredentialRotationSpec;
use provider_composer::{Custom, Live, Lookup, ObservedState};

use super::{ServiceUser, number};

/// The CredentialRotations of one user, the one that counts first.
pub(crate) struct Rotations(Vec<Live<Custom<CredentialRotationSpec>>>);

impl Rotations {
    /// Those that aren't being deleted, the eldest first, or why they aren't known.
    pub(crate) fn of(
        observed: &ObservedState<'_>,
        namespace: &str,
        user: &str,
    ) -> Result<Self, String> {
        let mut rotations = match observed.list::<Custom<CredentialRotationSpec>>(namespace, &[]) {
            Lookup::Found(rotations) => rotations,
            Lookup::Missing => Vec::new(),
            Lookup::Unknown(why) => return Err(why),
        };
        rotations.retain(|rotation| {
            rotation.body.spec.target_service_user == user
                && rotation.metadata.deletion_timestamp.is_none()
        });
        let age = |rotation: &Live<Custom<CredentialRotationSpec>>| {
            let metadata = &rotation.metadata;
            (metadata.creation_timestamp.clone(), metadata.name.clone())
        };
        rotations.sort_by_key(age);
        Ok(Self(rotations))
    }

    /// The name of the one that counts.
    pub(crate) fn eldest(&self) -> Option<&str> {
        let eldest = self.0.first()?;
        Some(&eldest.metadata.name)
    }

    /// The number of the credential that is asked for.
    pub(crate) fn next(&self, user: &ServiceUser) -> Option<u32> {
        let status = &self.0.first()?.body.status;
        number(user.name, &status.next_credential_ref.as_ref()?.name)
    }

    /// The numbers of all credentials that are spoken of as in use, or as valid still.
    pub(crate) fn named(&self, user: &ServiceUser) -> BTreeSet<u32> {
        let named = self.0.iter().flat_map(|rotation| {
            let status = &rotation.body.status;
            [
                &status.current_credential_ref,
                &status.previous_credential_ref,
            ]
        });
        named
            .flatten()
            .filter_map(|credential| number(user.name, &credential.name))
            .collect()
    }
}
