//! Pods of a service: what they run, what they see, what they may do.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::parts::topology::{TaintEffect, TolerationOperator};
use c5c3_api::parts::{Image, PullPolicy, Resources, Topology};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, EnvVar, EnvVarSource,
    LocalObjectReference, ObjectFieldSelector, PersistentVolumeClaimVolumeSource,
    PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile, SecretVolumeSource,
    SecurityContext, Toleration, TopologySpreadConstraint, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::service::Service;

/// The user that every service runs as; nobody's on a node.
const USER: i64 = 42424;
/// Files of Secrets and ConfigMaps: readable by the user's group.
const MODE: i32 = 0o440;
/// Request and limit of a container whose resource isn't said.
const USUAL: [(&str, &str, &str); 2] = [("cpu", "100m", "2"), ("memory", "256Mi", "2Gi")];
/// The failure domains that replicas are spread over where nothing is said, widest first.
const DOMAINS: [&str; 2] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];

/// The environment variable with the ports of [`CONNECTED`], as `/proc/net/tcp` has them, separated by `|`.
const PORTS: &str = "CONNECTED_PORTS";
/// The probe of a program that has a connection to one of the ports of [`Program::connects`]
/// (<https://docs.kernel.org/networking/proc_net_tcp.html>).
pub const CONNECTED: &[&str] = &[
    "sh",
    "-c",
    "grep -qE \" [0-9A-F]+:($CONNECTED_PORTS) 01 \" /proc/net/tcp /proc/net/tcp6",
];

/// What a container runs, and what it sees.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The command with its arguments. They are no place for secrets.
    pub command: Vec<String>,
    /// Its environment.
    pub env: Vec<EnvVar>,
    /// Its files.
    pub mounts: Vec<Mount>,
}

/// A folder of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Name of the volume.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// What is in it.
    pub source: Source,
}

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A Secret. A change of it is seen within two minutes, without a restart.
    Secret(String),
    /// A ConfigMap.
    ConfigMap(String),
    /// A PersistentVolumeClaim.
    Claim(String),
    /// Nothing: room for files that go with the pod.
    Scratch,
    /// The same, for so many bytes: a pod that has more is put out.
    Room(u64),
}

impl Program {
    /// Runs a command.
    #[must_use]
    pub fn command(mut self, command: impl IntoIterator<Item = String>) -> Self {
        self.command = command.into_iter().collect();
        self
    }

    /// Shows it a folder.
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

    /// Sets a variable that anybody may see.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push(EnvVar {
            name: name.to_owned(),
            value: Some(value.into()),
            value_from: None,
        });
        self
    }

    /// Tells the probe [`CONNECTED`] which ports the program connects to.
    #[must_use]
    pub fn connects(self, ports: impl IntoIterator<Item = u16>) -> Self {
        let ports: BTreeSet<u16> = ports.into_iter().collect();
        let ports: Vec<String> = ports.iter().map(|port| format!("{port:04X}")).collect();
        self.variable(PORTS, ports.join("|"))
    }

    /// Sets a variable to a field of the pod, for instance `metadata.name`.
    #[must_use]
    pub fn field(mut self, name: &str, path: &str) -> Self {
        self.env.push(EnvVar {
            name: name.to_owned(),
            value: None,
            value_from: Some(EnvVarSource {
                field_ref: Some(ObjectFieldSelector {
                    field_path: path.to_owned(),
                    ..ObjectFieldSelector::default()
                }),
                ..EnvVarSource::default()
            }),
        });
        self
    }
}

/// What pods have whatever they run: their image, and where they run.
#[derive(Clone, Copy)]
pub struct PodSettings<'a> {
    /// The image, with its tag or digest.
    pub image: &'a str,
    /// How the image is pulled.
    pub pull: &'a Image,
    /// Where the pods run.
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

/// A pod with one container of this name, which may do nothing but run and write to `/tmp`.
pub fn pod_of(
    settings: PodSettings<'_>,
    name: &str,
    program: &Program,
    resources: ResourceRequirements,
) -> PodSpec {
    let scratch = Mount {
        name: "tmp".to_owned(),
        path: "/tmp".to_owned(),
        source: Source::Scratch,
    };
    let mounts: Vec<&Mount> = program.mounts.iter().chain([&scratch]).collect();
    let command = program.command.clone();
    let container = Container {
        env: Some(program.env.clone()).filter(|env| !env.is_empty()),
        volume_mounts: Some(mounts.iter().map(|mount| volume_mount(mount)).collect()),
        ..container_of(settings, name, command, resources)
    };
    let PodSettings { topology, pull, .. } = settings;
    let secrets = pull.pull_secrets.iter();
    PodSpec {
        containers: vec![container],
        volumes: Some(mounts.iter().map(|mount| volume(mount)).collect()),
        image_pull_secrets: some(secrets.map(|secret| LocalObjectReference {
            name: secret.name.clone(),
        })),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        node_selector: Some(topology.node_selector.clone()).filter(|labels| !labels.is_empty()),
        tolerations: some(tolerations(topology)),
        priority_class_name: topology.priority_class_name.clone(),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            fs_group: Some(USER),
            fs_group_change_policy: Some("OnRootMismatch".to_owned()),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        ..PodSpec::default()
    }
}

/// A container of the service's image that sees no files and may do nothing but run.
pub(crate) fn container(
    service: &Service<'_>,
    name: &str,
    command: Vec<String>,
    resources: ResourceRequirements,
) -> Container {
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
        image_pull_policy: settings.pull.pull_policy.map(pull_policy),
        command: Some(command),
        resources: Some(bounded(resources)),
        security_context: Some(confined()),
        ..Container::default()
    }
}

/// Gives a container request and limit of whatever its resources say nothing of.
fn bounded(mut resources: ResourceRequirements) -> ResourceRequirements {
    for (name, request, limit) in USUAL {
        let amounts = [&resources.requests, &resources.limits];
        if amounts
            .into_iter()
            .flatten()
            .any(|amounts| amounts.contains_key(name))
        {
            continue;
        }
        let quantity = |amount: &str| Quantity(amount.to_owned());
        let requests = resources.requests.get_or_insert_default();
        requests.insert(name.to_owned(), quantity(request));
        let limits = resources.limits.get_or_insert_default();
        limits.insert(name.to_owned(), quantity(limit));
    }
    resources
}

/// What a container may that needs nothing: no right of root's, and no file of its image to write.
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

/// Spreads pods over failure domains, as far as that goes.
pub fn spread(
    topology: &Topology,
    labels: &BTreeMap<String, String>,
) -> Vec<TopologySpreadConstraint> {
    let given = topology.spread_over.iter().map(String::as_str);
    let usual = DOMAINS
        .into_iter()
        .filter(|_| topology.spread_over.is_empty());
    let constraint = |domain: &str| TopologySpreadConstraint {
        max_skew: 1,
        topology_key: domain.to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(selector(labels)),
        // Else the pods of the revision that goes count too, and those that come pile up where they weren't.
        match_label_keys: Some(vec!["pod-template-hash".to_owned()]),
        ..TopologySpreadConstraint::default()
    };
    given.chain(usual).map(constraint).collect()
}

/// What Kubernetes takes for the pods with these labels.
pub fn selector(labels: &BTreeMap<String, String>) -> LabelSelector {
    LabelSelector {
        match_labels: Some(labels.clone()),
        ..LabelSelector::default()
    }
}

/// CPU and memory as Kubernetes has them.
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

fn tolerations(topology: &Topology) -> impl Iterator<Item = Toleration> {
    let operator = |operator| match operator {
        TolerationOperator::Equal => "Equal".to_owned(),
        TolerationOperator::Exists => "Exists".to_owned(),
    };
    let effect = |effect| match effect {
        TaintEffect::NoSchedule => "NoSchedule".to_owned(),
        TaintEffect::PreferNoSchedule => "PreferNoSchedule".to_owned(),
        TaintEffect::NoExecute => "NoExecute".to_owned(),
    };
    topology
        .tolerations
        .iter()
        .map(move |toleration| Toleration {
            key: toleration.key.clone(),
            operator: toleration.operator.map(operator),
            value: toleration.value.clone(),
            effect: toleration.effect.map(effect),
            toleration_seconds: toleration.toleration_seconds.map(i64::from),
        })
}

fn pull_policy(policy: PullPolicy) -> String {
    match policy {
        PullPolicy::Always => "Always",
        PullPolicy::IfNotPresent => "IfNotPresent",
        PullPolicy::Never => "Never",
    }
    .to_owned()
}

fn volume_mount(mount: &Mount) -> VolumeMount {
    let writable = matches!(
        mount.source,
        Source::Scratch | Source::Room(_) | Source::Claim(_)
    );
    VolumeMount {
        name: mount.name.clone(),
        mount_path: mount.path.clone(),
        read_only: Some(true).filter(|_| !writable),
        ..VolumeMount::default()
    }
}

fn volume(mount: &Mount) -> Volume {
    let mut volume = Volume {
        name: mount.name.clone(),
        ..Volume::default()
    };
    match &mount.source {
        Source::Secret(name) => {
            volume.secret = Some(SecretVolumeSource {
                secret_name: Some(name.clone()),
                default_mode: Some(MODE),
                ..SecretVolumeSource::default()
            });
        }
        Source::ConfigMap(name) => {
            volume.config_map = Some(ConfigMapVolumeSource {
                name: name.clone(),
                default_mode: Some(MODE),
                ..ConfigMapVolumeSource::default()
            });
        }
        Source::Claim(name) => {
            volume.persistent_volume_claim = Some(PersistentVolumeClaimVolumeSource {
                claim_name: name.clone(),
                ..PersistentVolumeClaimVolumeSource::default()
            });
        }
        Source::Scratch => volume.empty_dir = Some(EmptyDirVolumeSource::default()),
        Source::Room(bytes) => {
            volume.empty_dir = Some(EmptyDirVolumeSource {
                size_limit: Some(Quantity(bytes.to_string())),
                ..EmptyDirVolumeSource::default()
            });
        }
    }
    volume
}

fn some<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    Some(items.collect()).filter(|items: &Vec<T>| !items.is_empty())
}
