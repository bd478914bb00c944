//! What tests with a Nova begin with.

use std::sync::LazyLock;

use provider_composer_testing::{Cluster, Contents};
use provider_hypervisor_pool::nova::SYSTEM;
use serde_json::json;

use super::{Nova, later};
use crate::fixture::*;

/// A cluster and its Nova, of which tests begin with copies.
pub struct Beginning(Contents, Nova);

impl Beginning {
    pub fn of(cluster: &Cluster, nova: &Nova) -> Self {
        Self(cluster.contents().clone(), nova.copied())
    }

    pub fn copied(&self) -> (Cluster, Nova) {
        let (mut cluster, nova) = (Cluster::from(self.0.clone()), self.1.copied());
        cluster.connect(SYSTEM, nova.clone());
        (cluster, nova)
    }
}

pub fn started() -> (Cluster, Nova) {
    static STARTED: LazyLock<Beginning> = LazyLock::new(|| {
        let mut cluster = cluster();
        let nova = Nova::connect(&mut cluster);
        settle(&mut cluster, "prod");
        Beginning::of(&cluster, &nova)
    });
    STARTED.copied()
}

/// A cluster whose share has both nodes in its aggregate.
pub fn in_zone_a() -> (Cluster, Nova) {
    static IN_ZONE_A: LazyLock<Beginning> = LazyLock::new(|| {
        let (mut cluster, nova) = started();
        set(&mut cluster, "prod", "availabilityZone", json!("zone-a"));
        later(&mut cluster);
        assert_eq!(condition(&cluster, "prod", "AggregateReady")[0], "True");
        Beginning::of(&cluster, &nova)
    });
    IN_ZONE_A.copied()
}
