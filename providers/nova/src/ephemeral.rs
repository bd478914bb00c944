//! Servers' disks in a pool in Ceph, instead of on the hosts.

use c5c3_api::Condition;
use c5c3_api::hypervisor::CEPH_KEY;
use c5c3_api::nova::{Disks, NovaSpec, NovaStatus};
use provider_composer::{Conditions, DesiredState, Progress, Reason};
use provider_openstack::{
    Config, Files, Jobs, NOVA, Pool, Prerequisite, Service, check_pools, progress, uuid,
};

/// The files of Ceph's configuration and key.
const CONF: &str = "ceph.conf";
const KEYRING: &str = "ceph.keyring";

/// A pool in Ceph with the disks of servers.
pub struct Ephemeral {
    pool: Pool,
    key: String,
    /// UUID of the secret under which libvirt finds the key.
    uuid: String,
}

/// Where disks are: what is wanted when Nova is installed, and ever since what was decided then.
pub fn decide(service: &Service<'_>, spec: &NovaSpec, status: &NovaStatus) -> Disks {
    match (&spec.ephemeral, service.installed) {
        (Some(_), None) => Disks::Ceph,
        (None, None) => Disks::Hosts,
        _ => status.disks.unwrap_or(Disks::Hosts),
    }
}

/// Sets `EphemeralStorageReady`, where there is a pool or should be one.
pub fn report(
    disks: Disks,
    service: &Service<'_>,
    spec: &NovaSpec,
    ephemeral: &Prerequisite<Option<Ephemeral>>,
    desired: &mut DesiredState,
) {
    let condition = "EphemeralStorageReady";
    match (disks, &spec.ephemeral) {
        (Disks::Hosts, None) => {}
        (Disks::Hosts, Some(_)) => {
            let patch = r#"{"status": {"disks": "Ceph"}}"#;
            let message = format!(
                "the disks of servers have been on the hosts since Nova was installed, and servers would lose them: remove \
                 ephemeral, or delete all servers and run `kubectl patch nova {} -n {} --subresource status --type merge \
                 --patch '{patch}'`",
                service.name, service.namespace
            );
            let progress = Progress::waiting(Reason::Unsupported, message);
            desired.conditions.note(condition, &progress);
        }
        (Disks::Ceph, _) => desired.conditions.set(condition, &progress(ephemeral)),
    }
}

/// Checks the pool, if disks are in one. Ready doesn't wait for it, since nova-compute uses the pool on hypervisors, and a Nova that runs
/// must stay Ready when it is first checked.
pub fn check(
    ephemeral: &Prerequisite<Option<Ephemeral>>,
    before: &[Condition],
    jobs: &Jobs<'_>,
    desired: &mut DesiredState,
) {
    let pool = match ephemeral {
        Ok(None) => return,
        Ok(Some(ephemeral)) => Ok(ephemeral.pool.clone()),
        Err(pending) => Err(pending.clone()),
    };
    let pools = [("ephemeral".to_owned(), pool)];
    // A condition that is Unknown until the first check would stay so until the second.
    let unless_it_waits = |conditions: &mut Conditions, type_: &str, progress: &Progress| {
        if !matches!(progress, Progress::Waiting { .. }) {
            conditions.note_result(type_, progress);
        }
    };
    check_pools(&pools, before, jobs, unless_it_waits, desired);
}

/// Returns the pool, if disks are in one.
///
/// # Errors
/// It isn't named, its Secret isn't there, or that lacks something.
pub fn resolve(
    disks: Disks,
    service: &Service<'_>,
    spec: &NovaSpec,
) -> Prerequisite<Option<Ephemeral>> {
    if disks == Disks::Hosts {
        return Ok(None);
    }
    let wanted = spec.ephemeral.as_ref().ok_or_else(|| {
        Progress::failed(
            Reason::Invalid,
            "the disks of servers are in Ceph, and ephemeral doesn't name their pool: set it to the pool that it had",
        )
    })?;
    let pool = Pool::resolve(service, "ephemeral", wanted)?;
    let pool = pool.plainly_named()?.connection()?;
    Ok(Some(Ephemeral {
        key: pool.key()?.to_owned(),
        uuid: uuid([service.namespace, service.name, "ephemeral"]),
        pool,
    }))
}

impl Ephemeral {
    /// Has nova-compute keep disks in the pool
    /// (<https://docs.openstack.org/nova/latest/configuration/config.html#libvirt.images_type>), and adds the files that it and
    /// libvirt need.
    pub fn configure(&self, config: &mut Config, files: &mut Files) {
        config
            .section("libvirt")
            .set("images_type", "rbd")
            .set("images_rbd_pool", &self.pool.pool)
            .set("images_rbd_ceph_conf", NOVA.file(CONF))
            // Otherwise the pool keeps what servers delete, up to the size of each disk. Cinder's driver asks for the same of volumes.
            .set("hw_disk_discard", "unmap")
            .set("rbd_user", &self.pool.user)
            .set("rbd_secret_uuid", &self.uuid);
        // Folders of servers are on their hosts. One that a reverted resize leaves on the other host would block each further one.
        config
            .section("workarounds")
            .set("ensure_libvirt_rbd_instance_dir_cleanup", true);
        self.pool.files(NOVA.folder, CONF, KEYRING, files);
        files.secret(&format!("{CEPH_KEY}{}", self.uuid), &self.key);
    }
}
