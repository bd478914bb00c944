//! The placement-operator's composer: the inventory of resources, and who uses them.

mod config;

use c5c3_api::parts::ServiceStatus;
use c5c3_api::placement::PlacementSpec;
use provider_composer::{Composer, Composition, Failure, Resource, Subject, Use, World};
use provider_openstack::{
    About, Database, Files, Ground, KeystoneAccess, Migrations, Policy, Program, Scale, Service,
    Workload, all, progress, uses,
};

/// What is always so of Placement.
pub const ABOUT: About = About {
    name: "placement",
    type_: "placement",
    port: 8778,
    module: "placement.wsgi.api",
    health: "/",
    folder: "/etc/placement/config",
    owned: &config::OWNED,
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
        world: &World<'_>,
        composition: &mut Composition,
    ) -> Result<ServiceStatus, Failure> {
        let spec = &subject.spec;
        let scale = Scale {
            replicas: spec.replicas,
            autoscaling: spec.autoscaling.as_ref(),
            resources: &spec.resources,
        };
        let service = Service::of(ABOUT, subject, &spec.common, scale)?;
        let ground = Ground::of(&service, Subject::<PlacementSpec>::KIND, world, composition)?;
        let database = Database::resolve(&service, &spec.database, world, composition);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, world, composition);
        let workload =
            all((&database, &access, &ground.policy)).map(|(database, access, policy)| {
                workload(&service, database, access, policy, composition)
            });
        ground.run(progress(&database), workload, world, composition)
    }
}

fn workload(
    service: &Service<'_>,
    database: &Database,
    access: &KeystoneAccess,
    policy: &Policy,
    composition: &mut Composition,
) -> Workload {
    let mut files = Files::default();
    let mut config = config::placement_conf(service, database, access, &mut files);
    policy.configure(service, &mut config, &mut files);
    files.config(CONFIG, &config);
    let files = files.compose(service, composition);
    let program = Program::default().mount("config", ABOUT.folder, files.source());
    let file = format!("{}/{CONFIG}", ABOUT.folder);
    let manage = |command: &str| {
        let words = ["placement-manage", "--config-file", &file, "db", command];
        program.clone().command(words.map(str::to_owned))
    };
    Workload {
        chores: Vec::new(),
        front: None,
        migrations: Migrations {
            database: database.place(),
            sync: manage("sync"),
            // New tables and columns only, which the older release doesn't mind.
            expand: None,
            migrate: None,
            contract: Some(manage("online_data_migrations")),
        },
        program: program.variable("OS_PLACEMENT_CONFIG_DIR", ABOUT.folder),
        application_credential: Some(access.id().to_owned()),
    }
}
