//! Glance: images.

use std::iter;

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::{Column, Kind, SERVICE_COLUMNS},
    list,
    parts::{
        self, ApiComponent, Bucket, Common, Database, KeystoneAccess, Rbd, ServiceStatus, Size,
        Volume, is_default,
    },
    pattern::LABEL,
    rule::Rule,
};

const DESCRIBED: Rule = Rule::new(
    "(self.backend != 'rbd' || has(self.rbd)) && (self.backend != 's3' || has(self.s3))",
    "the backend isn't described: give rbd where backend is rbd, or s3 where it is s3",
);

const ONE_BACKEND: Rule = Rule::new(
    "(self.backend == 'rbd' || !has(self.rbd)) && (self.backend == 'file' || !has(self.file)) && \
     (self.backend == 's3' || !has(self.s3))",
    "a backend is described that isn't the one in backend: name it there, or leave the description out",
);

const NAME_IS_FREE: Rule = Rule::new(
    "!(self.name in ['rbd', 'file', 's3'])",
    "the store of storage itself may be called rbd, file or s3: give this one another name",
);

const IMAGES_LAST: Rule = Rule::new(
    "!has(self.purgeAfterDays) || !has(self.purgeImagesAfterDays) || self.purgeImagesAfterDays >= self.purgeAfterDays",
    "purgeImagesAfterDays is less than purgeAfterDays: rows of images are purged after the rows that refer to them",
);

/// The wanted Glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GlanceSpec {
    /// The API.
    #[serde(flatten)]
    pub api: ApiComponent<2>,
    /// Where Glance keeps what it knows of images.
    #[serde(default, skip_serializing_if = "is_default")]
    pub database: Database,
    /// How Glance authenticates to Keystone.
    #[serde(default)]
    pub keystone: KeystoneAccess,
    /// Where the images themselves are.
    pub storage: ImageStorage,
    /// Images that each replica keeps by itself, so that it needn't fetch them from their store again. Without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<ImageCache>,
    /// What becomes of rows that Glance has marked as deleted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deleted_rows: DeletedRows,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

/// What becomes of rows that Glance has marked as deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-validations" = [IMAGES_LAST]))]
pub struct DeletedRows {
    /// When they are purged.
    #[serde(flatten)]
    pub rows: parts::DeletedRows,
    /// Days from deletion until the row of an image is purged. From then on, any user may create an image with its ID. Without it, rows of
    /// images stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3650))]
    pub purge_images_after_days: Option<u16>,
}

/// Images that a replica keeps on its node, for as long as its pod is there.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct ImageCache {
    /// How much is kept; what wasn't asked for longest goes first. Until it is gone there may be twice as much on the node,
    /// and a pod that has even more is put out: give more than a few of the largest images have together.
    #[educe(Default = Size::gibibytes(10))]
    pub size: Size,
}

/// Where images are: in a store, which is called as its backend is, and in additional ones where a user asks for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [DESCRIBED, ONE_BACKEND]))]
pub struct ImageStorage {
    /// The store of images for which none is asked.
    #[serde(flatten)]
    pub store: ImageStore,
    /// Stores besides it. Take one away only when no image is in it any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), transform = list::by_name)]
    pub additional: Vec<AdditionalStore>,
}

impl ImageStorage {
    /// What all stores keep images in, beginning with the usual one.
    pub fn stores(&self) -> impl Iterator<Item = &ImageStore> {
        let additional = self.additional.iter().map(|additional| &additional.store);
        iter::once(&self.store).chain(additional)
    }
}

/// A store besides the usual one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [DESCRIBED, ONE_BACKEND, NAME_IS_FREE]))]
pub struct AdditionalStore {
    /// What users ask for it by. Glance writes it down with each image there: under another name they aren't found.
    #[schemars(length(min = 1, max = 32), regex(pattern = LABEL))]
    pub name: String,
    /// What users are told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[^\x00-\x1f\x7f]+$"))]
    pub description: Option<String>,
    /// What its images are kept in.
    #[serde(flatten)]
    pub store: ImageStore,
}

/// What the images of a store are kept in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageStore {
    /// What images are kept in.
    #[serde(default)]
    pub backend: ImageBackend,
    /// The pool in Ceph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rbd: Option<Rbd>,
    /// The volume, which all replicas must be able to write to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Volume<20>>,
    /// The bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<Bucket>,
}

/// What images are kept in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageBackend {
    /// Ceph.
    #[default]
    Rbd,
    /// A volume.
    File,
    /// An object store that speaks S3.
    S3,
}

impl Kind for GlanceSpec {
    type Status = ServiceStatus;
    const DESCRIPTION: &'static str = "Glance, the image service.";
    const GROUP: &'static str = "glance.openstack.c5c3.io";
    const KIND: &'static str = "Glance";
    const PLURAL: &'static str = "glances";
    const SHORT_NAME: &'static str = "gln";
    const COLUMNS: &'static [Column] = SERVICE_COLUMNS;
    const MAX_NAME_LENGTH: u8 = 40;
}

impl CustomResource for GlanceSpec {}
