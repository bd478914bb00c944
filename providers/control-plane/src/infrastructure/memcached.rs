//! Memcached, which no operator runs but this one.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Container, PodSecurityContext, PodSpec, Probe, Service, ServiceSpec,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::DesiredState;
use provider_openstack::{
    confined, container_port, default_profile, labelled, pod_template, service_port, tcp_probe,
    with_ephemeral_storage,
};

use super::{MEMCACHED, placement};
use crate::recipe::Recipe;

/// Where the protocol is spoken.
const PORT: u16 = 11211;
/// The user `memcache` of the image (<https://github.com/docker-library/memcached>).
const USER: i64 = 11211;
/// Most clients at once, for each member.
const CONNECTIONS: &str = "4096";

impl Recipe<'_> {
    /// Wants Memcached: members with names of their own, since clients choose one by the key.
    pub(crate) fn memcached(&self, desired: &mut DesiredState) {
        let labels = BTreeMap::from([
            (
                "app.kubernetes.io/instance".to_owned(),
                MEMCACHED.to_owned(),
            ),
            ("app.kubernetes.io/name".to_owned(), "memcached".to_owned()),
            ("app.kubernetes.io/component".to_owned(), "cache".to_owned()),
        ]);
        let (namespace, metadata) = (self.namespace(), labelled(labels.clone()));
        let set = StatefulSet {
            metadata: metadata.clone(),
            spec: StatefulSetSpec {
                service_name: Some(MEMCACHED.to_owned()),
                replicas: Some(
                    i32::try_from(self.spec().infrastructure.memcached.replicas).unwrap_or(1),
                ),
                pod_management_policy: Some("Parallel".to_owned()),
                selector: placement::selector(&labels),
                template: pod_template(labels.clone(), None, self.pod(&labels)),
                ..StatefulSetSpec::default()
            },
            ..StatefulSet::default()
        };
        desired.apply(namespace, MEMCACHED, &set);
        let service = Service {
            metadata: metadata.clone(),
            spec: Some(ServiceSpec {
                cluster_ip: Some("None".to_owned()),
                selector: Some(labels.clone()),
                ports: Some(vec![service_port("memcache", PORT)]),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        };
        desired.apply(namespace, MEMCACHED, &service);
        let budget = placement::budget(metadata, &labels);
        desired.apply(namespace, MEMCACHED, &budget);
    }

    fn pod(&self, labels: &BTreeMap<String, String>) -> PodSpec {
        let topology = &self.spec().global.topology;
        let memory = &self.spec().infrastructure.memcached.memory;
        let mebibytes = memory.bytes() >> 20;
        // Besides the items Memcached holds its hash table and a buffer for each connection.
        let whole = format!("{}Mi", mebibytes + mebibytes / 4 + 64);
        // A member with a small cache has few clients. Memcached needs little of a processor for each
        // (<https://github.com/memcached/memcached/wiki/Hardware>).
        let cpu = format!("{}m", mebibytes.clamp(100, 500));
        let container = Container {
            name: "memcached".to_owned(),
            image: Some(self.memcached_image()),
            // Without an address, it listens on those of both families.
            args: Some(
                ["-m", &mebibytes.to_string(), "-c", CONNECTIONS]
                    .map(str::to_owned)
                    .to_vec(),
            ),
            ports: Some(vec![container_port("memcache", PORT)]),
            resources: Some(with_ephemeral_storage(super::bounds(
                &cpu, "2", &whole, &whole,
            ))),
            // A member that takes no more clients stays as it is: a restart would empty it, and its image has no client that could tell
            // whether it still answers.
            readiness_probe: Some(Probe {
                timeout_seconds: None,
                ..tcp_probe(IntOrString::Int(i32::from(PORT)))
            }),
            security_context: Some(confined()),
            ..Container::default()
        };
        PodSpec {
            automount_service_account_token: Some(false),
            containers: vec![container],
            image_pull_secrets: Some(self.pull_secrets()).filter(|secrets| !secrets.is_empty()),
            security_context: Some(PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(USER),
                run_as_group: Some(USER),
                seccomp_profile: Some(default_profile()),
                ..PodSecurityContext::default()
            }),
            affinity: Some(Affinity {
                pod_anti_affinity: Some(placement::apart(topology, labels)),
                ..Affinity::default()
            }),
            topology_spread_constraints: Some(placement::spread(topology, labels)),
            node_selector: Some(topology.node_selector.clone()).filter(|labels| !labels.is_empty()),
            tolerations: Some(placement::tolerations(topology)).filter(|all| !all.is_empty()),
            priority_class_name: topology.priority_class_name.clone(),
            ..PodSpec::default()
        }
    }
}
