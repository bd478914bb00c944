//! Images of servers, which K-ORC downloads, checks and uploads to Glance. None is ever deleted there: servers may be of it.
//!
//! An image has its checksum as a tag, and how K-ORC reads the file as another one, so that K-ORC takes over only an image with the same
//! content: one that left the spec and returns as it was, and neither a corrected one nor one of a user that is called the same.

use c5c3_api::control_plane::ServerImage;
use c5c3_kinds::korc::{
    Image, ImageContent, ImageDownload, ImageHash, ImageProperties, Made, Managed,
};
use provider_composer::{DesiredState, Key, Progress, Reason};
use serde_json::Value;

use super::first_unready;
use super::korc::{Korc, waiting};
use crate::Recipe;

/// The condition about images. Ready doesn't wait for it: downloads take long, and depend on servers of others.
const CONDITION: &str = "ImagesReady";
/// Where an object has the URL.
const URL: &str = "/spec/resource/content/download/url";

/// Composes images. `may_create` is whether Glance is ready for new ones; none where Glance or K-ORC is disabled.
pub(super) fn compose(recipe: &Recipe<'_>, may_create: Option<bool>, desired: &mut DesiredState) {
    let images = &recipe.spec().bootstrap.images;
    let progress = match may_create {
        Some(may_create) => {
            let owned = recipe.composed([Image::KIND]).ok();
            let mut korc = Korc::new(recipe, desired);
            let all = images
                .iter()
                .map(|image| one(&mut korc, image, owned.as_deref(), may_create));
            first_unready(all)
        }
        None => Progress::failed(
            Reason::Unsupported,
            "images need Glance and K-ORC: set services.glance.enabled and korc.enabled to true, or remove bootstrap.images",
        ),
    };
    if !images.is_empty() {
        desired.conditions.note(CONDITION, &progress);
    }
}

/// Composes one image. K-ORC's API refuses another content of an object, so that a URL is corrected by a new object, as long as nothing is
/// downloaded, and another content needs another name.
fn one(
    korc: &mut Korc<'_>,
    image: &ServerImage,
    owned: Option<&[Key]>,
    may_create: bool,
) -> Progress {
    let cloud = korc.services();
    let body = |url: &str| Made::new(&cloud, resource(image, url)).detached();
    let name = image.name.as_str();
    let key = Key::of::<Made<Image>>(korc.recipe.namespace(), name);
    let is_owned = owned.is_none_or(|owned| owned.contains(&key));
    let object = korc.observed.object(&key).found();
    let Some(object) = object.filter(|_| is_owned) else {
        let wanted = korc.want(name, &body(image.url.as_str()), may_create);
        return wanted.progress;
    };
    if !has_content(&object, image) {
        let message = format!(
            "image {name} exists with another checksum, format, compression, or smallest disk or memory, which can't be changed: give \
             the new one another name; or, if nothing uses the image in Glance, delete it there and then {key}"
        );
        korc.desired.keep(key);
        return Progress::failed(Reason::NameTaken, message);
    }
    let url = object.pointer(URL).and_then(Value::as_str);
    let url = url.unwrap_or_default();
    if url != image.url.as_str() && korc.id::<Made<Image>>(name).is_none() {
        return waiting(&key, "it is created again with its new URL");
    }
    korc.want(name, &body(url), may_create).progress
}

/// Whether an object is of the image, wherever it comes from.
fn has_content(object: &Value, image: &ServerImage) -> bool {
    let at = |path: &str| object.pointer(&format!("/spec/resource/{path}"));
    let text = |path| at(path).and_then(Value::as_str).unwrap_or_default();
    let number = |path| at(path).and_then(Value::as_u64).unwrap_or_default();
    text("content/download/hash/value") == image.checksum.value()
        && text("content/download/decompress") == image.compression.name().unwrap_or_default()
        && text("content/diskFormat") == image.disk_format.name()
        && number("properties/minDiskGB") == u64::from(image.min_disk)
        && number("properties/minMemoryMB") == u64::from(image.min_ram)
}

/// How K-ORC reads the file, and what servers need: what it can't change of an image.
fn form(image: &ServerImage) -> String {
    format!(
        "format:{}:{}:{}GB:{}MB",
        image.disk_format.name(),
        image.compression.name().unwrap_or("none"),
        image.min_disk,
        image.min_ram
    )
}

fn resource(image: &ServerImage, url: &str) -> Image {
    let at_least = |amount: u32| (amount > 0).then_some(amount);
    Image {
        visibility: "public",
        tags: vec![image.checksum.to_string(), form(image)],
        properties: ImageProperties {
            min_disk: at_least(image.min_disk),
            min_ram: at_least(image.min_ram),
        },
        content: ImageContent {
            disk_format: image.disk_format.name(),
            download: ImageDownload {
                url: url.to_owned(),
                decompress: image.compression.name(),
                hash: ImageHash {
                    algorithm: image.checksum.algorithm(),
                    value: image.checksum.value().to_owned(),
                },
            },
        },
    }
}
