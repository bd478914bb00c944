//! RabbitMQ, by its cluster operator.

use std::collections::BTreeMap;

use provider_composer::Composition;

use super::{RABBITMQ, bounds, placement, requirements};
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
            resources: requirements(&wanted.resources)
                // RabbitMQ measures its high-water mark against the limit.
                .unwrap_or_else(|| bounds("500m", "2", "2Gi", "2Gi")),
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
