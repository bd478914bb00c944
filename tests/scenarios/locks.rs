//! Cinder's locks, by the tooz of each release and a real MariaDB.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use lab::{Cloud, Context, Image, Kind, Result, ensure, eventually, kind, minutes};
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

const POD: Kind = kind("v1", "Pod");

const RELEASES: [&str; 3] = ["2025.2", "2026.1", "2026.2"];
/// What the program prints when all went well.
const HELD: [&str; 9] = [
    "no_two_hold_one_lock",
    "an_acquisition_that_was_blocked_looks_again",
    "a_lock_whose_table_is_gone_is_lost",
    "a_renewal_shortens_no_lease_and_ends_what_a_wrong_clock_wrote",
    "names_differ_by_every_byte",
    "connections_to_a_member_that_refuses_are_replaced",
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
    let job = start(cloud, image, "everything", members).await?;
    let said = cloud.says(&job).await?;
    let missing = HELD.iter().find(|case| !said.contains(**case));
    ensure!(missing.is_none(), "not {missing:?}: {said}");
    Ok(())
}

/// Holds a lock by an address of MariaDB while something happens. It is still held afterwards.
pub async fn hold_during(
    cloud: &Cloud,
    image: &Image,
    address: &str,
    happens: impl Future<Output = Result<()>>,
) -> Result<()> {
    let task = format!("hold, outlasting, \"100\", {address}");
    let job = start(cloud, image, &task, address).await?;
    eventually("the lock is held", minutes(3), async || {
        let pods = cloud.cluster.list(POD, &format!("job-name={job}")).await?;
        let pod = pods.first().and_then(|pod| pod.metadata.name.as_deref());
        let pod = pod.with_context(|| format!("{job} has no pod"))?;
        let said = cloud
            .node
            .logs(&format!("{}/{pod}", cloud.namespace()))
            .await?;
        ensure!(said.contains("held"), "{said}");
        Ok(())
    })
    .await?;
    happens.await?;
    let said = cloud.says(&job).await?;
    ensure!(said.contains("released"), "{said}");
    Ok(())
}

/// Starts a task of the program in a pod with an image of Cinder, and returns the name of its Job.
async fn start(cloud: &Cloud, image: &Image, task: &str, members: &str) -> Result<String> {
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
    let (word, _) = task.split_once(',').unwrap_or((task, ""));
    let job = format!("{word}-{}", tag.replace('.', "-"));
    let manifest = include_str!("locks.yaml")
        .replace("JOB", &job)
        .replace("IMAGE", image.name())
        .replace("CREDENTIALS", "keystone-db-credentials")
        .replace("HOSTS_OF", members)
        .replace("WAY", PYTHONPATH)
        .replace("PACKAGE", PACKAGE)
        .replace("TASK", task);
    cloud.cluster.apply(&manifest).await?;
    Ok(job)
}
