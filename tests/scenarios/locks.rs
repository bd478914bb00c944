//! Cinder's locks, by the tooz of each release and a real MariaDB.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use lab::{Cloud, Image, Result, ensure};
use provider_cinder::locks::{FILES, PACKAGE, PYTHONPATH};
use serde_json::json;

use lab::scenario;
use lab::suite::{NODE, Need, Scenario};

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Cloud, 480 s, programs_of_each_release_lock_by_rows, [NODE, &[
        Need::MariaDb,
        Need::Memcached,
        Need::Service("cinder", "2025.2"),
        Need::Service("cinder", "2026.1"),
        Need::Service("cinder", "2026.2"),
    ]]),
];

const RELEASES: [&str; 3] = ["2025.2", "2026.1", "2026.2"];
/// What the program prints when all went well.
const HELD: [&str; 4] = [
    "no_two_hold_one_lock",
    "a_lock_outlasts_its_lease_while_its_holder_lives",
    "a_lock_is_free_a_lease_after_its_holder_died",
    "a_holder_that_was_suspended_knows_that_it_lost_its_lock",
];

fn programs_of_each_release_lock_by_rows() -> Result<()> {
    // Built before anything waits for them.
    let services = RELEASES.map(|release| Image::of_service("cinder", release));
    let images: Vec<Image> = [Image::mariadb(), Image::memcached()]
        .into_iter()
        .chain(services)
        .collect::<Result<_>>()?;
    lab::on_a_bare_machine(async move |machine| {
        let cloud = Cloud::start(&machine, &images, &[]).await?;
        let credentials = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "keystone-db-credentials", "namespace": cloud.namespace() },
            "stringData": { "username": "keystone", "password": "of-keystone" },
        });
        cloud.cluster.apply(&credentials.to_string()).await?;
        let services = &images[images.len() - RELEASES.len()..];
        let held = services
            .iter()
            .map(|image| hold(&cloud, image, "mariadb.openstack.svc"));
        try_join_all(held).await.map(drop)
    })
}

/// Takes locks in Keystone's database at these members of MariaDB, in a pod with an image of Cinder.
pub async fn hold(cloud: &Cloud, image: &Image, members: &str) -> Result<()> {
    let script = include_str!("locks.py");
    cloud.give("scenario", "locks.py", script).await?;
    let package = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "locks", "namespace": cloud.namespace() },
        "data": BTreeMap::from(FILES),
    });
    cloud.cluster.apply(&package.to_string()).await?;
    let (_, tag) = image.name().rsplit_once(':').unwrap_or_default();
    let job = format!("locks-{}", tag.replace('.', "-"));
    let manifest = include_str!("locks.yaml")
        .replace("JOB", &job)
        .replace("IMAGE", image.name())
        .replace("CREDENTIALS", "keystone-db-credentials")
        .replace("HOSTS_OF", members)
        .replace("WAY", PYTHONPATH)
        .replace("PACKAGE", PACKAGE);
    cloud.cluster.apply(&manifest).await?;
    let said = cloud.says(&job).await?;
    let missing = HELD.iter().find(|case| !said.contains(**case));
    ensure!(missing.is_none(), "not {missing:?}: {said}");
    Ok(())
}
