//! The OpenStack services of a control plane.

use educe::Educe;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    keystone::KeystoneService,
    service::{Overrides, Service},
};
use crate::{
    cinder::{ImageVolumeCache, VolumeBackup},
    glance::{self, ImageCache},
    neutron::ZONE,
    nova,
    parts::{ApiComponent, Component, DeletedRows, Exposure, Resources, is_default},
    rule::Rule,
};

const NOVA_NEEDS: Rule = Rule::new(
    "!self.nova.enabled || (self.glance.enabled && self.placement.enabled && self.neutron.enabled)",
    "nova needs glance, placement and neutron: enable them, or disable nova",
);

/// The OpenStack services of a control plane. One that isn't mentioned runs with its defaults, but for Octavia and Manila.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-validations" = [NOVA_NEEDS]))]
pub struct ControlPlaneServices {
    /// Identity.
    pub keystone: KeystoneService,
    /// Images.
    pub glance: GlanceService,
    /// Resource inventory.
    pub placement: Service<2>,
    /// Compute.
    pub nova: NovaService,
    /// Networks.
    pub neutron: NeutronService,
    /// Volumes.
    pub cinder: CinderService,
    /// Load balancers. No operator here runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octavia: Option<OtherService>,
    /// Shared file systems. No operator here runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manila: Option<OtherService>,
}

impl ControlPlaneServices {
    /// Each service by its name: whether it runs, and what may be said of any.
    pub fn each_mut(&mut self) -> [(&'static str, &mut bool, &mut Overrides); 6] {
        let (keystone, glance) = (&mut self.keystone.service, &mut self.glance.service);
        let (placement, nova) = (&mut self.placement, &mut self.nova);
        let (neutron, cinder) = (&mut self.neutron, &mut self.cinder);
        [
            ("keystone", &mut keystone.enabled, &mut keystone.overrides),
            ("glance", &mut glance.enabled, &mut glance.overrides),
            (
                "placement",
                &mut placement.enabled,
                &mut placement.overrides,
            ),
            ("nova", &mut nova.enabled, &mut nova.overrides),
            ("neutron", &mut neutron.enabled, &mut neutron.overrides),
            ("cinder", &mut cinder.enabled, &mut cinder.overrides),
        ]
    }

    /// Each component that isn't optional: its most replicas, and what each requests.
    pub fn components(&self) -> Vec<(u32, &Resources)> {
        let Self {
            keystone,
            glance,
            placement,
            nova,
            neutron,
            cinder,
            octavia: _,
            manila: _,
        } = self;
        fn api<const N: u32>(api: &ApiComponent<N>) -> (u32, &Resources) {
            let most = api.autoscaling.as_ref().map(|most| most.max_replicas);
            (most.unwrap_or(api.replicas), &api.resources)
        }
        let mut components = vec![
            api(&keystone.service.api),
            api(&glance.service.api),
            api(&placement.api),
            api(&nova.api),
            (nova.scheduler.replicas, &nova.scheduler.resources),
            (nova.conductor.replicas, &nova.conductor.resources),
            api(&neutron.api),
            api(&cinder.api),
            (cinder.scheduler.replicas, &cinder.scheduler.resources),
        ];
        let volume = cinder.volume.iter();
        components.extend(volume.map(|volume| (volume.replicas, &volume.resources)));
        components
    }

    /// What is said of a service by its name, for instance `glance`.
    pub fn overrides(&self, service: &str) -> Option<&Overrides> {
        match service {
            "keystone" => Some(&self.keystone.service.overrides),
            "glance" => Some(&self.glance.service.overrides),
            "placement" => Some(&self.placement.overrides),
            "nova" => Some(&self.nova.overrides),
            "neutron" => Some(&self.neutron.overrides),
            "cinder" => Some(&self.cinder.overrides),
            _ => None,
        }
    }
}

/// Glance in a control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GlanceService {
    /// What is said of any service.
    #[serde(flatten)]
    pub service: Service<2>,
    /// Images that each replica keeps by itself, so that it needn't fetch them from their store again. Without it none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<ImageCache>,
    /// What becomes of rows that Glance has marked as deleted. Without it as Glance's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_rows: Option<glance::DeletedRows>,
}

/// Nova in a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct NovaService {
    /// Whether the service runs.
    #[educe(Default = true)]
    pub enabled: bool,
    /// The API.
    pub api: ApiComponent<3>,
    /// What chooses a host for each server.
    pub scheduler: Component<2>,
    /// What speaks to the database for the hosts.
    pub conductor: Component<2>,
    /// What tells servers who they are. Without it as Nova's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ApiComponent<2>>,
    /// What shows the screens of servers. Without it as Nova's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_vnc_proxy: Option<Component<1>>,
    /// How browsers reach the consoles of servers. Without it only from within the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consoles: Option<Exposure>,
    /// What becomes of rows that Nova has marked as deleted. Without it as Nova's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_rows: Option<nova::DeletedRows>,
    /// What else may be said of any service.
    #[serde(flatten)]
    pub overrides: Overrides,
}

/// Neutron in a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct NeutronService {
    /// Whether the service runs.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Availability zones of networks and routers whose users name none. Each is that of a hypervisor pool, or else Neutron creates
    /// neither.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(
        length(max = 16),
        inner(length(min = 1, max = 255), regex(pattern = ZONE))
    )]
    pub default_availability_zones: Vec<String>,
    /// The API.
    pub api: ApiComponent<3>,
    /// The periodic tasks of Neutron's plugins. Without it as Neutron's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periodic_workers: Option<Component<1>>,
    /// The comparison of Neutron's database with OVN's. One replica works; the others stand by. Without it as Neutron's own resource has
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ovn_maintenance_worker: Option<Component<1>>,
    /// What else may be said of any service.
    #[serde(flatten)]
    pub overrides: Overrides,
}

/// Cinder in a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CinderService {
    /// Whether the service runs.
    #[educe(Default = true)]
    pub enabled: bool,
    /// The API.
    pub api: ApiComponent<2>,
    /// What chooses a backend for each volume.
    pub scheduler: Component<2>,
    /// What works on the volumes of a backend. Without it as Cinder's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Component<1>>,
    /// Backups of volumes. Without it, none can be created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<VolumeBackup>,
    /// Volumes that each backend keeps as copies of images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_volume_cache: Option<ImageVolumeCache>,
    /// What becomes of rows that Cinder has marked as deleted. Without it as Cinder's own resource has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_rows: Option<DeletedRows>,
    /// What else may be said of any service.
    #[serde(flatten)]
    pub overrides: Overrides,
}

/// A service that no operator here runs. The wish is kept, for whoever does.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(default)]
pub struct OtherService {
    /// Whether the service is wanted.
    #[educe(Default = true)]
    pub enabled: bool,
    /// Replicas of the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub replicas: Option<u32>,
}
