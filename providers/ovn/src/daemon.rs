//! northd, and relays of the southbound database.

use c5c3_api::parts::Resources;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use provider_composer::{DesiredState, Key, Live, Lookup, ObservedState, Progress, Reason};
use provider_openstack::{
    Program, Source, config_map, container_port, digest, pod_of, pod_template, requirements,
    selector, spread_revision,
};

use crate::encryption::{Encryption, FOLDER};
use crate::member::{SCRIPT, image_of, probe};
use crate::network::{Database, Network};

/// The port of relays.
const RELAY_PORT: u16 = 6642;
/// The folder of a pod with the script.
const SCRIPTS: &str = "/etc/ovn/daemon";
/// What the pods run.
const SCRIPT_TEXT: &str = include_str!("daemon.sh");

/// Pods that serve no data of their own.
struct Daemon<'a> {
    component: &'static str,
    /// What the script is told to run.
    mode: &'static str,
    replicas: u32,
    resources: &'a Resources,
    port: Option<u16>,
}

impl Network<'_> {
    /// Composes northd, and relays if there are any. They get a new image when all members of the databases run it: then
    /// the databases have the schema that it needs. The image that all of them run, and how far northd has come.
    pub(crate) fn daemons(
        &self,
        encryption: Option<&Encryption>,
        databases_rolled: bool,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> (Option<String>, Progress) {
        let script = [("daemon.sh", SCRIPT_TEXT.to_owned())];
        let script = config_map(self.metadata("northd"), script);
        desired.apply(self.namespace, &self.named("daemon"), &script);
        let northd = Daemon {
            component: "northd",
            mode: "northd",
            replicas: self.spec.northd.replicas,
            resources: &self.spec.northd.resources,
            port: None,
        };
        let relay = Daemon {
            component: "sb-relay",
            mode: "relay",
            replicas: self.spec.relay.replicas,
            resources: &self.spec.relay.resources,
            port: Some(RELAY_PORT),
        };
        if relay.replicas > 0 {
            self.daemon(&relay, encryption, databases_rolled, observed, desired);
        }
        self.daemon(&northd, encryption, databases_rolled, observed, desired)
    }

    /// Leaves the daemons as they are.
    pub(crate) fn keep_daemons(&self, desired: &mut DesiredState) {
        for component in ["northd", "sb-relay"] {
            let name = self.named(component);
            desired.keep(Key::of::<Deployment>(self.namespace, &name));
            self.keep_connections(&name, desired);
        }
        desired.keep(Key::of::<ConfigMap>(self.namespace, &self.named("daemon")));
    }

    /// Where nodes find the southbound database.
    pub(crate) fn remote(&self) -> String {
        match self.spec.relay.replicas {
            0 => self.endpoint(Database::Southbound),
            _ => {
                let host = self.host(&self.named("sb-relay"));
                format!("{}:{host}:{RELAY_PORT}", self.protocol())
            }
        }
    }

    /// Whether nodes may be sent to relays, where there are to be any.
    pub(crate) fn relays(&self, observed: &ObservedState<'_>) -> Progress {
        if self.spec.relay.replicas == 0 {
            return Progress::Ready;
        }
        let name = self.named("sb-relay");
        match observed.get::<Deployment>(self.namespace, &name) {
            Lookup::Found(live) if available(&live) > 0 => Progress::Ready,
            Lookup::Found(_) | Lookup::Missing => Progress::waiting(
                Reason::WaitingFor("Pods"),
                format!(
                    "waits for a ready pod of the Deployment {name}, before nodes connect to it"
                ),
            ),
            Lookup::Unknown(message) => Progress::Unknown { message },
        }
    }

    fn daemon(
        &self,
        daemon: &Daemon<'_>,
        encryption: Option<&Encryption>,
        databases_rolled: bool,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> (Option<String>, Progress) {
        let name = self.named(daemon.component);
        let key = Key::of::<Deployment>(self.namespace, &name);
        let ports: Vec<_> = daemon
            .port
            .iter()
            .map(|port| ("ovsdb", *port, self.nodes_peers()))
            .collect();
        self.connect((daemon.component, &name), &ports, false, desired);
        let live = match observed.get::<Deployment>(self.namespace, &name) {
            Lookup::Found(live) => Some(live),
            Lookup::Missing => None,
            Lookup::Unknown(message) => {
                desired.keep(key);
                return (None, Progress::Unknown { message });
            }
        };
        let running = live
            .as_ref()
            .and_then(|live| image_of(&live.body.spec.template));
        let image = match running {
            Some(running) if !databases_rolled => running,
            _ => self.image.clone(),
        };
        let deployment = self.deployment(daemon, &name, &image, encryption);
        desired.apply(self.namespace, &name, &deployment);
        let available = live.as_ref().is_some_and(|live| available(live) > 0);
        let progress = match available {
            true => Progress::Ready,
            false => Progress::waiting(
                Reason::WaitingFor("Pods"),
                format!("waits for a ready pod of {key}"),
            ),
        };
        let rolled = live.is_some_and(|live| is_rolled(&live, &image));
        (rolled.then_some(image), progress)
    }

    fn deployment(
        &self,
        daemon: &Daemon<'_>,
        name: &str,
        image: &str,
        encryption: Option<&Encryption>,
    ) -> Deployment {
        let labels = self.labels(daemon.component);
        let probe_interval = self.spec.timers.inactivity_probe_milliseconds.to_string();
        let command = |mode: &str| ["sh", &format!("{SCRIPTS}/daemon.sh"), mode].map(str::to_owned);
        let mut program = Program::default()
            .command(command(daemon.mode))
            .variable("PROTOCOL", self.protocol())
            .variable("NORTHBOUND", self.endpoint(Database::Northbound))
            .variable("SOUTHBOUND", self.endpoint(Database::Southbound))
            .variable("PORT", daemon.port.unwrap_or_default().to_string())
            .variable("INACTIVITY_PROBE", probe_interval)
            .field("POD_IP", "status.podIP")
            .mount("scripts", SCRIPTS, Source::ConfigMap(self.named("daemon")))
            .mount("run", "/run/ovn", Source::EmptyDir { size_limit: None });
        if let Some(encryption) = encryption {
            program = program.mount("tls", FOLDER, Source::Secret(encryption.servers.clone()));
        }
        let resources = requirements(daemon.resources);
        let mut pod = pod_of(self.pods(image), name, &program, resources);
        if let Some(container) = pod.containers.first_mut() {
            container.readiness_probe = Some(probe(command(&format!("ready-{}", daemon.mode)), 3));
            container.liveness_probe = Some(probe(command("alive"), 6));
            let port = daemon.port;
            container.ports = port.map(|port| vec![container_port("ovsdb", port)]);
        }
        pod.topology_spread_constraints = Some(spread_revision(&self.spec.topology, &labels));
        Deployment {
            metadata: self.metadata(daemon.component),
            spec: DeploymentSpec {
                replicas: i32::try_from(daemon.replicas).ok(),
                selector: selector(&labels),
                template: pod_template(labels, [(SCRIPT.to_owned(), digest([SCRIPT_TEXT]))], pod),
                ..DeploymentSpec::default()
            },
            ..Deployment::default()
        }
    }
}

fn available(deployment: &Live<Deployment>) -> i32 {
    let status = deployment.body.status.as_ref();
    status
        .and_then(|status| status.available_replicas)
        .unwrap_or_default()
}

/// Whether all pods of a Deployment run an image and are ready.
fn is_rolled(deployment: &Live<Deployment>, image: &str) -> bool {
    let spec = &deployment.body.spec;
    deployment.body.status.as_ref().is_some_and(|status| {
        status.observed_generation >= deployment.metadata.generation
            && image_of(&spec.template).as_deref() == Some(image)
            && status.updated_replicas == spec.replicas
            && status.replicas == spec.replicas
            && status.available_replicas == spec.replicas
    })
}
