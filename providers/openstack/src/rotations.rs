//! What the CredentialRotations of a namespace ask for.

use c5c3_api::credential_rotation::{CredentialRotationSpec, RotationType};
use provider_composer::{Custom, Live, ObservedState};

/// The name of a credential of a user, by its number.
pub fn numbered(user: &str, number: u32) -> String {
    format!("{user}-{number}")
}

/// The number of the credential of a user that has this name.
pub fn number(user: &str, name: &str) -> Option<u32> {
    let number: u32 = name.strip_prefix(user)?.strip_prefix('-')?.parse().ok()?;
    (numbered(user, number) == name).then_some(number)
}

/// The CredentialRotations of one user and type, the oldest first.
pub struct Rotations {
    user: String,
    all: Vec<Live<Custom<CredentialRotationSpec>>>,
}

impl Rotations {
    /// Returns those that aren't being deleted.
    ///
    /// # Errors
    /// They can't be read; the message says why.
    pub fn of(
        observed: &ObservedState<'_>,
        namespace: &str,
        user: &str,
        type_: RotationType,
    ) -> Result<Self, String> {
        let all = observed.list::<Custom<CredentialRotationSpec>>(namespace, &[]);
        let mut all = all.known()?.unwrap_or_default();
        all.retain(|rotation| {
            let spec = &rotation.body.spec;
            spec.target_service_user == user
                && spec.rotation_type == type_
                && rotation.metadata.deletion_timestamp.is_none()
        });
        let age = |rotation: &Live<Custom<CredentialRotationSpec>>| {
            let metadata = &rotation.metadata;
            (metadata.creation_timestamp.clone(), metadata.name.clone())
        };
        all.sort_by_key(age);
        let user = user.to_owned();
        Ok(Self { user, all })
    }

    /// The name of the one that counts.
    pub fn eldest(&self) -> Option<&str> {
        let eldest = self.all.first()?;
        Some(&eldest.metadata.name)
    }

    /// The number of the credential that is asked for.
    pub fn next(&self) -> Option<u32> {
        let status = &self.all.first()?.body.status;
        number(&self.user, &status.next_credential_ref.as_ref()?.name)
    }

    /// The numbers of all credentials that are in use, or must still be valid.
    pub fn named(&self) -> impl Iterator<Item = u32> + '_ {
        let named = self.all.iter().flat_map(|rotation| {
            let status = &rotation.body.status;
            [
                &status.current_credential_ref,
                &status.previous_credential_ref,
            ]
        });
        named
            .flatten()
            .filter_map(|credential| number(&self.user, &credential.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_is_written() {
        assert_eq!(number("glance", "glance-12"), Some(12));
        for name in [
            "glance-012",
            "glance-",
            "glance",
            "nova-1",
            "glance-1-2",
            "glance-+1",
        ] {
            assert_eq!(number("glance", name), None, "{name}");
        }
    }
}
