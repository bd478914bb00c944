//! The keystone-operator's composer: identity.

mod bootstrap;
mod config;
mod federation;
pub mod keyring;
mod keys;
mod rotation;

use c5c3_api::keystone::KeystoneSpec;
use c5c3_api::parts::ServiceStatus;
use provider_composer::{
    Composer, DesiredState, Failure, ObservedState, Progress, Reason, Subject, Use,
};
use provider_openstack::{
    Config, Database, Files, KEYSTONE, Migration, Migrations, Owned, Phase, Pods, Policy,
    Prerequisite, Program, Service, ServiceContext, Source, Workload, all, cache, progress, uses,
};

use federation::Identities;
use keys::Purpose;

/// Its configuration file.
const CONFIG: &str = "keystone.conf";

/// Composes Keystones.
pub struct Keystone;

impl Composer for Keystone {
    type Spec = KeystoneSpec;
    type Status = ServiceStatus;
    const OPERATOR: &'static str = "keystone-operator";

    fn uses(&self) -> Vec<Use> {
        uses()
    }

    fn compose(
        &self,
        subject: &Subject<KeystoneSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<ServiceStatus, Failure> {
        let Subject { spec, status, .. } = subject;
        let federation = federation::owned(&spec.federation).iter().copied();
        let owned: Vec<Owned<'_>> = config::OWNED.into_iter().chain(federation).collect();
        let service = KEYSTONE.service(&owned, subject, observed, &spec.common, status)?;
        let context = ServiceContext::of(&service, vec![service.api(&spec.api)?], desired)?;
        let database =
            Database::resolve(&service, "", &spec.database, desired).and_then(Database::plain);
        let identities = Identities::resolve(&service, &spec.federation);
        let configured = configured(&service, spec, &database, &identities, &context.policy);
        let config = configured
            .as_ref()
            .map(|(_, files)| program(&service, files, desired));
        let program = config.map_err(Clone::clone);
        let config = configured.as_ref().ok().map(|(config, _)| config);
        let tokens = rotation::tokens(&service, &spec.fernet, config, desired)?;
        let usable = program.as_ref().ok();
        let credentials = rotation::credentials(&service, &context.jobs, usable, desired)?;
        let proxied = matches!(&identities, Ok(Some(_)));
        let workload = workload(&program, &database, [&tokens, &credentials], proxied);
        let status = context.run(progress(&database), workload, desired)?;
        desired.conditions.set("FernetKeysReady", &tokens);
        desired.conditions.set("CredentialKeysReady", &credentials);
        let migrated =
            program
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|program| match &status.release {
                    Some(_) => Ok(program),
                    None => Err(Progress::waiting(
                        Reason::WaitingFor("Database"),
                        "waits for the database's tables",
                    )),
                });
        let bootstrapped = bootstrap::bootstrap(&service, spec, &context.jobs, migrated, desired);
        desired.conditions.set("Bootstrapped", &bootstrapped);
        Ok(status)
    }
}

/// What Keystone reads.
fn configured(
    service: &Service<'_>,
    spec: &KeystoneSpec,
    database: &Prerequisite<Database>,
    identities: &Prerequisite<Option<Identities<'_>>>,
    policy: &Prerequisite<Policy>,
) -> Prerequisite<(Config, Files)> {
    let cache = cache(service, &spec.cache);
    let database = database.as_ref().map_err(Clone::clone)?;
    let (cache, policy) = (cache?, policy.as_ref().map_err(Clone::clone)?);
    let mut files = Files::default();
    let mut config = config::keystone_conf(service, spec, database, &cache, &mut files);
    if let Some(identities) = identities.as_ref().map_err(Clone::clone)? {
        identities.configure(service, &mut config, &mut files);
    }
    policy.configure(service, &mut config, &mut files);
    files.config(CONFIG, &config);
    files.text("warm.py", include_str!("warm.py"));
    Ok((config, files))
}

/// What every program of Keystone sees.
fn program(service: &Service<'_>, files: &Files, desired: &mut DesiredState) -> Program {
    let config = files.clone().compose(service, desired);
    let keys = |purpose: Purpose| Source::Secret(purpose.mounted(service));
    Program::default()
        .mount("config", KEYSTONE.folder, config.source())
        .mount("fernet-keys", config::FERNET_KEYS, keys(Purpose::Tokens))
        .mount(
            "credential-keys",
            config::CREDENTIAL_KEYS,
            keys(Purpose::Credentials),
        )
}

fn workload(
    program: &Prerequisite<Program>,
    database: &Prerequisite<Database>,
    keys: [&Progress; 2],
    proxied: bool,
) -> Prerequisite<Workload> {
    let (program, database) = all((program, database))?;
    if let Some(unready) = keys
        .into_iter()
        .find(|keys| matches!(keys, Progress::Waiting { .. } | Progress::Unknown { .. }))
    {
        return Err(unready.clone());
    }
    let migration = |name, phase, after, option: &[&str]| Migration {
        name,
        phase,
        after,
        database: database.place(),
        program: manage(program, &[&["db_sync"], option].concat()),
    };
    let program = program.clone();
    Ok(Workload {
        migrations: Migrations(vec![
            migration("db-sync", Phase::Sync, &[], &[]),
            migration("db-expand", Phase::Expand, &[], &["--expand"]),
            migration("db-migrate", Phase::Expand, &["db-expand"], &["--migrate"]),
            migration("db-contract", Phase::Contract, &[], &["--contract"]),
        ]),
        pods: vec![Pods {
            reverse_proxy: proxied.then(Identities::reverse_proxy),
            ..Pods::of(
                "api",
                program.variable("OS_KEYSTONE_CONFIG_FILES", KEYSTONE.file(CONFIG)),
            )
        }],
        application_credential: None,
        agents: None,
        outdated: None,
    })
}

/// A command of keystone-manage.
fn manage(program: &Program, words: &[&str]) -> Program {
    program
        .clone()
        .reading("keystone-manage", &KEYSTONE.file(CONFIG), words)
}
