//! The glance-operator's composer: images.

mod cache;
mod ceph;
mod config;
mod store;

use c5c3_api::glance::{GlanceSpec, ImageCache};
use c5c3_api::parts::ServiceStatus;
use k8s_openapi::api::core::v1::{
    EnvVar, EnvVarSource, ObjectFieldSelector, PersistentVolumeClaim,
};
use provider_composer::{Composer, Composition, Failure, Resource, Subject, Use, World};
use provider_openstack::{
    About, Awaited, Database, Files, Ground, KeystoneAccess, Migrations, Owned, Policy, Program,
    Scale, Service, Source, Workload, all, progress, uses,
};

use store::Store;

/// What is always so of Glance.
pub const ABOUT: About = About {
    name: "glance",
    type_: "image",
    port: 9292,
    module: "glance.wsgi.api",
    health: "/healthcheck",
    folder: "/etc/glance/config",
    owned: &config::OWNED,
};
/// Its configuration file.
const CONFIG: &str = "glance-api.conf";

/// Composes Glances.
pub struct Glance;

impl Composer for Glance {
    type Spec = GlanceSpec;
    type Status = ServiceStatus;
    const OPERATOR: &'static str = "glance-operator";

    fn uses(&self) -> Vec<Use> {
        let volumes = Use::composes(PersistentVolumeClaim::KIND);
        uses().into_iter().chain([volumes]).collect()
    }

    fn compose(
        &self,
        subject: &Subject<GlanceSpec>,
        world: &World<'_>,
        composition: &mut Composition,
    ) -> Result<ServiceStatus, Failure> {
        let spec = &subject.spec;
        let scale = Scale {
            replicas: spec.replicas,
            autoscaling: spec.autoscaling.as_ref(),
            resources: &spec.resources,
        };
        let additional = spec.storage.additional.iter();
        let sections = additional.map(|store| Owned::section(&store.name, "storage.additional"));
        let owned: Vec<Owned<'_>> = config::OWNED.into_iter().chain(sections).collect();
        let about = About {
            owned: &owned,
            ..ABOUT
        };
        let service = Service::of(about, subject, &spec.common, scale)?;
        let ground = Ground::of(&service, Subject::<GlanceSpec>::KIND, world, composition)?;
        let database = Database::resolve(&service, &spec.database, world, composition);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, world, composition);
        let stores = store::resolve(&service, &spec.storage, world, composition)?;
        let connected = ceph::connected(&spec.storage, &stores, &ground.jobs, composition);
        let stores: Awaited<Vec<Store>> = stores.into_iter().collect();
        let parts = all((&database, &stores, &access, &ground.policy));
        let workload =
            parts.map(|parts| workload(&service, spec.cache.as_ref(), parts, composition));
        let status = ground.run(progress(&database), workload, world, composition)?;
        if let Some(connected) = connected {
            composition.conditions.set("CephConnected", &connected);
        }
        Ok(status)
    }
}

fn workload(
    service: &Service<'_>,
    cache: Option<&ImageCache>,
    (database, stores, access, policy): (&Database, &Vec<Store>, &KeystoneAccess, &Policy),
    composition: &mut Composition,
) -> Workload {
    let mut files = Files::default();
    let mut config = config::glance_api_conf(service, cache, stores, database, access, &mut files);
    policy.configure(service, &mut config, &mut files);
    files.config(CONFIG, &config);
    let files = files.compose(service, composition);
    let program = Program::default().mount("config", ABOUT.folder, files.source());
    let file = format!("{}/{CONFIG}", ABOUT.folder);
    let manage = |command: &[&str]| {
        let words = ["glance-manage", "--config-file", &file];
        let words = words.iter().chain(command).map(|word| (*word).to_owned());
        program.clone().command(words)
    };
    let api = program
        .clone()
        .mount("scratch", config::SCRATCH, Source::Scratch)
        .variable("OS_GLANCE_CONFIG_DIR", ABOUT.folder);
    let api = stores.iter().fold(api, |api, store| store.mount(api));
    let api = match cache {
        Some(cache) => cache::mount(cache, api),
        None => api,
    };
    Workload {
        chores: cache.map(|_| cache::chore(&file)).into_iter().collect(),
        front: None,
        migrations: Migrations {
            database: database.place(),
            sync: manage(&["db_sync"]),
            expand: Some(manage(&["db", "expand"])),
            migrate: Some(manage(&["db", "migrate"])),
            contract: Some(manage(&["db", "contract"])),
        },
        program: reachable(service, api),
        application_credential: Some(access.id().to_owned()),
    }
}

/// Tells a replica its own address, which another one asks for what was staged here.
fn reachable(service: &Service<'_>, mut program: Program) -> Program {
    if service.common.tls.enabled {
        return program;
    }
    program.env.push(EnvVar {
        name: "POD_IP".to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: "status.podIP".to_owned(),
                ..ObjectFieldSelector::default()
            }),
            ..EnvVarSource::default()
        }),
    });
    let url = format!("http://$(POD_IP):{}", ABOUT.port);
    program.variable("OS_DEFAULT__WORKER_SELF_REFERENCE_URL", url)
}
