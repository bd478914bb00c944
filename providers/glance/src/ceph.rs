//! Whether Ceph can be reached, as a pod sees it that runs what Glance runs.

use c5c3_api::glance::{GlanceSpec, ImageBackend};
use provider_composer::{Composition, Failure, Progress};
use provider_openstack::{Awaited, Jobs, Program, Task};

use crate::store::Store;

/// The task that looks.
const CEPH: &str = "ceph";

/// Opens the pool as Glance's user does. What it needs is told by its environment.
const SCRIPT: &str = "\
import os, rados
with rados.Rados(conffile='/etc/ceph/ceph.conf', rados_id=os.environ['CEPH_USER']) as cluster:
    with cluster.open_ioctx(os.environ['CEPH_POOL']) as pool:
        pool.get_stats()
";

/// Looks whether Glance's user can open its pool, once for each pool, user and key, and again while it can't. None where
/// images aren't in Ceph.
///
/// # Errors
/// The Job can't be written.
pub fn connected(
    store: &Awaited<Store>,
    spec: &GlanceSpec,
    jobs: &Jobs<'_>,
    composition: &mut Composition,
) -> Result<Option<Progress>, Failure> {
    let (store, pool) = match store {
        Ok(store @ Store::Rbd(pool)) => (store, pool),
        Err(awaited) if spec.storage.backend == ImageBackend::Rbd => {
            jobs.keep(&[CEPH], composition);
            return Ok(Some(awaited.clone()));
        }
        _ => return Ok(None),
    };
    let program = store
        .mount(Program::default())
        .command(["timeout", "60", "python3", "-c", SCRIPT].map(str::to_owned))
        .variable("CEPH_USER", &pool.user)
        .variable("CEPH_POOL", &pool.pool);
    let task = Task {
        name: CEPH,
        purpose: format!("{} {} {}", pool.pool, pool.user, pool.key),
        program,
        often: format!(
            "Ceph has no pool {}, refuses user {} or its key, or its monitors can't be reached from here",
            pool.pool, pool.user
        ),
    };
    jobs.once(&task, composition).map(Some)
}
