//! DaemonSets of agents: what their pods may do, and what of the node they see.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{
    DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet,
};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, ConfigMapVolumeSource, Container, EnvVar, ExecAction, HostAlias,
    HostPathVolumeSource, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PodSecurityContext, PodSpec, Probe, ProjectedVolumeSource, ResourceRequirements,
    SecretProjection, SecurityContext, Toleration, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_openstack::{
    amounts, default_profile, field_variable, labelled, pod_template, selector, variable,
};

/// Label of the agents' pods: the agent.
pub const COMPONENT: &str = "app.kubernetes.io/component";
/// The container that checks what a node must have.
const REQUIREMENTS: &str = "requirements";
/// Annotation of pods: stands for the configuration that their processes have read.
pub const CONFIGURATION: &str = "c5c3.io/configuration";

/// What a process of an agent may do on its node. Processes of agents are root, but for that of nova-migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// These capabilities, and no other.
    Capabilities(&'static [&'static str]),
    /// Everything.
    Privileged,
}

/// An agent: one pod on every leased node.
#[derive(Default)]
pub struct Agent {
    /// What it runs.
    pub containers: Vec<Container>,
    /// What the node must have: the image that checks it, and its environment. None for nothing.
    pub requirements: Option<Container>,
    /// What it sees.
    pub volumes: Vec<Volume>,
    /// Which processes it sees.
    pub processes: Processes,
    /// The group that may read its Secrets, besides root.
    pub group: Option<i64>,
    /// On how many nodes at once it may be down during an update.
    pub pace: Pace,
    /// How long it may take to end, in seconds.
    pub grace: i64,
    /// Stands for its configuration: pods are replaced when it changes.
    pub configuration: String,
}

/// The process namespace of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processes {
    /// One for each container, whose program is process 1, and so ignores SIGTERM until it handles it.
    #[default]
    Container,
    /// One for the pod. A program that doesn't handle SIGTERM yet ends by it.
    Pod,
    /// That of the node.
    Node,
}

/// On how many nodes at once an agent is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// One, because servers have no network meanwhile.
    One,
    /// A tenth of all.
    #[default]
    Tenth,
    /// All, because what it has set stays without it.
    All,
}

impl Pace {
    /// The limit of a DaemonSet on so many nodes, some of which are dead. Kubernetes counts pods that are missing, end or aren't available,
    /// from 1.31 on also those that aren't updated yet (pkg/controller/daemon/update.go, kubernetes#123233). Those of dead nodes are
    /// allowed beside those that are replaced: otherwise a dead node stops every update.
    /// No more than a tenth, lest many agents are replaced at once when all these nodes return together.
    fn max_unavailable(self, nodes: usize, dead: usize) -> IntOrString {
        let tenth = nodes.div_ceil(10);
        let beside = |limit: usize| {
            let limit = limit.saturating_add(dead.min(tenth));
            IntOrString::Int(i32::try_from(limit).unwrap_or(i32::MAX))
        };
        match (self, dead) {
            (Self::All, _) => IntOrString::String("100%".to_owned()),
            (Self::One, _) => beside(1),
            (Self::Tenth, 0) => IntOrString::String("10%".to_owned()),
            (Self::Tenth, _) => beside(tenth),
        }
    }
}

/// The nodes that an agent runs on.
pub struct Nodes {
    /// Their labels.
    pub labels: BTreeMap<String, String>,
    /// A label that they don't have with one of these values.
    pub except: Option<(&'static str, Vec<String>)>,
    /// Their number.
    pub count: usize,
    /// The number of dead nodes on which the agent is down.
    pub dead: usize,
}

impl Nodes {
    /// The rule that a label can't express.
    fn affinity(label: &str, values: Vec<String>) -> Affinity {
        let without = NodeSelectorRequirement {
            key: label.to_owned(),
            operator: "NotIn".to_owned(),
            values: Some(values),
        };
        let terms = vec![NodeSelectorTerm {
            match_expressions: Some(vec![without]),
            ..NodeSelectorTerm::default()
        }];
        Affinity {
            node_affinity: Some(NodeAffinity {
                required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                    node_selector_terms: terms,
                }),
                ..NodeAffinity::default()
            }),
            ..Affinity::default()
        }
    }
}

impl Agent {
    /// The DaemonSet of a name, with addresses for names that DNS doesn't have.
    pub fn daemon_set(self, name: &str, nodes: Nodes, aliases: Vec<HostAlias>) -> DaemonSet {
        let labels = BTreeMap::from([(COMPONENT.to_owned(), name.to_owned())]);
        let max_unavailable = self.pace.max_unavailable(nodes.count, nodes.dead);
        let configuration = (CONFIGURATION.to_owned(), self.configuration);
        let pod = PodSpec {
            init_containers: self.requirements.map(|check| vec![check]),
            containers: self.containers,
            volumes: Some(self.volumes),
            node_selector: Some(nodes.labels),
            affinity: nodes
                .except
                .map(|(label, values)| Nodes::affinity(label, values)),
            host_aliases: Some(aliases).filter(|aliases| !aliases.is_empty()),
            host_pid: Some(true).filter(|_| self.processes == Processes::Node),
            share_process_namespace: Some(true).filter(|_| self.processes == Processes::Pod),
            security_context: self.group.map(|group| PodSecurityContext {
                fs_group: Some(group),
                ..PodSecurityContext::default()
            }),
            dns_policy: Some("ClusterFirstWithHostNet".to_owned()),
            termination_grace_period_seconds: Some(self.grace),
            ..on_node()
        };
        DaemonSet {
            metadata: labelled(labels.clone()),
            spec: DaemonSetSpec {
                selector: selector(&labels),
                revision_history_limit: Some(2),
                update_strategy: Some(DaemonSetUpdateStrategy {
                    type_: Some("RollingUpdate".to_owned()),
                    rolling_update: Some(RollingUpdateDaemonSet {
                        // Two of one agent would share its sockets and, for nova-compute, its queues.
                        max_surge: Some(IntOrString::Int(0)),
                        max_unavailable: Some(max_unavailable),
                    }),
                }),
                template: pod_template(labels, [configuration], pod),
                ..DaemonSetSpec::default()
            },
            ..DaemonSet::default()
        }
    }
}

/// A pod of a node's own, which uses its network, and neither the API server nor the CNI.
pub fn on_node() -> PodSpec {
    PodSpec {
        host_network: Some(true),
        priority_class_name: Some("system-node-critical".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        // Servers stay on a node that is cordoned, full or being replaced, and need their agents.
        tolerations: Some(vec![Toleration {
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        }]),
        ..PodSpec::default()
    }
}

/// A container that runs a script of ours. The script's arguments may follow.
pub fn container(name: &str, image: &str, script: &str, rights: Rights) -> Container {
    let words = ["sh", "-euc", script, name].map(str::to_owned);
    Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        command: Some(words.into()),
        security_context: Some(security(rights)),
        ..Container::default()
    }
}

/// A container that does nothing.
pub fn idle(name: &str, image: &str) -> Container {
    container(
        name,
        image,
        "exec sleep infinity",
        Rights::Capabilities(&[]),
    )
}

/// Runs a container as this user and group, which must not be root.
pub fn with_user(mut container: Container, user: i64) -> Container {
    let security = container.security_context.get_or_insert_default();
    security.run_as_non_root = Some(true);
    security.run_as_user = Some(user);
    security.run_as_group = Some(user);
    container
}

fn security(rights: Rights) -> SecurityContext {
    let common = SecurityContext {
        run_as_user: Some(0),
        run_as_group: Some(0),
        ..SecurityContext::default()
    };
    match rights {
        Rights::Privileged => SecurityContext {
            privileged: Some(true),
            ..common
        },
        Rights::Capabilities(names) => SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                add: Some(names.iter().map(|&name| name.to_owned()).collect())
                    .filter(|names: &Vec<String>| !names.is_empty()),
            }),
            seccomp_profile: Some(default_profile()),
            ..common
        },
    }
}

/// The container that checks what a node must have, some of `tun`, `kvm`, `openvswitch` and `interface`, and that it has nothing of
/// another lease: a node may come back whose Node was deleted. It needs the volumes `dev` and `nova`.
pub fn requirements(
    image: &str,
    needed: &[&str],
    tunnel_interface: &str,
    lease: &str,
) -> Container {
    let script = include_str!("scripts/requirements.sh");
    Container {
        env: Some(vec![
            variable("REQUIREMENTS", needed.join(" ")),
            variable("LEASE", lease),
            variable("TUNNEL_INTERFACE", tunnel_interface),
        ]),
        resources: Some(resources("10m", "16Mi", "64Mi")),
        volume_mounts: Some(vec![
            VolumeMount {
                read_only: Some(true),
                ..mount("dev", "/host/dev")
            },
            mount("nova", "/host/nova"),
        ]),
        ..container(REQUIREMENTS, image, script, Rights::Capabilities(&[]))
    }
}

/// The variables that differ from node to node: NODE_NAME, and HOST_IP, which is the node's internal address.
pub fn node_variables() -> Vec<EnvVar> {
    let fields = [("NODE_NAME", "spec.nodeName"), ("HOST_IP", "status.hostIP")];
    fields.map(|(name, path)| field_variable(name, path)).into()
}

/// CPU and memory that are requested, and the limit of memory. CPU has no limit: an agent that is throttled holds up servers.
/// Ephemeral storage has neither. The kubelet evicts no pod of the priority that [`on_node`] sets, whatever it has
/// (pkg/kubelet/eviction/eviction_manager.go, `evictPod`), and a change of the template replaces the agents of all nodes.
pub fn resources(cpu: &str, memory: &str, limit: &str) -> ResourceRequirements {
    ResourceRequirements {
        requests: amounts([("cpu", cpu), ("memory", memory)]),
        limits: amounts([("memory", limit)]),
        ..ResourceRequirements::default()
    }
}

/// A probe that runs a command every few seconds.
pub fn probe(command: &[&str]) -> Probe {
    Probe {
        exec: Some(ExecAction {
            command: Some(command.iter().map(|&word| word.to_owned()).collect()),
        }),
        period_seconds: Some(5),
        timeout_seconds: Some(5),
        ..Probe::default()
    }
}

/// A volume at a path of a container.
pub fn mount(volume: &str, path: &str) -> VolumeMount {
    VolumeMount {
        name: volume.to_owned(),
        mount_path: path.to_owned(),
        ..VolumeMount::default()
    }
}

/// A folder of the node, which is created where it is missing.
pub fn host_folder(name: &str, path: &str) -> Volume {
    host(name, path, "DirectoryOrCreate")
}

/// A folder of the node that every node has.
pub fn node_folder(name: &str, path: &str) -> Volume {
    host(name, path, "Directory")
}

fn host(name: &str, path: &str, type_: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        host_path: Some(HostPathVolumeSource {
            path: path.to_owned(),
            type_: Some(type_.to_owned()),
        }),
        ..Volume::default()
    }
}

/// Some Secrets in one folder, as far as they exist. Only root and its group may read the files.
pub fn secrets(name: &str, secrets: &[&str]) -> Volume {
    let sources = secrets.iter().map(|&secret| VolumeProjection {
        secret: Some(SecretProjection {
            name: secret.to_owned(),
            optional: Some(true),
            ..SecretProjection::default()
        }),
        ..VolumeProjection::default()
    });
    Volume {
        name: name.to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(sources.collect()),
            default_mode: Some(0o440),
            ..ProjectedVolumeSource::default()
        }),
        ..Volume::default()
    }
}

/// A volume with the files of a ConfigMap.
pub fn config_map_volume(name: &str, map: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: map.to_owned(),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_of_an_update_grows_by_dead_nodes_up_to_a_tenth_of_all() {
        let limit = |nodes, dead| match Pace::One.max_unavailable(nodes, dead) {
            IntOrString::Int(limit) => limit,
            IntOrString::String(text) => panic!("{text}"),
        };
        assert_eq!(
            [(0, 0), (100, 0), (1, 1)].map(|(nodes, dead)| limit(nodes, dead)),
            [1, 1, 2]
        );
        assert_eq!(
            [9, 10, 11, 100].map(|dead| limit(100, dead)),
            [10, 11, 11, 11]
        );
        assert_eq!(
            Pace::Tenth.max_unavailable(100, 0),
            IntOrString::String("10%".to_owned())
        );
        assert_eq!(Pace::Tenth.max_unavailable(25, 2), IntOrString::Int(5));
        assert_eq!(Pace::Tenth.max_unavailable(25, 25), IntOrString::Int(6));
    }
}
