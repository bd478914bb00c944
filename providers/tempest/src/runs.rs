//! The runs of tests: those that there are, and those that are wanted.

use c5c3_api::control_plane::ControlPlaneSpec;
use c5c3_api::tempest::{TempestSpec, TempestStatus};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::Pod;
use provider_composer::{
    DesiredState, Key, Live, Lookup, Progress, Reason, ResourceKind, Subject, label_pairs,
};
use provider_openstack::{
    Jobs, Prerequisite, Program, Schedule, Service, Task, digest, requirements,
};

use crate::config;
use crate::report::{CLEANED_UP, PASSED, Run, before};

/// The task that runs the tests once.
const RUN: &str = "run";
/// The suffix of the CronJob's name.
const SCHEDULED: &str = "scheduled";
/// Label of pods: a digest of what they test.
const TESTED: &str = "c5c3.io/tested";

/// The runs of one resource's tests.
pub struct Runs<'a> {
    service: &'a Service<'a>,
    jobs: Jobs<'a>,
    pods: Lookup<Vec<Live<Pod>>>,
    /// Whether a run of the schedule may not be over.
    is_scheduled: bool,
    before: &'a TempestStatus,
    /// What is tested.
    purpose: String,
    /// What the names of all begin with that a run creates in the cloud.
    prefix: String,
    /// The description of the domain that a run creates.
    owner: String,
}

impl<'a> Runs<'a> {
    /// Observes the runs.
    pub fn of(
        service: &'a Service<'a>,
        subject: &'a Subject<TempestSpec>,
        desired: &mut DesiredState,
    ) -> Self {
        let spec = &subject.spec;
        let own = subject.metadata.uid.as_deref().unwrap_or_default();
        let of_own = format!("Tests of the Tempest with the UID {own}");
        // A Tempest that a ControlPlane creates again deletes what runs of the one before it left. Owners of other kinds may have several
        // Tempests at once.
        let control_plane = ResourceKind::of::<ControlPlaneSpec>();
        let (uid, owner) = match subject.metadata.controller_of(control_plane) {
            Some(uid) => (uid, format!("Tests of the owner with the UID {uid}")),
            None => (own, of_own.clone()),
        };
        let tested = (
            service.release.to_string(),
            &service.image,
            // With its own UID, so that an upgrade from earlier versions, which knew no other, repeats no tests.
            config::choice(spec, &of_own),
            &spec.extra_config,
        );
        let purpose = desired.json("what is tested", &tested).to_string();
        let identity = service.identity();
        let mut of_pods = identity.clone();
        of_pods.insert(TESTED.to_owned(), digest([purpose.as_str()]));
        let jobs = Jobs::of(service);
        Self {
            service,
            is_scheduled: jobs.may_run(SCHEDULED),
            jobs: jobs.with_pods(requirements(&spec.resources), of_pods),
            pods: service.list::<Pod>(&label_pairs(&identity)),
            before: &subject.status,
            purpose,
            prefix: format!("tempest-{}", digest([uid])),
            owner,
        }
    }

    /// What the names of all begin with that a run creates in the cloud. Others can't have the same by chance.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The description of the domain that a run creates: a run deletes only a domain that has it.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Runs the tests once for what is tested now, and on the schedule unless that is suspended. Never two at once, since each run deletes what an
    /// interrupted one left behind. Returns the progress of the first.
    pub fn run(
        &self,
        spec: &TempestSpec,
        program: Program,
        waits: &Progress,
        desired: &mut DesiredState,
    ) -> Progress {
        if self.may_be_active() {
            self.jobs.keep_files(desired);
        }
        let task = Task {
            name: RUN,
            purpose: self.purpose.clone(),
            migrates: None,
            program: program.clone(),
            often: "Keystone can't be reached or refuses the application credential".to_owned(),
        };
        let once = match self.free(waits) {
            Err(pending) if !self.jobs.has_done(&task) => {
                self.jobs.keep(&[RUN], desired);
                pending
            }
            _ => self.jobs.once(&task, desired),
        };
        let schedule = Schedule {
            name: SCHEDULED,
            when: spec.schedule.as_str().to_owned(),
            program,
            deadline: None,
            suspended: spec.suspend
                || !waits.is_ready()
                || matches!(once, Progress::Waiting { .. }),
        };
        self.jobs.on_schedule(&schedule, desired);
        once
    }

    /// Waits for the dependencies, and for a run of the schedule.
    fn free(&self, waits: &Progress) -> Prerequisite<()> {
        if let Lookup::Unknown(message) = &self.pods {
            return Err(Progress::unknown(message));
        }
        let scheduled = self.service.named(SCHEDULED);
        let busy = self
            .active()
            .find(|pod| pod.metadata.name.starts_with(&scheduled));
        match (waits, busy) {
            (Progress::Ready, None) if self.is_scheduled => Err(Progress::waiting(
                Reason::WaitingFor("Job"),
                format!("waits until no Job of CronJob {scheduled} runs or is tried again"),
            )),
            (Progress::Ready, None) => Ok(()),
            (Progress::Ready, Some(pod)) => Err(Progress::waiting(
                Reason::WaitingFor("Pod"),
                format!("waits for Pod {}, which runs tests", pod.metadata.name),
            )),
            (waits, _) => Err(waits.clone()),
        }
    }

    /// Keeps everything as it is.
    pub fn keep(&self, desired: &mut DesiredState) {
        let (namespace, name) = (self.service.namespace, self.service.named(SCHEDULED));
        desired.keep(Key::of::<CronJob>(namespace, &name));
        self.jobs.keep(&[RUN], desired);
        self.jobs.keep_files(desired);
    }

    /// Sets the conditions of the last run, and returns the status. `once` is the progress of the run of what is tested now; `id` that
    /// of the application credential.
    pub fn report(
        &self,
        id: Option<&str>,
        once: Progress,
        desired: &mut DesiredState,
    ) -> TempestStatus {
        let mut status = TempestStatus {
            conditions: Vec::new(),
            ..self.before.clone()
        };
        let tested = Some(digest([self.purpose.as_str()]));
        let ended = self.ended();
        for run in &ended {
            run.record(self.service, &mut status);
            status.tested = tested.clone();
        }
        let conditions = &self.before.conditions;
        let passed = match ended.last() {
            Some(run) => Some(run.passed(self.service)),
            None if status.tested == tested => before(conditions, PASSED),
            None => None,
        };
        let passed = passed.unwrap_or_else(|| match once {
            Progress::Ready => Progress::Unknown {
                message: format!(
                    "the tests ran, and the pod is deleted: run them again by `kubectl create job -n {} --from=cronjob/{} NAME`",
                    self.service.namespace,
                    self.service.named(SCHEDULED)
                ),
            },
            once => once,
        });
        desired.conditions.note_result(PASSED, &passed);
        let cleaned_up = ended.last();
        let cleaned_up = cleaned_up.and_then(|run| run.cleaned_up(self.service, &self.prefix));
        if let Some(cleaned_up) = cleaned_up.or_else(|| before(conditions, CLEANED_UP)) {
            desired.conditions.note(CLEANED_UP, &cleaned_up);
        }
        // A run uses the credential that it began with.
        if let Some(id) = id.filter(|_| !self.may_be_active()) {
            status.application_credential = Some(id.to_owned());
        }
        status
    }

    /// The runs of what is tested now that have ended since the last one that the status knows, oldest first.
    fn ended(&self) -> Vec<Run<'_>> {
        let tested = digest([self.purpose.as_str()]);
        let known = self.before.last_run.as_deref();
        let known = known.and_then(|time| time.parse::<Timestamp>().ok());
        let mut ended: Vec<Run<'_>> = self
            .found()
            .filter(|pod| pod.metadata.labels.get(TESTED) == Some(&tested))
            .filter_map(Run::of)
            .filter(|run| known.is_none_or(|known| run.finished() > known))
            .collect();
        ended.sort_by_key(Run::finished);
        ended
    }

    /// Whether a pod runs or will, as far as pods and the CronJob can be read.
    fn may_be_active(&self) -> bool {
        let is_unknown = matches!(self.pods, Lookup::Unknown(_));
        is_unknown || self.is_scheduled || self.active().next().is_some()
    }

    /// The pods that run, or will.
    fn active(&self) -> impl Iterator<Item = &Live<Pod>> {
        self.found().filter(|pod| {
            let status = pod.body.status.as_ref();
            let phase = status.and_then(|status| status.phase.as_deref());
            !matches!(phase, Some("Succeeded" | "Failed"))
        })
    }

    fn found(&self) -> impl Iterator<Item = &Live<Pod>> {
        self.pods.as_ref().found().into_iter().flatten()
    }
}
