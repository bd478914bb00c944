//! The tempest-operator's composer: tests of a control plane, on a schedule and once for each change of what is tested.

mod config;
mod report;
mod runs;

use c5c3_api::parts::{AppCredentialRef, Common, KeystoneAccess as Access, ServiceStatus, Storage};
use c5c3_api::tempest::{TempestSpec, TempestStatus};
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::{
    Composer, DesiredState, Failure, Key, ObservedState, Resource, Subject, Use,
};
use provider_openstack::{
    Cron, Files, KeystoneAccess, Program, Service, Source, TEMPEST, dependencies, lasting_volume,
    uses_of_jobs,
};

use runs::Runs;

/// The folder of the application credential in a pod.
const CREDENTIAL: &str = "/etc/tempest/credential";
/// The volume of the logs, and the suffix of its claim's name.
const LOGS: &str = "logs";
/// The folder of the logs in a pod.
const LOG_FOLDER: &str = "/var/log/tempest";

/// Composes Tempests.
pub struct Tempest;

impl Composer for Tempest {
    type Spec = TempestSpec;
    type Status = TempestStatus;
    const OPERATOR: &'static str = "tempest-operator";

    fn uses(&self) -> Vec<Use> {
        let mut uses = uses_of_jobs();
        uses.extend([
            Use::composes(CronJob::KIND),
            Use::reads(Pod::KIND),
            Use::keeps(PersistentVolumeClaim::KIND),
            Use::reads(StorageClass::KIND),
        ]);
        uses
    }

    fn compose(
        &self,
        subject: &Subject<TempestSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<TempestStatus, Failure> {
        let spec = &subject.spec;
        let (common, status) = (common(spec), ServiceStatus::default());
        let service = TEMPEST.service(&config::OWNED, subject, observed, &common, &status)?;
        Cron::of_field("schedule", &spec.schedule)?;
        let waits = dependencies(&service)?;
        if !spec.depends_on.is_empty() {
            desired.conditions.set("DependenciesReady", &waits);
        }
        keep_logs(spec, &service, desired);
        let access = KeystoneAccess::of_client(&service, &keystone(spec));
        let runs = Runs::of(&service, subject, desired);
        let (once, id) = match &access {
            Ok(access) => {
                let program = program(spec, &service, &runs, access, desired);
                let once = runs.run(spec, program, &waits, desired);
                (once, Some(access.id()))
            }
            Err(pending) => {
                runs.keep(desired);
                (pending.clone(), None)
            }
        };
        let scheduled = access.as_ref().err().unwrap_or(&waits);
        desired.conditions.set("TestsScheduled", scheduled);
        Ok(runs.report(id, once, desired))
    }
}

/// What Tempest has in common with services that have an API.
fn common(spec: &TempestSpec) -> Common {
    Common {
        release: spec.release.clone(),
        image: spec.image.clone(),
        topology: spec.topology.clone(),
        extra_config: spec.extra_config.clone(),
        depends_on: spec.depends_on.clone(),
        ..Common::default()
    }
}

/// How Tempest authenticates, with the default name of its Secret.
fn keystone(spec: &TempestSpec) -> Access {
    let given = &spec.keystone;
    Access {
        auth_url: given.auth_url.clone(),
        region: given.region.clone(),
        app_credential_ref: Some(AppCredentialRef {
            secret_name: match &given.app_credential_ref {
                Some(reference) => reference.name.clone(),
                None => TEMPEST.keystone_credentials(),
            },
        }),
        ..Access::default()
    }
}

/// Composes the volume of the logs, which outlasts the Tempest.
fn keep_logs(spec: &TempestSpec, service: &Service<'_>, desired: &mut DesiredState) {
    let Some(logs) = &spec.logs else {
        return;
    };
    let key = Key::of::<PersistentVolumeClaim>(service.namespace, &service.named(LOGS));
    let storage = Storage {
        size: logs.size.clone(),
        class: logs.storage_class.clone(),
    };
    let (metadata, observed) = (service.metadata(LOGS), service.observed);
    // Runs don't overlap.
    lasting_volume(&key, metadata, "ReadWriteOnce", storage, observed, desired);
}

/// The program of a run, with its files. The application credential is mounted as it is, so that each run has the present one.
fn program(
    spec: &TempestSpec,
    service: &Service<'_>,
    runs: &Runs<'_>,
    access: &KeystoneAccess,
    desired: &mut DesiredState,
) -> Program {
    let mut files = Files::default();
    let conf = config::tempest_conf(service, runs.prefix(), access, &mut files);
    files.config("tempest.conf", &conf);
    files.text("tests.json", config::choice(spec, runs.owner()).to_string());
    files.text("run.py", include_str!("run.py"));
    files.text("cloud.py", include_str!("cloud.py"));
    let files = files.compose(service, desired);
    let secret = keystone(spec).app_credential_ref;
    let secret = secret.map(|reference| reference.secret_name);
    let script = TEMPEST.file("run.py");
    let program = Program::default()
        .command(["python3".to_owned(), script])
        .mount("config", TEMPEST.folder, files.source())
        .mount(
            "credential",
            CREDENTIAL,
            Source::Secret(secret.unwrap_or_default()),
        );
    match spec.logs {
        Some(_) => program.mount(LOGS, LOG_FOLDER, Source::Claim(service.named(LOGS))),
        None => program,
    }
}
