//! Pods of a service: programs, volumes, resources and security contexts.

mod ephemeral_storage;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::parts::{Image, Resources, Topology, name_of};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, EnvVar, EnvVarSource, LocalObjectReference, ObjectFieldSelector,
    PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile, SecurityContext, Toleration,
    TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::definition::CONNECTED_PORTS;
use crate::objects::selector;
use crate::service::Service;

pub use ephemeral_storage::with_ephemeral_storage;
use ephemeral_storage::with_volumes;
pub use volumes::{Mount, Source, empty_dir, secret_volume};

/// The user ID of all services. Nodes have no such user.
const USER: i64 = 42424;
/// The default requests and limits of a container, besides ephemeral storage.
const USUAL: [(&str, &str, &str); 2] = [("cpu", "100m", "2"), ("memory", "256Mi", "2Gi")];
/// The default failure domains that replicas are spread over, widest first.
const DOMAINS: [&str; 2] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];

/// A container's command, environment and volumes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The command with its arguments, which must not contain secrets.
    pub command: Vec<String>,
    /// Its environment.
    pub env: Vec<EnvVar>,
    /// Its mounted volumes.
    pub mounts: Vec<Mount>,
}

impl Program {
    /// Sets the command.
    #[must_use]
    pub fn command(mut self, command: impl IntoIterator<Item = String>) -> Self {
        self.command = command.into_iter().collect();
        self
    }

    /// Sets the command of a program that reads a configuration file first.
    #[must_use]
    pub fn reading(self, name: &str, file: &str, words: &[&str]) -> Self {
        let begin = [name, "--config-file", file];
        let words = begin.iter().chain(words);
        self.command(words.map(|word| (*word).to_owned()))
    }

    /// Mounts a volume.
    #[must_use]
    pub fn mount(
        mut self,
        name: impl Into<String>,
        path: impl Into<String>,
        source: Source,
    ) -> Self {
        self.mounts.push(Mount {
            name: name.into(),
            path: path.into(),
            source,
        });
        self
    }

    /// Sets an environment variable without secrets.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push(variable(name, value));
        self
    }

    /// Sets the ports that the program connects to, for the probe [`CONNECTED`](crate::CONNECTED).
    #[must_use]
    pub fn connects(self, ports: impl IntoIterator<Item = u16>) -> Self {
        let ports: BTreeSet<u16> = ports.into_iter().collect();
        let ports: Vec<String> = ports.iter().map(|port| format!("{port:04X}")).collect();
        self.variable(CONNECTED_PORTS, ports.join("|"))
    }

    /// Sets an environment variable to a field of the pod, for instance `metadata.name`.
    #[must_use]
    pub fn field(mut self, name: &str, path: &str) -> Self {
        self.env.push(field_variable(name, path));
        self
    }
}

/// An environment variable without secrets.
pub fn variable(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.into()),
        value_from: None,
    }
}

/// An environment variable with a field of the pod, for instance `metadata.name`.
pub fn field_variable(name: &str, path: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: path.to_owned(),
                ..ObjectFieldSelector::default()
            }),
            ..EnvVarSource::default()
        }),
    }
}

/// The settings that all pods of a service share: image and topology.
#[derive(Clone, Copy)]
pub struct PodSettings<'a> {
    /// The image, with its tag or digest.
    pub image: &'a str,
    /// How the image is pulled.
    pub pull: &'a Image,
    /// The topology of the pods.
    pub topology: &'a Topology,
}

impl<'a> PodSettings<'a> {
    fn of(service: &'a Service<'_>) -> Self {
        Self {
            image: &service.image,
            pull: &service.common.image,
            topology: &service.common.topology,
        }
    }
}

/// A pod of a service, with one container of this name.
pub(crate) fn pod(
    (service, name): (&Service<'_>, &str),
    program: &Program,
    resources: ResourceRequirements,
) -> PodSpec {
    pod_of(PodSettings::of(service), name, program, resources)
}

/// A pod with one container of this name, which has no privileges and can only write to `/tmp`.
pub fn pod_of(
    settings: PodSettings<'_>,
    name: &str,
    program: &Program,
    resources: ResourceRequirements,
) -> PodSpec {
    let tmp = Mount {
        name: "tmp".to_owned(),
        path: "/tmp".to_owned(),
        source: Source::EmptyDir { size_limit: None },
    };
    let mounts: Vec<&Mount> = program.mounts.iter().chain([&tmp]).collect();
    let command = program.command.clone();
    let container = Container {
        env: Some(program.env.clone()).filter(|env| !env.is_empty()),
        volume_mounts: Some(mounts.iter().map(|mount| mount.mounted()).collect()),
        ..container_of(
            settings,
            name,
            command,
            with_volumes(resources, &program.mounts),
        )
    };
    let PodSettings { topology, pull, .. } = settings;
    let secrets = pull.pull_secrets.iter();
    PodSpec {
        containers: vec![container],
        volumes: Some(mounts.iter().map(|mount| mount.volume()).collect()),
        image_pull_secrets: some(secrets.map(|secret| LocalObjectReference {
            name: secret.name.clone(),
        })),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        node_selector: Some(topology.node_selector.clone()).filter(|labels| !labels.is_empty()),
        tolerations: some(tolerations(topology).into_iter()),
        priority_class_name: topology.priority_class_name.clone(),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            fs_group: Some(USER),
            fs_group_change_policy: Some("OnRootMismatch".to_owned()),
            seccomp_profile: Some(default_profile()),
            ..PodSecurityContext::default()
        }),
        ..PodSpec::default()
    }
}

/// A container of the service's image, without volumes or privileges.
pub(crate) fn container(
    service: &Service<'_>,
    name: &str,
    command: Vec<String>,
    resources: ResourceRequirements,
) -> Container {
    let resources = with_ephemeral_storage(resources);
    container_of(PodSettings::of(service), name, command, resources)
}

fn container_of(
    settings: PodSettings<'_>,
    name: &str,
    command: Vec<String>,
    resources: ResourceRequirements,
) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(settings.image.to_owned()),
        image_pull_policy: settings.pull.pull_policy.map(name_of),
        command: Some(command),
        resources: Some(bounded(resources)),
        security_context: Some(confined()),
        ..Container::default()
    }
}

/// Adds the default requests and limits to those that are set.
fn bounded(resources: ResourceRequirements) -> ResourceRequirements {
    USUAL.into_iter().fold(resources, bound)
}

/// Adds a request and a limit of a resource, unless one of them is set.
fn bound(
    mut resources: ResourceRequirements,
    (name, request, limit): (&str, &str, &str),
) -> ResourceRequirements {
    let amounts = [&resources.requests, &resources.limits];
    if amounts
        .into_iter()
        .flatten()
        .any(|amounts| amounts.contains_key(name))
    {
        return resources;
    }
    let quantity = |amount: &str| Quantity(amount.to_owned());
    let requests = resources.requests.get_or_insert_default();
    requests.insert(name.to_owned(), quantity(request));
    let limits = resources.limits.get_or_insert_default();
    limits.insert(name.to_owned(), quantity(limit));
    resources
}

/// The security context of a container without privileges and with a read-only root file system.
pub fn confined() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            ..Capabilities::default()
        }),
        ..SecurityContext::default()
    }
}

/// The security context of a container without privileges that writes to its image's file system.
pub fn unescalated() -> SecurityContext {
    SecurityContext {
        read_only_root_filesystem: None,
        ..confined()
    }
}

/// The system calls that the container runtime allows by default.
pub fn default_profile() -> SeccompProfile {
    SeccompProfile {
        type_: "RuntimeDefault".to_owned(),
        ..SeccompProfile::default()
    }
}

/// The failure domains that replicas are spread over, widest first.
pub fn domains(topology: &Topology) -> impl Iterator<Item = &str> {
    let given = topology.spread_over.iter().map(String::as_str);
    let usual = DOMAINS
        .into_iter()
        .filter(|_| topology.spread_over.is_empty());
    given.chain(usual)
}

/// Spreads pods over failure domains, on a best-effort basis.
pub fn spread(
    topology: &Topology,
    labels: &BTreeMap<String, String>,
) -> Vec<TopologySpreadConstraint> {
    let constraint = |domain: &str| TopologySpreadConstraint {
        max_skew: 1,
        topology_key: domain.to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(selector(labels)),
        ..TopologySpreadConstraint::default()
    };
    domains(topology).map(constraint).collect()
}

/// Spreads pods of a Deployment over failure domains, on a best-effort basis.
pub fn spread_revision(
    topology: &Topology,
    labels: &BTreeMap<String, String>,
) -> Vec<TopologySpreadConstraint> {
    let mut spread = spread(topology, labels);
    for constraint in &mut spread {
        // Otherwise pods of the old revision would count too, and new pods would concentrate in the other domains.
        constraint.match_label_keys = Some(vec!["pod-template-hash".to_owned()]);
    }
    spread
}

/// Kubernetes' resource requirements.
pub fn requirements(resources: &Resources) -> ResourceRequirements {
    let quantities = |amounts: &BTreeMap<String, c5c3_api::parts::Quantity>| {
        let each = amounts.iter();
        let amounts: BTreeMap<String, Quantity> = each
            .map(|(name, amount)| (name.clone(), Quantity(amount.to_string())))
            .collect();
        Some(amounts).filter(|amounts| !amounts.is_empty())
    };
    ResourceRequirements {
        requests: quantities(&resources.requests),
        limits: quantities(&resources.limits),
        ..ResourceRequirements::default()
    }
}

/// The taints that pods tolerate.
pub fn tolerations(topology: &Topology) -> Vec<Toleration> {
    let each = topology.tolerations.iter();
    each.map(|toleration| Toleration {
        key: toleration.key.clone(),
        operator: toleration.operator.map(name_of),
        value: toleration.value.clone(),
        effect: toleration.effect.map(name_of),
        toleration_seconds: toleration.toleration_seconds.map(i64::from),
    })
    .collect()
}

fn some<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    Some(items.collect()).filter(|items: &Vec<T>| !items.is_empty())
}
