//! The placement-operator's composer: the inventory of resources, and who uses them.

mod config;

use c5c3_api::parts::ServiceStatus;
use c5c3_api::placement::PlacementSpec;
use provider_composer::{Composer, DesiredState, Failure, ObservedState, Subject, Use};
use provider_openstack::{
    Database, Files, KeystoneAccess, Migration, Migrations, PLACEMENT, Phase, Pods, Policy,
    Program, Service, ServiceContext, Workload, all, progress, uses,
};

/// Its configuration file.
const CONFIG: &str = "placement.conf";

/// Composes Placements.
pub struct Placement;

impl Composer for Placement {
    type Spec = PlacementSpec;
    type Status = ServiceStatus;
    const OPERATOR: &'static str = "placement-operator";

    fn uses(&self) -> Vec<Use> {
        uses()
    }

    fn compose(
        &self,
        subject: &Subject<PlacementSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<ServiceStatus, Failure> {
        let Subject { spec, status, .. } = subject;
        let service = PLACEMENT.service(&config::OWNED, subject, observed, &spec.common, status)?;
        let context = ServiceContext::of(&service, vec![service.api(&spec.api)?], desired)?;
        let database = Database::resolve(&service, "", &spec.database, desired);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, desired);
        let workload =
            all((&database, &access, &context.policy)).map(|(database, access, policy)| {
                workload(&service, database, access, policy, desired)
            });
        context.run(progress(&database), workload, desired)
    }
}

fn workload(
    service: &Service<'_>,
    database: &Database,
    access: &KeystoneAccess,
    policy: &Policy,
    desired: &mut DesiredState,
) -> Workload {
    let mut files = Files::default();
    let mut config = config::placement_conf(service, database, access, &mut files);
    policy.configure(service, &mut config, &mut files);
    files.config(CONFIG, &config);
    let files = files.compose(service, desired);
    let program = Program::default().mount("config", PLACEMENT.folder, files.source());
    let file = PLACEMENT.file(CONFIG);
    let migration = |name, phase, command: &str| Migration {
        name,
        phase,
        after: &[],
        database: database.place(),
        program: program
            .clone()
            .reading("placement-manage", &file, &["db", command]),
    };
    Workload {
        migrations: Migrations(vec![
            // New tables and columns only, which the older release doesn't mind.
            migration("db-sync", Phase::Sync, "sync"),
            migration("db-contract", Phase::Contract, "online_data_migrations"),
        ]),
        pods: vec![Pods::of(
            "api",
            program.variable("OS_PLACEMENT_CONFIG_DIR", PLACEMENT.folder),
        )],
        application_credential: Some(access.id().to_owned()),
        agents: None,
        outdated: None,
    }
}
