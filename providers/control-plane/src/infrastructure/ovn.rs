//! Whether backups of OVN's databases succeed, and what stays of the volumes that exist: a StatefulSet creates volumes once, and an
//! OVNCluster refuses others.

use c5c3_api::control_plane::OvnMembers;
use c5c3_api::parts::{Kept, Volume};
use provider_composer::{Conditions, Lookup};
use provider_openstack::BACKED_UP;
use serde::Deserialize;

use crate::graph::Node;
use crate::node_state::NodeState;
use crate::recipe::Recipe;

/// The volume of each member of a database.
pub(crate) type OvnVolume = Volume<10>;

impl Recipe<'_> {
    /// The number of members of one of OVN's databases: where none is given, as many as are desired of MariaDB, since both need a
    /// majority. OVN gets and loses members also where a MariaDB that runs can't.
    pub(crate) fn ovn_members(&self, database: &OvnMembers) -> u32 {
        let usual = || self.spec().infrastructure.mariadb.replicas.min(3);
        database.replicas.unwrap_or_else(usual)
    }

    /// Repeats whether backups of OVN succeed, where the control plane has any.
    pub(crate) fn report_ovn_backups(&self, conditions: &mut Conditions) {
        if self.spec().infrastructure.ovn.backup.is_none() {
            return;
        }
        if let Some(progress) = self.reported(Node::Ovn.step(), BACKED_UP) {
            conditions.note("OVNBackedUp", &progress);
        }
    }

    /// The volumes of the northbound and of the southbound database over those that exist.
    pub(super) fn ovn_volumes(
        &self,
        state: Option<&NodeState>,
    ) -> [Result<Kept<OvnVolume>, String>; 2] {
        let ovn = &self.spec().infrastructure.ovn;
        let databases = [
            ("northbound", &ovn.northbound),
            ("southbound", &ovn.southbound),
        ];
        databases.map(|(name, database)| existing(state, name, database.storage.clone()))
    }
}

/// The volume of a database's members over the one that exists.
///
/// # Errors
/// It can't be read, and must stay as it is.
fn existing(
    state: Option<&NodeState>,
    database: &str,
    desired: OvnVolume,
) -> Result<Kept<OvnVolume>, String> {
    let object = match state.map(|state| &state.object) {
        Some(Lookup::Found(object)) => object,
        Some(Lookup::Unknown(why)) => return Err(why.clone()),
        Some(Lookup::Missing) | None => return Ok(Kept::nothing(desired)),
    };
    let existing = match object.pointer(&format!("/spec/{database}/storage")) {
        Some(storage) => OvnVolume::deserialize(storage)
            .map_err(|error| format!("OVNCluster ovn: {database}.storage: {error}"))?,
        None => OvnVolume::default(),
    };
    let mut fields = Vec::new();
    if existing.size != desired.size {
        fields.push(format!(
            "storage.size: {} instead of {}",
            existing.size, desired.size
        ));
    }
    if existing.storage_class != desired.storage_class {
        let named = |volume: &OvnVolume| {
            let class = volume.storage_class.clone();
            class.unwrap_or_else(|| "the cluster's default".to_owned())
        };
        let (running, desired) = (named(&existing), named(&desired));
        fields.push(format!(
            "storage.storageClass: {running} instead of {desired}"
        ));
    }
    Ok(Kept {
        value: existing,
        fields,
    })
}
