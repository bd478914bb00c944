//! The kinds of K-ORC, openstack.k-orc.cloud/v1alpha1 as of 2.6: what is wanted of them, and what K-ORC says
//! (<https://k-orc.cloud/>). All references are names of objects in the same namespace.

use std::marker::PhantomData;

use c5c3_api::control_plane::CloudCredentialsRef;
use serde::{Deserialize, Serialize};

use crate::kind::kinds;
use crate::{Resource, ResourceKind};

/// What K-ORC makes or imports in Keystone: the fields of a resource of one kind.
pub trait Managed: Serialize {
    /// The kind.
    const KIND: ResourceKind;
}

/// Something that K-ORC looks for, by what it is called.
pub trait Imported: Managed {
    /// What it is looked for by.
    type Filter: Serialize;
}

/// An object that K-ORC makes something of.
#[derive(Clone, Serialize)]
pub struct Made<R> {
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Labelled>,
    spec: MadeSpec<R>,
}

#[derive(Clone, Serialize)]
struct Labelled {
    labels: std::collections::BTreeMap<&'static str, String>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct MadeSpec<R> {
    cloud_credentials_ref: CloudCredentialsRef,
    management_policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_options: Option<ManagedOptions>,
    resource: R,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ManagedOptions {
    on_delete: &'static str,
}

impl<R: Managed> Made<R> {
    /// K-ORC makes the resource, keeps it so, and deletes it with the object.
    pub fn new(cloud: &CloudCredentialsRef, resource: R) -> Self {
        Self {
            metadata: None,
            spec: MadeSpec {
                cloud_credentials_ref: cloud.clone(),
                management_policy: "managed",
                managed_options: None,
                resource,
            },
        }
    }

    /// The same, which stays in OpenStack when its object is deleted.
    #[must_use]
    pub fn detached(mut self) -> Self {
        self.spec.managed_options = Some(ManagedOptions {
            on_delete: "detach",
        });
        self
    }

    /// With a label to find it by.
    #[must_use]
    pub fn labelled(mut self, label: &'static str, value: &str) -> Self {
        let labels = [(label, value.to_owned())].into();
        self.metadata = Some(Labelled { labels });
        self
    }
}

impl<R: Managed> Resource for Made<R> {
    const KIND: ResourceKind = R::KIND;
}

/// An object by which K-ORC finds what is there already. It neither changes nor deletes that.
#[derive(Clone, Serialize)]
pub struct Import<R: Imported> {
    spec: ImportSpec<R::Filter>,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportSpec<F> {
    cloud_credentials_ref: CloudCredentialsRef,
    management_policy: &'static str,
    import: Filtered<F>,
}

#[derive(Clone, Serialize)]
struct Filtered<F> {
    filter: F,
}

impl<R: Imported> Import<R> {
    /// What there is exactly one of.
    pub fn of(cloud: &CloudCredentialsRef, filter: R::Filter) -> Self {
        Self {
            spec: ImportSpec {
                cloud_credentials_ref: cloud.clone(),
                management_policy: "unmanaged",
                import: Filtered { filter },
            },
        }
    }
}

impl<R: Imported> Resource for Import<R> {
    const KIND: ResourceKind = R::KIND;
}

/// What K-ORC says of an object.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "")]
pub struct Observed<R> {
    #[serde(default)]
    status: Status,
    #[serde(skip)]
    kind: PhantomData<R>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    id: Option<String>,
}

impl<R> Observed<R> {
    /// Its ID in Keystone, as soon as it has one.
    pub fn id(&self) -> Option<&str> {
        self.status.id.as_deref().filter(|id| !id.is_empty())
    }
}

impl<R: Managed> Resource for Observed<R> {
    const KIND: ResourceKind = R::KIND;
}

kinds! { Managed "openstack.k-orc.cloud" "v1alpha1":
    Domain "Domain" "domains",
    Project "Project" "projects",
    Role "Role" "roles",
    User "User" "users",
    Service "Service" "services",
    Endpoint "Endpoint" "endpoints",
    ApplicationCredential "ApplicationCredential" "applicationcredentials",
    VolumeType "VolumeType" "volumetypes",
    Flavor "Flavor" "flavors",
    Image "Image" "images",
}

/// A domain.
#[derive(Clone, Debug, Serialize)]
pub struct Domain {
    /// What it is for.
    pub description: &'static str,
}

impl Imported for Domain {
    type Filter = Named;
}

/// A project.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// What it is for.
    pub description: &'static str,
    /// The Domain.
    pub domain_ref: &'static str,
}

impl Imported for Project {
    type Filter = InDomain;
}

/// A role.
#[derive(Clone, Debug, Serialize)]
pub struct Role {}

impl Imported for Role {
    type Filter = Named;
}

/// Looked for by its name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The name in Keystone.
    pub name: &'static str,
}

/// Looked for by its name, and by its domain if that is imported.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InDomain {
    /// The name in Keystone.
    pub name: String,
    /// The Domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_ref: Option<&'static str>,
}

/// A user.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// What it is for.
    pub description: String,
    /// The Domain; without it the one that K-ORC works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_ref: Option<&'static str>,
    /// The Project that its tokens are for unless it says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_project_ref: Option<&'static str>,
    /// Secret with the key `password`. K-ORC reads it when the user is made, or when another Secret is named.
    pub password_ref: String,
}

impl Imported for User {
    type Filter = InDomain;
}

/// A service of the catalogue. It is called as its object.
#[derive(Clone, Debug, Serialize)]
pub struct Service {
    /// Its type, for instance `image`.
    #[serde(rename = "type")]
    pub type_: &'static str,
}

/// An endpoint of the catalogue. K-ORC knows no regions.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Whom it is for: `public` or `internal`.
    pub interface: &'static str,
    /// Where it is.
    pub url: String,
    /// The Service.
    pub service_ref: &'static str,
}

/// A user's application credential, with all the roles that the user has in the project of the clouds.yaml. Only the user
/// itself may make one, so the clouds.yaml has to be its own. Nothing of it can be changed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationCredential {
    /// The User.
    pub user_ref: String,
    /// Secret with the key `value`.
    pub secret_ref: String,
}

/// A type of volumes. It is called as its object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeType {
    /// What it is for.
    pub description: String,
    /// What its volumes need of a backend.
    pub extra_specs: Vec<ExtraSpec>,
    /// Whether every project may use it.
    pub is_public: bool,
}

/// What volumes of a type need of a backend.
#[derive(Clone, Debug, Serialize)]
pub struct ExtraSpec {
    /// The capability, for instance `volume_backend_name`.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// A size of servers. It is called as its object. Nothing of it can be changed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flavor {
    /// Virtual processors.
    pub vcpus: u32,
    /// Memory, in MB (2^20 bytes).
    pub ram: u32,
    /// Root disk, in GB (2^30 bytes).
    pub disk: u32,
    /// Whether every project may use it.
    pub is_public: bool,
}

/// An image of servers. It is called as its object. Of what K-ORC creates it of, nothing can be changed
/// (<https://github.com/k-orc/openstack-resource-controller/blob/v2.6.0/api/v1alpha1/image_types.go>).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Who may use it.
    pub visibility: &'static str,
    /// Its tags. K-ORC takes over an image of this name that has them, instead of creating one.
    pub tags: Vec<String>,
    /// What servers with it need.
    pub properties: ImageProperties,
    /// What is in it.
    pub content: ImageContent,
}

/// What servers with an image need. K-ORC takes no zeros.
#[derive(Clone, Debug, Serialize)]
pub struct ImageProperties {
    /// The smallest root disk, in GB (2^30 bytes).
    #[serde(rename = "minDiskGB", skip_serializing_if = "Option::is_none")]
    pub min_disk: Option<u32>,
    /// The smallest memory, in MB (2^20 bytes).
    #[serde(rename = "minMemoryMB", skip_serializing_if = "Option::is_none")]
    pub min_ram: Option<u32>,
}

/// What is in an image.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// The disk's format.
    pub disk_format: &'static str,
    /// The file.
    pub download: ImageDownload,
}

/// The file that an image is created of.
#[derive(Clone, Debug, Serialize)]
pub struct ImageDownload {
    /// Where it is.
    pub url: String,
    /// How it is compressed, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decompress: Option<&'static str>,
    /// The checksum of the file as it is downloaded. With one, K-ORC downloads it itself, and not Glance.
    pub hash: ImageHash,
}

/// The checksum of a file.
#[derive(Clone, Debug, Serialize)]
pub struct ImageHash {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The value, in hexadecimal digits.
    pub value: String,
}
