//! RabbitMQ, by its cluster operator.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use provider_composer::Composition;

use super::{RABBITMQ, placement, requirements};
use crate::manifest::rabbitmq::{Configuration, Persistence, RabbitmqCluster, RabbitmqClusterSpec};
use crate::recipe::Recipe;

/// A minority that is cut off stops, rather than going its own way
/// (<https://www.rabbitmq.com/docs/partitions#automatic-handling>).
const PARTITIONS: &str = "cluster_partition_handling = pause_minority\n";

impl Recipe<'_> {
    /// Wants the RabbitmqCluster.
    pub(crate) fn rabbitmq(&self, composition: &mut Composition) {
        let wanted = &self.spec().infrastructure.rabbitmq;
        let global = &self.spec().global;
        let labels = BTreeMap::from([("app.kubernetes.io/name".to_owned(), RABBITMQ.to_owned())]);
        let spec = RabbitmqClusterSpec {
            replicas: wanted.replicas,
            persistence: Persistence {
                storage_class_name: wanted.storage_class.clone(),
                storage: wanted.storage_size.to_string(),
            },
            resources: requirements(&wanted.resources).unwrap_or_else(usual),
            rabbitmq: Configuration {
                additional_config: PARTITIONS.to_owned(),
            },
            image_pull_secrets: self.pull_secrets(),
            affinity: Some(placement::affinity(&global.topology, &labels)),
            tolerations: placement::tolerations(&global.topology),
        };
        composition.apply(self.namespace(), RABBITMQ, &RabbitmqCluster { spec });
    }
}

/// Memory is limited to what is asked for: RabbitMQ measures its high-water mark against the limit.
fn usual() -> ResourceRequirements {
    let quantity =
        |resource: &str, amount: &str| (resource.to_owned(), Quantity(amount.to_owned()));
    ResourceRequirements {
        requests: Some(BTreeMap::from([
            quantity("cpu", "1"),
            quantity("memory", "2Gi"),
        ])),
        limits: Some(BTreeMap::from([quantity("memory", "2Gi")])),
        ..ResourceRequirements::default()
    }
}
