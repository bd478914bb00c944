//! ControlPlane: one OpenStack control plane, as the c5c3-operator reconciles it.

mod access;
mod backup;
mod bootstrap;
mod compute;
mod global;
mod infrastructure;
mod keystone;
mod korc;
mod max_scale;
mod options;
mod ovn;
mod quotas;
mod running;
mod server_image;
mod service;
mod services;
mod status;
mod storage;

use educe::Educe;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) use self::bootstrap::FLAVORS_STAY;
pub use self::{
    access::{Connection, TenantAccess},
    backup::{Backup, BackupBucket, BackupVolume},
    bootstrap::{
        AddressRange, Bootstrap, ExternalNetwork, ExternalSubnet, FirstNetwork, Flavor, MOST_IMAGES,
    },
    compute::{Compute, ComputeCell},
    global::{
        ControlPlaneNetwork, ControlPlaneTls, Global, HypervisorAccess, Images, SecretStore,
        SecretStoreKind, SecretStoreRef,
    },
    infrastructure::{
        ExternalBus, ExternalCache, ExternalDatabase, Infrastructure, Mariadb, Memcached, Rabbitmq,
        Valkey,
    },
    keystone::{KeystoneService, RotationInterval, ServiceFernet},
    korc::{BootstrapResource, CloudCredentialsRef, Korc},
    max_scale::MaxScale,
    options::{CortexComponent, TempestComponent},
    ovn::{OvnInfrastructure, OvnMembers},
    quotas::Quotas,
    running::RunningInfrastructure,
    server_image::{
        Checksum, ChecksumError, DiskFormat, FileCompression, ImageUrl, ImageUrlError, ServerImage,
    },
    service::{Overrides, Service},
    services::{
        CinderService, ControlPlaneServices, GlanceService, NeutronService, NovaService,
        OtherService,
    },
    status::{ControlPlaneStatus, ReleaseUpdate, ServiceState, UpdatePhase, Verified},
    storage::{CephClientRef, CephPoolNames, ControlPlaneCeph, Storage},
};
pub use crate::parts::{IssuerKind, IssuerRef, Monitoring, NamedRef};
use crate::{
    custom_resource::CustomResource,
    kind::{Column, Kind},
    parts::{common::RELEASE, is_default},
    rule::{Rule, SAME_GLOBAL_TLS},
};

const ONE_NAME: Rule = Rule::new(
    "!has(self.services) || !has(self.openstack)",
    "openstack is another name of services: give one or the other",
);

/// What a control plane consists of.
#[derive(Clone, Debug, PartialEq, Eq, Educe, Serialize, Deserialize, JsonSchema)]
#[educe(Default)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = with_alias)]
pub struct ControlPlaneSpec {
    /// OpenStack release by its date, for instance 2025.2.
    #[educe(Default = "2025.2")]
    #[schemars(length(max = 16), regex(pattern = RELEASE))]
    pub open_stack_release: String,
    /// The hypervisor pools whose leased nodes run this control plane's agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute: Option<Compute>,
    /// The storage pools, and what was created in them for this control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Databases, message bus and caches.
    pub infrastructure: Infrastructure,
    /// Backups of the databases in the MariaDB that is created for the control plane. Without it there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    /// The OpenStack services. Without it all that have an operator here. It may be called openstack too.
    #[serde(alias = "openstack", skip_serializing_if = "Option::is_none")]
    pub services: Option<ControlPlaneServices>,
    /// Cortex, the scheduler that places workloads across services. Without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cortex: Option<CortexComponent>,
    /// Tempest, which tests the control plane again and again. Without it there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tempest: Option<TempestComponent>,
    /// The service catalogue, which K-ORC fills. Without it as if it were there and empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub korc: Option<Korc>,
    /// The store of External Secrets that credentials come from and go to. Without it the operator keeps them in Secrets
    /// of the control plane's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_store_ref: Option<SecretStore>,
    /// Creates a first user for the tenant, and a Secret with its clouds.yaml. Without it there is none. It can't be removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<TenantAccess>,
    /// What its users find on the first day: flavors, images and networks.
    #[serde(skip_serializing_if = "is_default")]
    pub bootstrap: Bootstrap,
    /// Settings that hold for every service.
    pub global: Global,
}

impl ControlPlaneSpec {
    /// The OpenStack services, by whichever name they are called.
    pub fn services(&self) -> ControlPlaneServices {
        self.services.clone().unwrap_or_default()
    }

    /// The service catalogue.
    pub fn korc(&self) -> Korc {
        self.korc.clone().unwrap_or_default()
    }
}

/// Documents of the first hour say `openstack` where others say `services`.
fn with_alias(schema: &mut Schema) {
    let rules = json!([ONE_NAME, access::ACCESS_STAYS, SAME_GLOBAL_TLS]);
    schema.insert("x-kubernetes-validations".to_owned(), rules);
    if let Some(properties) = schema
        .get_mut("properties")
        .and_then(|value| value.as_object_mut())
        && let Some(mut services) = properties.get("services").cloned()
    {
        services["description"] = json!("Another name of services: give one or the other.");
        properties.insert("openstack".to_owned(), services);
    }
}

impl Kind for ControlPlaneSpec {
    type Status = ControlPlaneStatus;
    const DESCRIPTION: &'static str = "One OpenStack control plane.";
    const GROUP: &'static str = "c5c3.io";
    const KIND: &'static str = "ControlPlane";
    const PLURAL: &'static str = "controlplanes";
    const SHORT_NAME: &'static str = "cp";
    const COLUMNS: &'static [Column] = &[
        Column::new("Phase", "string", ".status.updatePhase"),
        Column::new("Release", "string", ".status.release"),
        Column::wide("Keystone", "string", ".status.endpoints.keystone"),
    ];
}

impl CustomResource for ControlPlaneSpec {}
