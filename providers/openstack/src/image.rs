//! The image of a service, and its release.

use c5c3_api::parts::{Common, Image};
use provider_composer::{Failure, Reason};

use crate::registry::{ServiceDefinition, TEMPEST};
use crate::release::Release;

/// Returns the release of a service, from its resource or its image's tag.
///
/// # Errors
/// Neither has a release, they differ, or the release is unknown.
pub fn release(service: &ServiceDefinition, common: &Common) -> Result<Release, Failure> {
    let tagged = match (&common.image.tag, &common.image.digest) {
        // Tempest's versions aren't bound to the releases of others.
        (Some(tag), None) if service.name != TEMPEST.name || common.release.is_none() => {
            Release::of_tag(&service.tags, tag)
        }
        _ => None,
    };
    let release = match (&common.release, tagged) {
        (Some(wanted), tagged) => {
            let wanted: Release = wanted.parse().map_err(|_| {
                let message = format!(
                    "release {wanted:?} is not an OpenStack release: write for instance 2025.2"
                );
                Failure::new(Reason::Invalid, message)
            })?;
            if let Some(tagged) = tagged.filter(|tagged| *tagged != wanted) {
                let message = format!(
                    "release is {wanted}, and image.tag {} is of {tagged}: change one of them, or leave release out",
                    common.image.tag.as_deref().unwrap_or_default()
                );
                return Err(Failure::new(Reason::ReleaseMismatch, message));
            }
            wanted
        }
        (None, Some(tagged)) => tagged,
        (None, None) => {
            let message = format!(
                "{} say which OpenStack release it is: give release, for instance 2025.2",
                unsaid(&common.image)
            );
            return Err(Failure::new(Reason::ReleaseUnknown, message));
        }
    };
    Release::tags(&release.to_string()).map(|tags| tags.release)
}

fn unsaid(image: &Image) -> String {
    match (&image.tag, &image.digest) {
        (Some(tag), None) => format!("the image's tag {tag} doesn't"),
        (_, Some(_)) => "the image's digest doesn't".to_owned(),
        (None, None) => "neither release nor image.tag".to_owned(),
    }
}

/// Returns the reference of the image, by default of the release.
///
/// # Errors
/// The release is unknown.
pub fn reference(
    service: &ServiceDefinition,
    release: Release,
    image: &Image,
) -> Result<String, Failure> {
    let tags = Release::tags(&release.to_string())?;
    Ok(tags.of_service(service).unless_given(image))
}
