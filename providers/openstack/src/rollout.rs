//! The Deployment or StatefulSet of a component, and how far its rollout has come.

pub(crate) mod seen;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentCondition, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment,
    StatefulSet, StatefulSetSpec,
};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use provider_composer::{DesiredState, Key, Lookup, Progress, Reason, Resource, label_pairs};

use crate::component::Component;
use crate::definition::{ComponentDefinition, ComponentKind};
use crate::files;
use crate::objects::selector;
use crate::service::{COMPONENT, INSTANCE, Service};

use seen::{Observed, Seen};

/// The reason of a Deployment's condition `Progressing` once its rollout is complete
/// (<https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#complete-deployment>).
const ROLLED: &str = "NewReplicaSetAvailable";
/// How long a terminating pod keeps serving, in seconds: until no client sends it new requests.
pub(crate) const DRAIN: i64 = 15;
/// How long requests in flight may take after that, in seconds.
const GRACE: i64 = 60;
/// How long a program may take to end after its calls have ended or were interrupted, in seconds.
const EXIT: i64 = 15;
/// How long a rollout may make no progress before that is reported.
const START: SignedDuration = SignedDuration::from_secs(60);
/// Seconds in which a pod must start, Kubernetes' own default. Until then the kubelet may still pull its image.
pub(crate) const START_DEADLINE: i32 = 600;

/// What to do where a pod doesn't terminate.
const LOST: &str = "if one is on a lost node, delete the Node";

/// The kind of object that runs a component's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Pods that replace each other.
    Deployment,
    /// Pods that keep their names. Two with one name never run at once.
    StatefulSet,
}

/// The rollout of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Whether the component is available.
    pub progress: Progress,
    /// Whether a pod of any revision is ready.
    pub has_ready_pod: bool,
    /// The image of its pods' template.
    image: Option<String>,
    /// Whether all pods are of the latest revision.
    done: bool,
    /// When that was reported first, of a Deployment. Pods before may take some time more to terminate.
    since: Option<Timestamp>,
    /// How long each of these may take.
    termination: i64,
    annotations: BTreeMap<String, String>,
}

impl Controller {
    /// The kind for a component.
    pub fn of(component: &Component<'_>) -> Self {
        match component.definition.kind {
            ComponentKind::Member { .. } => Self::StatefulSet,
            ComponentKind::Wsgi { .. }
            | ComponentKind::Proxy { .. }
            | ComponentKind::Daemon { .. } => Self::Deployment,
        }
    }

    /// Applies the object with the pods' template. It stays as it is while it can't be read how many pods an autoscaler chose.
    pub fn compose(
        self,
        component: &Component<'_>,
        template: PodTemplateSpec,
        desired: &mut DesiredState,
    ) {
        let (namespace, name) = (component.service.namespace, &component.object);
        let (metadata, selector) = (component.metadata(), selector(&component.selector()));
        let Some(replicas) = component.replicas() else {
            return desired.keep(self.key(component));
        };
        let replicas = Some(replicas);
        match self {
            Self::Deployment => {
                let spec = DeploymentSpec {
                    replicas,
                    revision_history_limit: Some(2),
                    progress_deadline_seconds: Some(START_DEADLINE),
                    selector,
                    strategy: Some(DeploymentStrategy {
                        type_: Some("RollingUpdate".to_owned()),
                        rolling_update: Some(RollingUpdateDeployment {
                            max_surge: Some(IntOrString::Int(1)),
                            max_unavailable: Some(IntOrString::Int(0)),
                        }),
                    }),
                    template,
                    ..DeploymentSpec::default()
                };
                let deployment = Deployment {
                    metadata,
                    spec,
                    ..Deployment::default()
                };
                desired.apply(namespace, name, &deployment);
            }
            Self::StatefulSet => {
                let spec = StatefulSetSpec {
                    replicas,
                    revision_history_limit: Some(2),
                    // A member that can't start must not keep others from starting, nor a corrected revision from replacing it.
                    pod_management_policy: Some("Parallel".to_owned()),
                    selector,
                    service_name: Some(name.clone()),
                    template,
                    ..StatefulSetSpec::default()
                };
                let set = StatefulSet {
                    metadata,
                    spec,
                    ..StatefulSet::default()
                };
                desired.apply(namespace, name, &set);
            }
        }
    }

    /// The object.
    pub(crate) fn key(self, component: &Component<'_>) -> Key {
        let (namespace, name) = (component.service.namespace, &component.object);
        match self {
            Self::Deployment => Key::of::<Deployment>(namespace, name),
            Self::StatefulSet => Key::of::<StatefulSet>(namespace, name),
        }
    }

    fn observe(self, component: &Component<'_>) -> Lookup<Seen> {
        let (service, name) = (component.service, &component.object);
        match self {
            Self::Deployment => service.body::<Observed<Deployment>>(name).map(Seen::from),
            Self::StatefulSet => service.body::<Observed<StatefulSet>>(name).map(Seen::from),
        }
    }

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

impl Rollout {
    /// Observes the rollout of a component. Until it is complete, the files of all revisions are kept.
    pub fn of(component: &Component<'_>, desired: &mut DesiredState) -> Self {
        let service = component.service;
        let seen = Controller::of(component).observe(component);
        let (has_ready_pod, done, since, image, annotations) = match &seen {
            Lookup::Found(seen) => (
                seen.ready > 0,
                seen.done,
                rolled(seen.conditions.as_deref()),
                seen.image.clone(),
                seen.annotations.clone(),
            ),
            _ => (false, false, None, None, BTreeMap::new()),
        };
        match &seen {
            // During a rollout, pods of any revision may restart; afterwards only those of the latest.
            Lookup::Found(seen) if done => {
                desired.kept.extend(files::of(service, &seen.volumes));
            }
            _ => desired.kept.extend(files::found(service).keys),
        }
        Self {
            progress: progress(component, seen, service.observed.now(), desired),
            has_ready_pod,
            image,
            done,
            since,
            termination: termination(&component.definition),
            annotations,
        }
    }

    /// Keeps the pods unchanged, with the files that they mount.
    pub fn keep(component: &Component<'_>, desired: &mut DesiredState) {
        desired.keep(Controller::of(component).key(component));
        desired.kept.extend(files::found(component.service).keys);
    }

    /// Whether the pods' template has this image. Some pods may still run another.
    pub fn has(&self, image: &str) -> bool {
        self.image.as_deref() == Some(image)
    }

    /// Whether all pods run this image.
    pub fn is_done_with(&self, image: &str) -> bool {
        self.done && self.has(image)
    }

    /// When no pod of an older revision runs any more. `None` while one may be needed.
    pub fn settles(&self) -> Option<Timestamp> {
        let since = self.since.unwrap_or(Timestamp::MIN);
        let settles = since.checked_add(SignedDuration::from_secs(self.termination));
        settles.ok().filter(|_| self.done)
    }

    /// The progress. If the component isn't available, the message names its databases, which may be the cause.
    pub fn reached(&self, databases: &str) -> Progress {
        let progress = self.progress.clone();
        progress.explained(|message| {
            format!(
                "{message}; a pod is ready once the database {databases} takes the user and password that the Secret of \
                 spec.database has"
            )
        })
    }

    /// The progress. If the component isn't available, the message names its message bus, which may be the cause.
    pub fn connected(&self, bus: &str) -> Progress {
        let progress = self.progress.clone();
        progress.explained(|message| {
            format!(
                "{message}; a pod is ready once it is connected to the message bus {bus}: check that its host name resolves, \
                 and that it takes the user and password that the Secret of spec.messaging has"
            )
        })
    }

    /// An annotation of all pods, once the rollout is complete.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.template_annotation(name).filter(|_| self.done)
    }

    /// An annotation of the pods' template. Some pods may still be without it.
    pub fn template_annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }
}

/// Keeps a Deployment that isn't composed any more and whose pods keep running, with the files that they need: those of the latest revision
/// or, while a pod may be of an older one, all.
pub fn keep_deployment(service: &Service<'_>, name: &str, desired: &mut DesiredState) {
    desired.keep(Key::of::<Deployment>(service.namespace, name));
    match service.body::<Observed<Deployment>>(name).map(Seen::from) {
        Lookup::Found(seen) if seen.updated => {
            desired.kept.extend(files::of(service, &seen.volumes));
        }
        Lookup::Missing => {}
        Lookup::Found(_) | Lookup::Unknown(_) => {
            desired.kept.extend(files::found(service).keys);
        }
    }
}

/// What is waited for while a Deployment or StatefulSet that isn't wanted any more exists: its pods may have former users.
pub(crate) fn former_part(service: &Service<'_>, desired: &DesiredState) -> Option<Progress> {
    let labels = service.labels();
    [Deployment::KIND, StatefulSet::KIND]
        .into_iter()
        .find_map(|kind| match service.keys(kind, &label_pairs(&labels)) {
            Lookup::Found(keys) => {
                let former = keys.into_iter().find(|key| !desired.wants(key))?;
                let message =
                    format!("waits for the former {former}, whose pods terminate; {LOST}");
                Some(Progress::waiting(Reason::WaitingFor(kind.kind), message))
            }
            Lookup::Missing => None,
            Lookup::Unknown(message) => Some(Progress::unknown(&message)),
        })
}

/// How long a pod of a component may take to terminate, in seconds.
pub(crate) fn termination(definition: &ComponentDefinition) -> i64 {
    match (definition.shutdown(), definition.port()) {
        (None, _) => DRAIN + GRACE,
        (Some(seconds), None) => i64::from(seconds) + EXIT,
        // It goes on serving until no client sends it new requests.
        (Some(seconds), Some(_)) => DRAIN + i64::from(seconds) + EXIT,
    }
}

/// When a Deployment's last rollout was complete.
fn rolled(conditions: Option<&[DeploymentCondition]>) -> Option<Timestamp> {
    let mut conditions = conditions?.iter();
    let rolled = conditions.find(|condition| condition.reason.as_deref() == Some(ROLLED))?;
    Some(rolled.last_update_time.as_ref()?.0)
}

fn progress(
    component: &Component<'_>,
    seen: Lookup<Seen>,
    now: Timestamp,
    desired: &mut DesiredState,
) -> Progress {
    let (kind, name) = (Controller::of(component).name(), &component.object);
    let service = component.service;
    let seen = match seen {
        Lookup::Found(seen) if seen.is_deleted => {
            let message = format!("waits for {kind} {name}, whose former pods terminate; {LOST}");
            return Progress::waiting(Reason::Starting, message);
        }
        Lookup::Found(seen) => seen,
        Lookup::Missing => {
            return Progress::waiting(Reason::Starting, format!("waits for {kind} {name}"));
        }
        Lookup::Unknown(message) => return Progress::Unknown { message },
    };
    let (ready, wanted) = (seen.ready, component.scale.replicas);
    let message = format!("waits for pods of {kind} {name}: {ready} of {wanted} are ready");
    let describe = format!(
        "`kubectl describe pods -n {} -l {INSTANCE}={},{COMPONENT}={}`",
        service.namespace, service.name, component.name
    );
    let Some(conditions) = seen.conditions else {
        // A StatefulSet doesn't report since when it waits.
        return match i64::from(ready) >= i64::from(wanted) {
            true => Progress::Ready,
            false => Progress::waiting(
                Reason::Starting,
                format!("{message}; see {describe} for why"),
            ),
        };
    };
    let holds = |type_: &str, status: &str| {
        conditions.iter().find(|condition| {
            condition.type_.as_deref() == Some(type_) && condition.status.as_deref() == Some(status)
        })
    };
    let stuck = holds("Progressing", "False").is_some();
    let progresses = holds("Progressing", "True");
    let rolled = progresses.filter(|it| it.reason.as_deref() == Some(ROLLED));
    let rolls = progresses.filter(|_| rolled.is_none());
    let late = rolls.and_then(|it| it.last_update_time.as_ref()?.0.checked_add(START).ok());
    if stuck || late.is_some_and(|late| late <= now) {
        let message = format!(
            "new pods of Deployment {name} don't become ready: see {describe} for why; older ones, if there are any, keep \
             running"
        );
        return match stuck {
            true => Progress::failed(Reason::NotStarting, message),
            false => Progress::failing(Reason::NotStarting, message),
        };
    }
    if let Some(late) = late {
        desired.requeue_at(late);
    }
    match holds("Available", "True") {
        Some(_) => Progress::Ready,
        // All pods were available before.
        None if rolled.is_some() && ready == 0 => Progress::failing(Reason::Unavailable, message),
        None => Progress::waiting(Reason::Starting, message),
    }
}
