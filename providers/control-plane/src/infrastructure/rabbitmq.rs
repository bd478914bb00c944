//! RabbitMQ, by its cluster operator.

use std::collections::BTreeMap;

use c5c3_api::parts::SecretKeyRef;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::Certificate;
use c5c3_kinds::prometheus::{Authority, Endpoint, Relabeling, ServiceMonitor, TlsConfig};
use c5c3_kinds::rabbitmq::ClusterTls;
use c5c3_kinds::rabbitmq::cluster::{
    Configuration, Override, Persistence, PodTemplateOverride, RabbitmqCluster,
    RabbitmqClusterSpec, StatefulSetOverride, StatefulSetSpecOverride,
};
use k8s_openapi::api::core::v1::{Container, PodSecurityContext, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Key, Lookup, Progress, Reason};
use provider_openstack::{apply_certificate, default_profile, selector, unescalated};

use super::{RABBITMQ, Sizes, bounds, placement, requirements};
use crate::recipe::Recipe;

/// The Certificate, and the Secret with it.
pub(super) const CERTIFICATE: &str = "openstack-rabbitmq-tls";

/// The URL that the topology operator connects to
/// (<https://www.rabbitmq.com/kubernetes/operator/using-topology-operator#non-operator>).
const OPERATOR_URI: &str = "rabbitmq.com/operator-connection-uri";

/// The ports of the Service with the metrics. Its operator opens the second one instead of the first where connections are encrypted
/// (rabbitmq/cluster-operator, internal/resource/service.go).
const METRICS: [&str; 2] = ["prometheus", "prometheus-tls"];

/// The path of the metrics of each object.
const DETAILED: &str = "/metrics/detailed";

/// Groups of metrics of queues. With 10,000 queues a member needs about a second for both
/// (rabbitmq/rabbitmq-server, deps/rabbitmq_prometheus/metrics-detailed.md).
const FAMILIES: [&str; 2] = ["queue_coarse_metrics", "queue_consumer_count"];

/// The metrics of queues that are kept.
const KEPT_METRICS: &str = "rabbitmq_detailed_queue_(consumers|messages_ready|messages_unacked)";

/// The queues whose metrics are dropped: each process has one for replies and one for each topic that is sent to all.
const DROPPED_QUEUES: &str = "reply_.*|.*_fanout_.*";

/// The label of its Service and its pods.
const NAME: &str = "app.kubernetes.io/name";

/// A minority that is cut off stops, rather than going its own way
/// (<https://www.rabbitmq.com/docs/partitions#automatic-handling>).
const PARTITIONS: &str = "cluster_partition_handling = pause_minority\n";

/// How many members each queue gets at least, as nodes allow.
const MEMBERS: u32 = 3;

/// Queues that exist get members on nodes that are added; without this they would stay where they were declared
/// (<https://www.rabbitmq.com/docs/quorum-queues#member-reconciliation>). RabbitMQ looks when a node is added and then after this time, in
/// milliseconds: by default an hour. A node knows only the settings that it started with, and its operator restarts it only once its queues
/// have members elsewhere, so the first of one node must have those of three.
fn members(replicas: u32) -> String {
    let setting = "quorum_queue.continuous_membership_reconciliation";
    let size = replicas.max(MEMBERS);
    format!(
        "{setting}.enabled = true\n{setting}.target_group_size = {size}\n{setting}.interval = 120000\n"
    )
}

/// The labels that its operator gives its Service and its pods.
fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([(NAME.to_owned(), RABBITMQ.to_owned())])
}

impl Recipe<'_> {
    /// Composes the RabbitmqCluster, and its certificate where connections are encrypted.
    pub(crate) fn rabbitmq(&self, sizes: &Sizes, desired: &mut DesiredState) {
        let global = &self.spec().global;
        let encrypted = global.tls.enabled;
        if encrypted {
            self.rabbitmq_certificate(desired);
        }
        let labels = labels();
        // Its operator composes none. A second member that is evicted would stop the third, which is then a minority.
        let budget = placement::budget(ObjectMeta::default(), &labels);
        desired.apply(self.namespace(), RABBITMQ, &budget);
        let Ok(kept) = &sizes.rabbitmq else {
            desired.keep(Key::of::<RabbitmqCluster>(self.namespace(), RABBITMQ));
            return;
        };
        let wanted = &kept.value;
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
                additional_config: format!("{PARTITIONS}{}", members(wanted.replicas)),
            },
            // A later version doesn't start without those of an earlier one
            // (<https://www.rabbitmq.com/docs/feature-flags>).
            auto_enable_all_feature_flags: true,
            tls: encrypted.then(|| ClusterTls {
                secret_name: Some(CERTIFICATE.to_owned()),
            }),
            image_pull_secrets: self.pull_secrets(),
            affinity: Some(placement::affinity(&global.topology, &labels)),
            tolerations: placement::tolerations(&global.topology),
            overridden: restricted(),
        };
        let metadata = ObjectMeta {
            // The topology operator verifies certificates against those of its own image, and takes none from here.
            annotations: encrypted.then(|| {
                let uri = format!("http://{}:15672", self.rabbitmq_host());
                BTreeMap::from([(OPERATOR_URI.to_owned(), uri)])
            }),
            ..ObjectMeta::default()
        };
        let cluster = RabbitmqCluster { metadata, spec };
        desired.apply(self.namespace(), RABBITMQ, &cluster);
    }

    /// Composes what makes Prometheus scrape RabbitMQ, if monitoring is enabled: its operator opens the port of the metrics, and leaves that
    /// to others (<https://www.rabbitmq.com/kubernetes/operator/operator-monitoring>).
    pub(crate) fn rabbitmq_monitor(&self, desired: &mut DesiredState) {
        if !self.spec().global.monitoring.enabled {
            return;
        }
        let key = Key::of::<Manifest<ServiceMonitor>>(self.namespace(), RABBITMQ);
        let endpoint = self.rabbitmq_metrics();
        let has_queues = self.spec().global.monitoring.processes;
        let queues = has_queues.then(|| queue_metrics(&endpoint));
        let monitored = match self.observed.object(&key) {
            Lookup::Unknown(why) => {
                desired.keep(key);
                let message = format!(
                    "Prometheus isn't told where RabbitMQ's metrics are: {why}; they are at Service {RABBITMQ}, port {}",
                    endpoint.port
                );
                Progress::waiting(Reason::NotMonitored, message)
            }
            Lookup::Found(_) | Lookup::Missing => {
                let monitor = ServiceMonitor {
                    job_label: NAME.to_owned(),
                    selector: selector(&labels()),
                    endpoints: [endpoint].into_iter().chain(queues).collect(),
                };
                desired.apply(self.namespace(), RABBITMQ, &Manifest::of(monitor));
                Progress::Ready
            }
        };
        desired.conditions.note("Monitored", &monitored);
    }

    /// Where the metrics are.
    fn rabbitmq_metrics(&self) -> Endpoint {
        let [plain, encrypted] = METRICS.map(str::to_owned);
        if !self.spec().global.tls.enabled {
            return Endpoint {
                port: plain,
                ..Endpoint::default()
            };
        }
        let secret = SecretKeyRef {
            name: CERTIFICATE.to_owned(),
            key: "ca.crt".to_owned(),
        };
        Endpoint {
            port: encrypted,
            scheme: Some("https".to_owned()),
            tls_config: Some(TlsConfig {
                ca: Authority { secret },
                server_name: self.rabbitmq_host(),
            }),
            ..Endpoint::default()
        }
    }

    /// A name that the certificate has.
    pub(super) fn rabbitmq_host(&self) -> String {
        format!("{RABBITMQ}.{}.svc", self.namespace())
    }

    /// Composes RabbitMQ's certificate, unless its Secret comes from elsewhere.
    fn rabbitmq_certificate(&self, desired: &mut DesiredState) {
        let Some(issuer_ref) = self.internal_issuer() else {
            return;
        };
        let host = self.rabbitmq_host();
        let certificate = Certificate {
            secret_name: CERTIFICATE.to_owned(),
            dns_names: vec![format!("{host}.cluster.local"), host],
            usages: vec!["server auth".to_owned()],
            issuer_ref,
            ..Certificate::default()
        };
        let certificate = Manifest::of(certificate);
        apply_certificate(self.namespace(), &certificate, self.observed, desired);
    }
}

/// Where the metrics of each queue are, given where the others are. The label `endpoint` distinguishes both targets of a member.
fn queue_metrics(endpoint: &Endpoint) -> Endpoint {
    let matched = |action: &str, labels: &[&str], regex: &str| Relabeling {
        action: Some(action.to_owned()),
        source_labels: labels.iter().map(|&label| label.to_owned()).collect(),
        regex: Some(regex.to_owned()),
        ..Relabeling::default()
    };
    let families = FAMILIES.map(str::to_owned).to_vec();
    Endpoint {
        path: Some(DETAILED.to_owned()),
        params: BTreeMap::from([("family".to_owned(), families)]),
        relabelings: vec![Relabeling {
            target_label: Some("endpoint".to_owned()),
            replacement: Some("queues".to_owned()),
            ..Relabeling::default()
        }],
        metric_relabelings: vec![
            matched("keep", &["__name__"], KEPT_METRICS),
            matched("drop", &["queue"], DROPPED_QUEUES),
        ],
        ..endpoint.clone()
    }
}

/// What Pod Security `restricted` asks for and the operator doesn't set before 2.17
/// (<https://github.com/rabbitmq/cluster-operator/issues/1910>).
fn restricted() -> Override {
    let container = |name: &str| Container {
        name: name.to_owned(),
        security_context: Some(unescalated()),
        ..Container::default()
    };
    let spec = PodSpec {
        init_containers: Some(vec![container("setup-container")]),
        containers: vec![container("rabbitmq")],
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(default_profile()),
            ..PodSecurityContext::default()
        }),
        ..PodSpec::default()
    };
    let template = PodTemplateOverride { spec };
    Override {
        stateful_set: StatefulSetOverride {
            spec: StatefulSetSpecOverride { template },
        },
    }
}
