//! Placement: the inventory of resources, and who uses them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    custom_resource::CustomResource,
    kind::{Column, Kind, SERVICE_COLUMNS},
    parts::{ApiComponent, Common, Database, KeystoneAccess, ServiceStatus, is_default},
};

/// The wanted Placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementSpec {
    /// The API.
    #[serde(flatten)]
    pub api: ApiComponent<2>,
    /// Where Placement keeps its data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub database: Database,
    /// How Placement authenticates to Keystone.
    #[serde(default)]
    pub keystone: KeystoneAccess,
    /// What every service has.
    #[serde(flatten)]
    pub common: Common,
}

impl Kind for PlacementSpec {
    type Status = ServiceStatus;
    const DESCRIPTION: &'static str = "Placement, the inventory of resources and of who uses them.";
    const GROUP: &'static str = "placement.openstack.c5c3.io";
    const KIND: &'static str = "Placement";
    const PLURAL: &'static str = "placements";
    const SHORT_NAME: &'static str = "plc";
    const COLUMNS: &'static [Column] = SERVICE_COLUMNS;
    const MAX_NAME_LENGTH: u8 = 40;
}

impl CustomResource for PlacementSpec {}
