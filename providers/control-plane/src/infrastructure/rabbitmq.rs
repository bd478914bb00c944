//! RabbitMQ, by its cluster operator.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::DesiredState;
use provider_openstack::manifest::cert_manager::Certificate;
use provider_openstack::manifest::rabbitmq::ClusterTls;

use super::authority::{key, manifest};
use super::{RABBITMQ, bounds, placement, requirements};
use crate::manifest::rabbitmq::{Configuration, Persistence, RabbitmqCluster, RabbitmqClusterSpec};
use crate::recipe::Recipe;

/// The Certificate, and the Secret with it.
const CERTIFICATE: &str = "openstack-rabbitmq-tls";

/// The URL that the topology operator connects to
/// (<https://www.rabbitmq.com/kubernetes/operator/using-topology-operator#non-operator>).
const OPERATOR_URI: &str = "rabbitmq.com/operator-connection-uri";

/// A minority that is cut off stops, rather than going its own way
/// (<https://www.rabbitmq.com/docs/partitions#automatic-handling>).
const PARTITIONS: &str = "cluster_partition_handling = pause_minority\n";

impl Recipe<'_> {
    /// Composes the RabbitmqCluster, and its certificate where connections are encrypted.
    pub(crate) fn rabbitmq(&self, desired: &mut DesiredState) {
        let wanted = &self.spec().infrastructure.rabbitmq;
        let global = &self.spec().global;
        let encrypted = global.tls.enabled;
        if encrypted {
            self.rabbitmq_certificate(desired);
        }
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
            tls: encrypted.then(|| ClusterTls {
                secret_name: Some(CERTIFICATE.to_owned()),
            }),
            image_pull_secrets: self.pull_secrets(),
            affinity: Some(placement::affinity(&global.topology, &labels)),
            tolerations: placement::tolerations(&global.topology),
        };
        let metadata = ObjectMeta {
            // The topology operator verifies certificates against those of its own image, and takes none from here.
            annotations: encrypted.then(|| {
                let uri = format!("http://{RABBITMQ}.{}.svc:15672", self.namespace());
                BTreeMap::from([(OPERATOR_URI.to_owned(), uri)])
            }),
            ..ObjectMeta::default()
        };
        let cluster = RabbitmqCluster { metadata, spec };
        desired.apply(self.namespace(), RABBITMQ, &cluster);
        // Its operator composes none. A second member that is evicted would stop the third, which is then a minority.
        let budget = placement::budget(ObjectMeta::default(), &labels);
        desired.apply(self.namespace(), RABBITMQ, &budget);
    }

    /// Composes RabbitMQ's certificate, unless its Secret comes from elsewhere.
    fn rabbitmq_certificate(&self, desired: &mut DesiredState) {
        let Some(issuer_ref) = self.internal_issuer() else {
            return;
        };
        let host = format!("{RABBITMQ}.{}.svc", self.namespace());
        let certificate = Certificate {
            secret_name: CERTIFICATE.to_owned(),
            dns_names: vec![format!("{host}.cluster.local"), host],
            usages: vec!["server auth".to_owned()],
            private_key: key("Always"),
            issuer_ref,
            ..Certificate::default()
        };
        desired.apply(self.namespace(), CERTIFICATE, &manifest(certificate));
    }
}
