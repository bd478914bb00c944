//! Backends: pools in Ceph, each with its own configuration, key and programs.

use c5c3_api::Condition;
use c5c3_api::cinder::{self, BackendStatus, CinderSpec};
use c5c3_api::hypervisor::CEPH_KEY;
use provider_composer::{Conditions, DesiredState, Failure, Progress, Reason};
use provider_openstack::{
    AgentSecret, CINDER_VOLUME, Config, Extra, Files, Jobs, Options, Pods, Pool, Prerequisite,
    Service, ServiceContext, progress, said, sum, uuid,
};

use crate::config::{self, Facts};
use crate::{CONFIG, members};

/// The folder where Ceph's libraries look for configuration and keys.
pub const CEPH: &str = "/etc/ceph";
/// How many characters the names of resource and backend may have together: Kubernetes adds the component and a hash to the name of
/// a StatefulSet, and puts the result into a label, which has at most 63.
const LONGEST: usize = 44;

/// A backend.
pub struct Backend<'a> {
    spec: &'a cinder::Backend,
    /// Its pool.
    pub pool: Prerequisite<Pool>,
    options: Extra,
    /// UUID of the secret under which libvirt finds the key.
    uuid: String,
}

/// Returns the backends of a Cinder.
///
/// # Errors
/// A name is too long or taken, or an option isn't one of a backend's.
pub fn resolve<'a>(
    service: &Service<'_>,
    spec: &'a CinderSpec,
) -> Result<Vec<Backend<'a>>, Failure> {
    let backends = spec.backends.iter();
    let each = backends.map(|spec| {
        let name = &spec.name;
        check(service, name)?;
        let field = format!("backends[{name}]");
        let options = format!("{field}.options");
        let listed = (options.as_str(), config::LISTED);
        let derived = || uuid([service.namespace, service.name, name]);
        let pool = Pool::resolve(service, &field, &spec.rbd);
        Ok(Backend {
            options: Extra::of_section(
                service.definition.name,
                &config::BACKEND,
                service.release,
                service.common,
                listed,
                &spec.options,
            )?,
            // os-brick looks for the key by the user's name, and hypervisors get it too.
            pool: pool.and_then(|pool| {
                pool.key()?;
                pool.plainly_named()
            }),
            uuid: spec.secret_uuid.clone().unwrap_or_else(derived),
            spec,
        })
    });
    each.collect()
}

/// Checks the name of a backend.
fn check(service: &Service<'_>, name: &str) -> Result<(), Failure> {
    let invalid = |message| Err(Failure::new(Reason::Invalid, message));
    let length = service.name.len() + name.len();
    if length > LONGEST {
        return invalid(format!(
            "the names of this resource and of its backend {name} have {length} characters together, and at most {LONGEST} fit into \
             the names of pods: give the backend a shorter name"
        ));
    }
    let known = Options::of(service.definition.name, service.release);
    let mut sections = known
        .iter()
        .flat_map(|known| known.all().map(|option| option.section));
    // The configuration of Ceph for the backend is a file beside Cinder's.
    match sections.any(|section| section == name) || conf(name) == CONFIG {
        true => invalid(format!(
            "backends has {name}, which is the name of a section or of the file of Cinder's configuration: give the backend another name"
        )),
        false => Ok(()),
    }
}

/// The file with the configuration of Ceph for a backend.
fn conf(backend: &str) -> String {
    format!("{backend}.conf")
}

impl Backend<'_> {
    /// The component that works on its volumes.
    fn component(&self) -> String {
        format!("{}-{}", self.spec.name, CINDER_VOLUME.name)
    }

    /// What its pods run.
    pub fn pods(&self, facts: &Facts<'_>, desired: &mut DesiredState) -> Pods {
        let pool = match &self.pool {
            Ok(pool) => pool,
            Err(pending) => return Pods::waiting(self.component(), pending.clone()),
        };
        let mut files = Files::default();
        let mut config = facts.common(&mut files);
        config
            .section("DEFAULT")
            .set("enabled_backends", &self.spec.name)
            // Members of one cluster share their volumes, and each continues what another left behind.
            .set("cluster", facts.service.name);
        self.configure(pool, facts.spec, &mut config);
        self.files(pool, &mut files);
        facts.finish(&mut config);
        config.section(self.spec.name.clone()).merge(&self.options);
        files.config(CONFIG, &config);
        let component = self.component();
        members(facts, (&component, "cinder-volume"), files, desired)
    }

    /// Its section (<https://docs.openstack.org/cinder/latest/configuration/block-storage/drivers/ceph-rbd-volume-driver.html>).
    fn configure(&self, pool: &Pool, spec: &CinderSpec, config: &mut Config) {
        let name = &self.spec.name;
        let section = config.section(name.clone());
        section
            .set("volume_driver", &self.spec.driver)
            .set("volume_backend_name", name)
            .set("rbd_pool", &pool.pool)
            .set("rbd_user", &pool.user)
            // Distinguishes the keys of users with one name in several Cephs.
            .set("rbd_cluster_name", name)
            .set("rbd_ceph_conf", format!("{CEPH}/{}", conf(name)))
            .set("rbd_secret_uuid", &self.uuid)
            // Otherwise the size of each volume is asked for with every report of the pool's capacity.
            .set("rbd_exclusive_cinder_pool", true);
        if let Some(cache) = &spec.image_volume_cache {
            section
                .set("image_volume_cache_enabled", true)
                .set("image_volume_cache_max_size_gb", cache.max_size_gb)
                .set("image_volume_cache_max_count", cache.max_count.unwrap_or(0));
        }
    }

    /// Adds the configuration of Ceph and the key of its user.
    pub fn files(&self, pool: &Pool, files: &mut Files) {
        let name = &self.spec.name;
        let keyring = format!("{name}.client.{}.keyring", pool.user);
        pool.files(CEPH, &conf(name), &keyring, files);
    }
}

/// Composes the Secret with the keys by which servers use the volumes. The keys of backends that aren't ready or were removed stay:
/// without them, hypervisors can't start servers with such volumes.
pub fn publish(service: &Service<'_>, backends: &[Backend<'_>], desired: &mut DesiredState) {
    let secret = AgentSecret::of(service, "compute");
    let Ok(mut files) = secret.published() else {
        return secret.keep(desired);
    };
    for backend in backends {
        if let Ok(key) = backend
            .pool
            .as_ref()
            .map_err(Clone::clone)
            .and_then(Pool::key)
        {
            files.secret(&format!("{CEPH_KEY}{}", backend.uuid), key);
        }
    }
    if !files.is_empty() {
        secret.apply(files, desired);
    }
}

/// Checks the pools of backends and backups, and returns how each backend's is reached.
pub fn check_pools(
    backends: &[Backend<'_>],
    backup: Option<&Pool>,
    before: &[Condition],
    jobs: &Jobs<'_>,
    desired: &mut DesiredState,
) -> Vec<Progress> {
    let of = |backend: &Backend<'_>| (backend.spec.name.clone(), backend.pool.clone());
    let mut pools: Vec<(String, Prerequisite<Pool>)> = backends.iter().map(of).collect();
    if let Some(pool) = backup {
        pools.push(("backup".to_owned(), Ok(pool.clone())));
    }
    let report = Conditions::set;
    let mut reached = provider_openstack::check_pools(&pools, before, jobs, report, desired);
    reached.truncate(backends.len());
    reached
}

/// How each backend is: its pool, then its programs.
pub fn report(
    backends: &[Backend<'_>],
    pools: &[Progress],
    context: &ServiceContext<'_>,
) -> Vec<BackendStatus> {
    let each = backends.iter().zip(pools);
    let each = each.map(|(backend, pool)| {
        let state = match pool {
            Progress::Ready => context.availability(&backend.component()),
            pending => pending.clone(),
        };
        BackendStatus {
            name: backend.spec.name.clone(),
            status: Some(said(&state).to_owned()),
            secret_uuid: Some(backend.uuid.clone()),
            available_capacity_gb: None,
        }
    });
    each.collect()
}

/// The progress of all pools.
pub fn pools(backends: &[Backend<'_>]) -> Progress {
    let states = backends.iter();
    let states: Vec<(String, Progress)> = states
        .map(|backend| (backend.spec.name.clone(), progress(&backend.pool)))
        .collect();
    sum(&states)
}
