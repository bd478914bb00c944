//! The members of a database: a StatefulSet, and the settings that its pods read while they run.

mod scale;

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapKeySelector, EnvVar, EnvVarSource, ExecAction, Pod, PodSpec,
    PodTemplateSpec, Probe, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use provider_composer::{DesiredState, Key, Live, ObservedState, Progress, Reason};
use provider_openstack::{
    Program, Source, claim, config_map, container_port, digest, pod_of, pod_template, requirements,
    selector, spread,
};

use crate::encryption::{Encryption, FOLDER};
use crate::network::{Database, Network, Peers, is_ready};
use scale::Scale;

/// Annotation of pods: the script that they run. A change of it rolls them.
pub(crate) const SCRIPT: &str = "c5c3.io/script";
/// The folder of a pod with the settings, and with the script.
const SETTINGS: &str = "/etc/ovn/cluster";
/// The setting that says that the cluster was created, so that no second one is created.
const CREATED: &str = "created";
/// How many members there should be.
const REPLICAS: &str = "replicas";
/// Seconds in which a member hands its leadership over and closes its file.
const GRACE: i64 = 60;
const SCRIPT_TEXT: &str = include_str!("member.sh");

/// How far the members of a database have come.
pub(crate) struct Members {
    /// The pods as they are. None where they can't be read.
    pub(crate) pods: Option<Vec<Live<Pod>>>,
    /// Whether their cluster was created. True where that can't be read.
    pub(crate) created: bool,
    /// Whether a majority serves.
    pub(crate) progress: Progress,
    /// Whether all members serve.
    pub(crate) complete: Progress,
    /// Whether all members run the wanted image.
    pub(crate) rolled: bool,
}

impl Network<'_> {
    /// Composes the members of a database. What can't be read stays as it is.
    pub(crate) fn compose_members(
        &self,
        database: Database,
        encryption: Option<&Encryption>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Members {
        let service = self.service(database);
        let port = self.port(database);
        let clients = match database {
            Database::Northbound => Peers::Clients,
            Database::Southbound => self.nodes_peers(),
        };
        let ports = [
            ("ovsdb", port, clients),
            ("raft", database.raft_port(), Peers::Members),
        ];
        self.connect((database.short(), service), &ports, true, desired);
        match self.observe_members(database, observed) {
            Ok(seen) => self.scale_members(database, seen, encryption, desired),
            Err(message) => {
                self.keep_members(database, &Progress::unknown(message), observed, desired)
            }
        }
    }

    /// Returns what there is of a database's members, or why that can't be read.
    fn observe_members(
        &self,
        database: Database,
        observed: &ObservedState<'_>,
    ) -> Result<Observed, String> {
        // Everything is looked up before the first error is returned, so that the runtime fetches all of it at once.
        let set = observed.get::<StatefulSet>(self.namespace, self.service(database));
        let settings = observed.get::<ConfigMap>(self.namespace, &self.settings(database));
        let pods = self.observe(database, observed);
        Ok(Observed {
            set: set.known()?,
            settings: settings.known()?,
            pods: pods.known()?.unwrap_or_default(),
        })
    }

    /// Leaves the members of a database as they are, for the reason in `progress`.
    pub(crate) fn keep_members(
        &self,
        database: Database,
        progress: &Progress,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Members {
        let (namespace, settings) = (self.namespace, self.settings(database));
        desired.keep(Key::of::<StatefulSet>(namespace, self.service(database)));
        desired.keep(Key::of::<ConfigMap>(namespace, &settings));
        self.keep_connections(self.service(database), desired);
        let seen = self.observe_members(database, observed).ok();
        Members {
            created: seen.as_ref().is_none_or(Observed::is_created),
            pods: seen.map(|seen| seen.pods),
            progress: progress.clone(),
            complete: progress.clone(),
            rolled: false,
        }
    }

    fn settings(&self, database: Database) -> String {
        format!("{}-cluster", self.service(database))
    }

    fn scale_members(
        &self,
        database: Database,
        observed: Observed,
        encryption: Option<&Encryption>,
        desired: &mut DesiredState,
    ) -> Members {
        let wanted = self.database(database).replicas;
        let ready = observed.ready();
        let scale = Scale::next(observed.scale(), wanted, &ready);
        let count = observed.connected();
        let created = observed.is_created();
        let settings = self.settings_map(database, scale, created);
        desired.apply(self.namespace, &self.settings(database), &settings);
        let set = self.stateful_set(database, scale.replicas, encryption);
        desired.apply(self.namespace, self.service(database), &set);
        let message = format!(
            "{count} of {wanted} members of {} are connected",
            database.schema()
        );
        let reached = |needed: u32| match count >= needed {
            true => Progress::Ready,
            false => Progress::waiting(Reason::WaitingFor("Members"), &message),
        };
        let complete = match scale.replicas == wanted {
            true => reached(wanted),
            false => Progress::waiting(
                Reason::RemovingMembers,
                format!(
                    "member {}-{} of {} leaves the cluster",
                    self.service(database),
                    scale.replicas - 1,
                    database.schema()
                ),
            ),
        };
        Members {
            progress: reached(wanted / 2 + 1),
            rolled: observed.is_rolled(&self.image) && complete.is_ready(),
            complete,
            created,
            pods: Some(observed.pods),
        }
    }

    fn settings_map(&self, database: Database, scale: Scale, created: bool) -> ConfigMap {
        let timers = &self.spec.timers;
        let settings = [
            ("member.sh", SCRIPT_TEXT.to_owned()),
            (REPLICAS, scale.announced.to_string()),
            ("election-timer", timers.election_milliseconds.to_string()),
            (
                "inactivity-probe",
                timers.inactivity_probe_milliseconds.to_string(),
            ),
            (CREATED, created.to_string()),
        ];
        config_map(self.metadata(database.short()), settings)
    }

    fn stateful_set(
        &self,
        database: Database,
        replicas: u32,
        encryption: Option<&Encryption>,
    ) -> StatefulSet {
        let labels = self.labels(database.short());
        let storage = &self.database(database).storage;
        let metadata = ObjectMeta {
            name: Some("data".to_owned()),
            ..ObjectMeta::default()
        };
        let class = storage.storage_class.clone();
        let claim = claim(metadata, "ReadWriteOnce", &storage.size, class);
        StatefulSet {
            metadata: self.metadata(database.short()),
            spec: StatefulSetSpec {
                replicas: i32::try_from(replicas).ok(),
                service_name: Some(self.service(database).to_owned()),
                // A member that waits for others must not keep them from starting.
                pod_management_policy: Some("Parallel".to_owned()),
                selector: selector(&labels),
                template: pod_template(
                    labels,
                    [(SCRIPT.to_owned(), digest([SCRIPT_TEXT]))],
                    self.member_pod(database, encryption),
                ),
                volume_claim_templates: Some(vec![claim]),
                ..StatefulSetSpec::default()
            },
            ..StatefulSet::default()
        }
    }

    fn member_pod(&self, database: Database, encryption: Option<&Encryption>) -> PodSpec {
        let command =
            |mode: &str| ["sh", &format!("{SETTINGS}/member.sh"), mode].map(str::to_owned);
        let (port, raft_port) = (self.port(database), database.raft_port());
        let client = match database {
            Database::Northbound => "OVN_NB_DB",
            Database::Southbound => "OVN_SB_DB",
        };
        let mut program = Program::default()
            .command(command("run"))
            .variable("DATABASE", database.short())
            .variable("DOMAIN", self.host(self.service(database)))
            .variable("PROTOCOL", self.protocol())
            .variable("PORT", port.to_string())
            .variable("RAFT_PORT", raft_port.to_string())
            // Where ovn-nbctl and ovn-sbctl look, for people who run them in the pod.
            .variable(client, "unix:/run/ovn/db.sock")
            .field("POD_NAME", "metadata.name")
            .field("POD_IP", "status.podIP")
            .mount(
                "settings",
                SETTINGS,
                Source::ConfigMap(self.settings(database)),
            )
            .mount("run", "/run/ovn", Source::EmptyDir { size_limit: None });
        // Unlike the file, the variable is never older than the pod.
        program.env.push(EnvVar {
            name: "CREATED".to_owned(),
            value_from: Some(EnvVarSource {
                config_map_key_ref: Some(ConfigMapKeySelector {
                    name: self.settings(database),
                    key: CREATED.to_owned(),
                    optional: Some(false),
                }),
                ..EnvVarSource::default()
            }),
            ..EnvVar::default()
        });
        if let Some(encryption) = encryption {
            program = program.mount("tls", FOLDER, Source::Secret(encryption.servers.clone()));
        }
        let resources = requirements(&self.database(database).resources);
        let name = format!("ovn-{}", database.short());
        let mut pod = pod_of(self.pods(&self.image), &name, &program, resources);
        if let Some(container) = pod.containers.first_mut() {
            container.readiness_probe = Some(probe(command("ready"), 3));
            container.liveness_probe = Some(probe(command("alive"), 12));
            let ports = [("ovsdb", port), ("raft", raft_port)];
            let ports = ports.map(|(name, port)| container_port(name, port));
            container.ports = Some(ports.into());
            container
                .volume_mounts
                .get_or_insert_default()
                .push(VolumeMount {
                    name: "data".to_owned(),
                    mount_path: "/var/lib/ovn".to_owned(),
                    ..VolumeMount::default()
                });
        }
        let labels = self.labels(database.short());
        pod.topology_spread_constraints = Some(spread(&self.spec.topology, &labels));
        pod.termination_grace_period_seconds = Some(GRACE);
        pod
    }
}

/// What there is of a database's members.
struct Observed {
    set: Option<Live<StatefulSet>>,
    settings: Option<Live<ConfigMap>>,
    pods: Vec<Live<Pod>>,
}

impl Observed {
    fn setting(&self, name: &str) -> Option<&str> {
        let data = self.settings.as_ref()?.body.data.as_ref()?;
        data.get(name).map(String::as_str)
    }

    /// Whether the cluster was created, with or without members that are connected now.
    fn is_created(&self) -> bool {
        self.setting(CREATED) == Some("true") || self.connected() > 0
    }

    /// None before there is a StatefulSet.
    fn scale(&self) -> Option<Scale> {
        let replicas = self.set.as_ref()?.body.spec.replicas?;
        let replicas = u32::try_from(replicas).ok()?;
        let announced = self.setting(REPLICAS).and_then(|text| text.parse().ok());
        Some(Scale {
            replicas,
            announced: announced.unwrap_or(replicas),
        })
    }

    /// How many members are connected.
    fn connected(&self) -> u32 {
        let status = self.set.as_ref().and_then(|set| set.body.status.as_ref());
        let ready = status.and_then(|status| status.ready_replicas);
        ready.unwrap_or_default().try_into().unwrap_or_default()
    }

    /// The ordinals of members that are connected.
    fn ready(&self) -> BTreeSet<u32> {
        let ready = self.pods.iter().filter(|pod| is_ready(pod));
        ready
            .filter_map(|pod| pod.metadata.name.rsplit_once('-')?.1.parse().ok())
            .collect()
    }

    /// Whether all pods run an image and are ready.
    fn is_rolled(&self, image: &str) -> bool {
        let Some(set) = &self.set else {
            return false;
        };
        let (spec, Some(status)) = (&set.body.spec, &set.body.status) else {
            return false;
        };
        status.observed_generation >= set.metadata.generation
            && image_of(&spec.template).as_deref() == Some(image)
            && status.updated_replicas == spec.replicas
            && status.ready_replicas == spec.replicas
    }
}

/// The image of a pod's first container.
pub(crate) fn image_of(template: &PodTemplateSpec) -> Option<String> {
    template.spec.as_ref()?.containers.first()?.image.clone()
}

/// A probe that runs a command, and how many failures in a row count.
pub(crate) fn probe(command: impl Into<Vec<String>>, failures: i32) -> Probe {
    Probe {
        exec: Some(ExecAction {
            command: Some(command.into()),
        }),
        period_seconds: Some(5),
        timeout_seconds: Some(10),
        failure_threshold: Some(failures),
        ..Probe::default()
    }
}
