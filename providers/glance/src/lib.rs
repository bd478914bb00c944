//! The glance-operator's composer: images.

mod cache;
mod config;
mod store;

use c5c3_api::glance::GlanceSpec;
use c5c3_api::parts::ServiceStatus;
use k8s_openapi::api::batch::v1::CronJob;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use provider_composer::{
    Composer, Conditions, DesiredState, Failure, ObservedState, Resource, Subject, Use,
};
use provider_openstack::{
    Database, Files, GLANCE, KeystoneAccess, Migration, Migrations, Owned, Phase, Pods, Policy,
    Prerequisite, Program, Purge, Service, ServiceContext, Source, Tables, Workers, Workload, all,
    check_pools, progress, uses,
};

use store::Store;

/// Its configuration file.
const CONFIG: &str = "glance-api.conf";
/// The rule by which a project's members may say where an image is. Whoever knows the places of images could say that theirs is at
/// another's, and read it (<https://wiki.openstack.org/wiki/OSSN/OSSN-0065>).
const ADD_LOCATION: &str = "add_image_location";

/// Composes Glances.
pub struct Glance;

impl Composer for Glance {
    type Spec = GlanceSpec;
    type Status = ServiceStatus;
    const OPERATOR: &'static str = "glance-operator";

    fn uses(&self) -> Vec<Use> {
        let own = [
            Use::composes(CronJob::KIND),
            Use::keeps(PersistentVolumeClaim::KIND),
            Use::reads(StorageClass::KIND),
            Use::reads(Pod::KIND),
        ];
        uses().into_iter().chain(own).collect()
    }

    fn compose(
        &self,
        subject: &Subject<GlanceSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<ServiceStatus, Failure> {
        let Subject { spec, status, .. } = subject;
        let additional = spec.storage.additional.iter();
        let sections = additional.map(|store| Owned::section(&store.name, "storage.additional"));
        let owned: Vec<Owned<'_>> = config::OWNED.into_iter().chain(sections).collect();
        let service = GLANCE.service(&owned, subject, observed, &spec.common, status)?;
        let context = ServiceContext::of(&service, vec![service.api(&spec.api)?], desired)?;
        let purge = Purge::of(&context.jobs, &spec.deleted_rows.rows)?;
        let database = Database::resolve(&service, "", &spec.database, desired);
        let access = KeystoneAccess::resolve(&service, &spec.keystone, desired);
        let stores = store::resolve(&service, &spec.storage, desired)?;
        let pools = store::pools(&spec.storage, &stores);
        let stores: Prerequisite<Vec<Store>> = stores.into_iter().collect();
        let parts = all((&database, &stores, &access, &context.policy));
        let workload = parts.map(|parts| workload(&service, spec, parts, &purge, desired));
        if workload.is_err() {
            purge.keep(desired);
        }
        let status = context.run(progress(&database), workload, desired)?;
        purge.report(desired);
        let before = &subject.status.conditions;
        check_pools(&pools, before, &context.jobs, Conditions::set, desired);
        Ok(status)
    }
}

fn workload(
    service: &Service<'_>,
    spec: &GlanceSpec,
    (database, stores, access, policy): (&Database, &Vec<Store>, &KeystoneAccess, &Policy),
    purge: &Purge<'_>,
    desired: &mut DesiredState,
) -> Workload {
    let cache = spec.cache.as_ref();
    let mut files = Files::default();
    let mut config = config::glance_api_conf(service, cache, stores, database, access, &mut files);
    let mut policy = policy.clone();
    if store::are_cloned(stores) {
        policy.restrict(ADD_LOCATION, "role:service");
    }
    policy.configure(service, &mut config, &mut files);
    files.config(CONFIG, &config);
    let files = files.compose(service, desired);
    let program = Program::default().mount("config", GLANCE.folder, files.source());
    let file = GLANCE.file(CONFIG);
    let migration = |name, phase, after, words: &[&str]| Migration {
        name,
        phase,
        after,
        database: database.place(),
        program: program.clone().reading("glance-manage", &file, words),
    };
    let rows = &spec.deleted_rows;
    let tables = |names, after_days| Tables { names, after_days };
    let mut purged = vec![tables("(?!images$).*", rows.rows.purge_after_days)];
    let images = rows.purge_images_after_days;
    purged.extend(images.map(|days| tables("images", days)));
    purge.apply(program.clone(), &file, &purged, desired);
    let api = program
        .clone()
        .mount("scratch", config::STATE, Source::Images)
        .variable("OS_GLANCE_CONFIG_DIR", GLANCE.folder);
    let api = stores.iter().fold(api, |api, store| store.mount(api));
    let api = match cache {
        Some(cache) => cache::mount(cache, api),
        None => api,
    };
    Workload {
        migrations: Migrations(vec![
            migration("db-sync", Phase::Sync, &[], &["db_sync"]),
            migration("db-expand", Phase::Expand, &[], &["db", "expand"]),
            migration(
                "db-migrate",
                Phase::Expand,
                &["db-expand"],
                &["db", "migrate"],
            ),
            migration("db-contract", Phase::Contract, &[], &["db", "contract"]),
        ]),
        pods: vec![Pods {
            // An image is uploaded and downloaded in one request.
            workers: Workers {
                // Transfers wait for clients and stores most of the time.
                threads: 16,
                request_timeout: None,
                // As long as nginx waits for a client. A client that vanishes occupies one of the threads for so long.
                transfer_timeout: Some(60),
                ..Workers::default()
            },
            periodic: cache.map(|_| cache::prune(&file)).into_iter().collect(),
            ..Pods::of("api", reachable(service, api))
        }],
        application_credential: Some(access.id().to_owned()),
        agents: None,
        outdated: None,
    }
}

/// Sets the address of a replica, by which another one fetches what was staged here.
fn reachable(service: &Service<'_>, program: Program) -> Program {
    if service.common.tls.enabled {
        return program;
    }
    let url = format!("http://$(POD_IP):{}", GLANCE.port());
    program
        .field("POD_IP", "status.podIP")
        .variable("OS_DEFAULT__WORKER_SELF_REFERENCE_URL", url)
}
