//! What a platform team decides, in the Composition's function input: sizes, and the site's settings.
//!
//! An input is data of the Composition, so another size or another Gardener project needs no other binary. Fields that
//! aren't known are refused, so a typo is an error that names the field.

mod bootstrap;
mod clusters;
mod definition;
mod fields;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use c5c3_api::control_plane::{
    Backup, ControlPlaneServices, HypervisorAccess, Images, Infrastructure, SecretStoreRef,
};
use c5c3_api::openstack_cluster::Size;
use c5c3_api::parts::{Gateway, Ingress, Quantity, RequestTimeout, Volume, name_of};
use educe::Educe;
use function_protocol::{Fatal, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::composite::TypeMeta;

pub use bootstrap::{BootstrapPreset, ExternalNetworkPreset, SizeBootstrap};
pub use clusters::{AccessPreset, CephPreset, ClusterPresets, GardenerPreset, SystemMachines};
pub use definition::definitions;
pub use fields::Fields;
use fields::UnknownField;

/// Input of the OpenStackCluster recipe, `kind: OpenStackPresets`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackPresets {
    /// `c5c3.io/v1alpha1`.
    pub api_version: String,
    /// `OpenStackPresets`.
    pub kind: String,
    /// Namespace of pools that a claim names without one.
    #[serde(default = "pool_namespace")]
    pub pool_namespace: String,
    /// The site's name, which begins every path in the secret store; sites that share a store need names of their own.
    #[serde(default = "site")]
    pub site: String,
    /// Release for claims that name none.
    pub open_stack_release: String,
    /// ClusterIssuer for claims that name none.
    pub issuer: Option<String>,
    /// Whether ServiceMonitors are created.
    #[serde(default)]
    pub monitoring: bool,
    /// Whether they are also created for programs that aren't APIs, such as Nova's conductors, and for each of RabbitMQ's queues. It implies
    /// `monitoring`.
    #[serde(default)]
    pub process_metrics: bool,
    /// Backups of the databases of every control plane. Without it there are none.
    pub backup: Option<Backup>,
    /// Where the container images of every control plane come from. Without it from where they are published.
    #[serde(default)]
    pub images: Images,
    /// Store that secrets travel through, of this name in control plane, hypervisor and storage clusters.
    pub secret_store: SecretStoreRef,
    /// Load balancers at which hypervisors reach control planes. Without it no claim's agents can connect.
    pub hypervisor_access: Option<HypervisorAccess>,
    /// How clients outside reach the APIs of control planes. Without it only pods of the control plane cluster do.
    pub exposure: Option<ExposurePreset>,
    /// How tenants get the clouds.yaml of their control planes. Without it none gets one.
    pub tenant_access: Option<TenantAccessPreset>,
    /// What tenants find on the first day.
    #[serde(default)]
    pub bootstrap: BootstrapPreset,
    /// Which tests Tempest runs for claims with `verify`.
    #[serde(default)]
    pub tempest: TempestPreset,
    /// What each size means.
    pub sizes: BTreeMap<Size, SizePreset>,
}

/// How clients outside reach the APIs of control planes: by a Gateway or by Ingresses.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExposurePreset {
    /// The site's domain. An API is at `<service>.<claim>.<domain>`. `{controlPlaneCluster}` in it stands for the control plane
    /// cluster, which a site with several needs: claims in two of them may have one name.
    pub domain: String,
    /// How the host names are formed, by default `<service>.<claim>.<domain>`.
    #[serde(default)]
    pub host_names: HostNames,
    /// The Gateway that HTTPRoutes are attached to.
    pub gateway: Option<Gateway>,
    /// What the Ingresses say.
    pub ingress: Option<Ingress>,
    /// How long requests may take at the Gateway, by default any time. It has no effect on Ingresses.
    pub request_timeout: Option<RequestTimeout>,
}

/// How the host name of an API is formed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub enum HostNames {
    /// `<service>.<claim>.<domain>`. Each claim needs a certificate of its own.
    #[default]
    Nested,
    /// `<service>-<claim>.<domain>`. A certificate for `*.<domain>` is for all claims: a wildcard stands for one label
    /// (<https://www.rfc-editor.org/rfc/rfc9525#section-6.3>).
    Flat,
}

impl HostNames {
    /// The host name of a service's API, or of the consoles of a cell's servers. Neither services nor cells have a dash in their names, so
    /// that no two are alike.
    pub fn of(self, service: &str, claim: &str, domain: &str) -> String {
        match self {
            Self::Nested => format!("{service}.{claim}.{domain}"),
            Self::Flat => format!("{service}-{claim}.{domain}"),
        }
    }
}

/// How tenants get the clouds.yaml of their control planes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantAccessPreset {
    /// Store of the management cluster from which it comes, whose role reads paths of tenants alone.
    pub secret_store: SecretStoreRef,
    /// The provider configuration that reaches the management cluster itself.
    #[serde(default = "management")]
    pub provider_config: String,
    /// Whether a claim gets an administrator of its cloud if it asks for one.
    #[serde(default)]
    pub allow_admin: bool,
}

/// Which tests Tempest runs for claims with `verify`.
#[derive(Clone, Debug, Educe, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct TempestPreset {
    /// Tests that are run, as a regular expression of Python's.
    #[educe(Default = "smoke")]
    pub include_regex: String,
    /// Tests that aren't run, for instance those that can't pass at this site.
    pub exclude_regex: Option<String>,
    /// A volume in each claim's namespace for the logs of the last ten runs. Without it a log is lost with its pod.
    pub logs: Option<Volume<1>>,
}

fn site() -> String {
    "openstack".to_owned()
}

/// What one size of a control plane means.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SizePreset {
    /// Databases, message bus and caches.
    pub infrastructure: Infrastructure,
    /// Replicas and resources of the services.
    pub services: ControlPlaneServices,
    /// Replicas of Cortex, where it is enabled.
    pub cortex: Option<CortexPreset>,
    /// Tests that Tempest runs at once, where the claim has `verify`.
    pub tempest: Option<TempestSize>,
    /// What tenants find on the first day, where it isn't all that the site has.
    #[serde(default)]
    pub bootstrap: SizeBootstrap,
    /// The part of every hypervisor pool.
    pub share: SharePreset,
    /// The most cells beside `cell1` that a claim may have, by default any number. Cells that exist stay.
    pub max_cells: Option<u32>,
    /// The most that a claim may store in each storage pool.
    #[serde(default)]
    pub storage: StorageLimits,
    /// What the namespace's ResourceQuota allows, by resource, where it isn't what follows from the fields above.
    #[serde(default)]
    pub quota: BTreeMap<String, Quantity>,
}

/// The most that a claim may store in each storage pool, in GB (10^9 bytes), by purpose. What isn't given has no limit.
#[derive(Clone, Debug, Educe, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageLimits {
    /// Of volumes; 0 is no limit. A claim's own quota counts where it is lower.
    #[serde(rename = "volumesGB")]
    pub volumes: Option<u64>,
    /// Of images; 0 is no limit.
    #[serde(rename = "imagesGB")]
    pub images: Option<u64>,
    /// Of ephemeral disks; 0 is no limit.
    #[serde(rename = "ephemeralGB")]
    pub ephemeral: Option<u64>,
    /// Of backups of volumes, by default as of volumes; with 0 no further claim may have any. A claim's own quota counts where it is lower.
    #[serde(rename = "backupsGB")]
    pub backups: Option<u64>,
    /// Whether a claim may have a filesystem, which has no limit. Existing ones are kept.
    #[educe(Default = true)]
    pub filesystem: bool,
    /// Whether a claim may have an object store, which has no limit. Existing ones are kept.
    #[educe(Default = true)]
    pub object_store: bool,
}

/// Cortex of one size.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct CortexPreset {
    /// Replicas.
    pub replicas: u32,
}

/// Tempest of one size.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct TempestSize {
    /// Tests that run at once.
    pub concurrency: u32,
}

/// The part of a hypervisor pool that a size gets.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharePreset {
    /// Against the weights of other shares.
    pub weight: u32,
    /// Nodes it gets before weights count.
    #[serde(default)]
    pub min_hosts: u32,
    /// Nodes it never exceeds.
    pub max_hosts: Option<u32>,
    /// The most that a claim may ask for instead.
    #[serde(default)]
    pub limits: ShareLimits,
}

/// The most of a hypervisor pool that a claim may ask for. What isn't given is what the size gets.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShareLimits {
    /// The highest weight.
    pub weight: Option<u32>,
    /// The highest number of nodes before weights count.
    pub min_hosts: Option<u32>,
    /// The highest number of nodes.
    pub max_hosts: Option<u32>,
}

fn pool_namespace() -> String {
    "infrastructure".to_owned()
}

fn management() -> String {
    "management".to_owned()
}

/// An input that knows what it is called.
pub trait Input: DeserializeOwned + JsonSchema {
    /// Its kind.
    const KIND: &'static str;

    /// The fields that values of types with flattened parts may have: such types don't refuse unknown fields by themselves.
    fn fields() -> &'static Fields;

    /// Checks what its fields don't say of themselves.
    ///
    /// # Errors
    /// The platform team has to correct something; the failure says what.
    fn check(&self) -> Result<(), Fatal> {
        Ok(())
    }
}

impl Input for OpenStackPresets {
    const KIND: &'static str = "OpenStackPresets";

    fn fields() -> &'static Fields {
        static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
            let paths = ["backup.s3", "sizes.*.bootstrap.quotas", "sizes.*.services"];
            Fields::of::<OpenStackPresets>(&paths)
        });
        &FIELDS
    }

    fn check(&self) -> Result<(), Fatal> {
        self.bootstrap.check()?;
        let mut sizes = self.sizes.iter();
        sizes.try_for_each(|(size, preset)| preset.bootstrap.check(*size))
    }
}

impl Input for ClusterPresets {
    const KIND: &'static str = "ClusterPresets";

    fn fields() -> &'static Fields {
        &Fields::Any
    }
}

/// The group and version of every input.
const API_VERSION: &str = "c5c3.io/v1alpha1";

/// Reads the Composition's input.
///
/// # Errors
/// There is none, it is of another kind, or a field isn't known or isn't what it should be.
pub fn read<I: Input>(request: &Request) -> Result<I, Fatal> {
    let Some(input) = request.input::<TypeMeta<'_>>()? else {
        return Err(Fatal::new(format!(
            "the Composition gives this function no input; add one of kind {} to the pipeline step",
            I::KIND
        )));
    };
    let TypeMeta { api_version, kind } = input;
    if kind != I::KIND || api_version != API_VERSION {
        return Err(Fatal::new(format!(
            "the Composition's input is of kind {kind:?} ({api_version:?}); this composite resource wants {} \
             ({API_VERSION})",
            I::KIND
        )));
    }
    let input: I = request
        .strict_input()?
        .ok_or_else(|| Fatal::new("the Composition's input vanished"))?;
    let unknown = request.input::<UnknownField<I>>()?;
    if let Some(path) = unknown.and_then(|unknown| unknown.path) {
        return Err(Fatal::new(format!("input: {path}: unknown field")));
    }
    input.check()?;
    Ok(input)
}

impl OpenStackPresets {
    /// The preset of a size.
    ///
    /// # Errors
    /// The Composition has none.
    pub fn size(&self, size: Size) -> Result<&SizePreset, Fatal> {
        self.sizes.get(&size).ok_or_else(|| {
            let known: Vec<String> = self.sizes.keys().map(|size| name_of(*size)).collect();
            Fatal::new(format!(
                "the Composition has no preset for size {}; it has {}",
                name_of(size),
                known.join(", ")
            ))
        })
    }
}
