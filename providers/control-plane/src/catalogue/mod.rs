//! The service catalogue: what K-ORC imports and makes in Keystone.

use provider_composer::{Composition, Failure, Progress, World};

use crate::Recipe;

/// Composes the catalogue, and says how far it has come. It is called only once Keystone is ready, or what it makes is
/// there already.
///
/// # Errors
/// The user has to change something; the failure says what.
pub fn compose(
    _recipe: &Recipe<'_>,
    _world: &World<'_>,
    _composition: &mut Composition,
) -> Result<Progress, Failure> {
    Ok(Progress::Ready)
}

/// For a control plane that is being deleted, when nothing needs the catalogue any more: composes what has to stay until
/// the rest is gone, and says whether any of it remains. What can't be read remains.
///
/// # Errors
/// The user has to change something; the failure says what.
pub fn remains(
    _recipe: &Recipe<'_>,
    _world: &World<'_>,
    _composition: &mut Composition,
) -> Result<bool, Failure> {
    Ok(false)
}
