//! Glance: images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::Column,
    parts::{
        Autoscaling, Common, Database, KeystoneAccess, NamedRef, Rbd, Resources, ServiceStatus,
        Volume, is_default, keystone_access::URL,
    },
    rule::Rule,
};

const STORE_IS_GIVEN: Rule = Rule::new(
    "(self.backend != 'rbd' || has(self.rbd)) && (self.backend != 's3' || has(self.s3))",
    "storage.backend isn't described: give storage.rbd with rbd, or storage.s3 with s3",
);

const ONE_STORE: Rule = Rule::new(
    "(self.backend == 'rbd' || !has(self.rbd)) && (self.backend == 'file' || !has(self.file)) && \
     (self.backend == 's3' || !has(self.s3))",
    "storage describes a backend that isn't storage.backend: name it there, or leave the description out",
);

/// The wanted Glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GlanceSpec {
    /// Replicas of the API.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: u32,
    /// More replicas when there is much to do. Without it as many as `replicas` says, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// CPU and memory of each replica.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// Where Glance keeps what it knows of images.
    #[serde(default, skip_serializing_if = "is_default")]
    pub database: Database,
    /// How Glance authenticates to Keystone.
    #[serde(default)]
    pub keystone: KeystoneAccess,
    /// Where the images themselves are.
    pub storage: ImageStorage,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

fn default_replicas() -> u32 {
    2
}

/// Where images are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [STORE_IS_GIVEN, ONE_STORE]))]
pub struct ImageStorage {
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

/// A bucket of an object store that speaks S3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bucket {
    /// URL of the object store.
    #[schemars(length(max = 512), regex(pattern = URL))]
    pub endpoint: String,
    /// Name of the bucket.
    #[schemars(
        length(min = 3, max = 63),
        regex(pattern = r"^[a-z0-9][-.a-z0-9]*[a-z0-9]$")
    )]
    pub bucket: String,
    /// Secret with `accessKey` and `secretKey`, in the same namespace.
    pub secret_ref: NamedRef,
}

impl CustomResource for GlanceSpec {
    type Status = ServiceStatus;
    const DESCRIPTION: &'static str = "Glance, the image service.";
    const GROUP: &'static str = "glance.openstack.c5c3.io";
    const KIND: &'static str = "Glance";
    const PLURAL: &'static str = "glances";
    const SHORT_NAME: &'static str = "gln";
    const COLUMNS: &'static [Column] = &[
        Column::new("Endpoint", "string", ".status.endpoint"),
        Column::wide("Release", "string", ".status.release"),
    ];
    const MAX_NAME_LENGTH: u8 = 40;
}
