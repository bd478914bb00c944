//! From a claim to OpenStack in pods: what Crossplane composes, our operators and those of others make, in three clusters.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use lab::claims::{
    BLOCK_POOL, CONTROL_PLANE, CloudSite, NAMESPACE, OPENSTACK, SERVICES, SHARE, Settings, Site,
    public_host, public_hosts,
};
use lab::{
    Cloud, Cluster, Context, DynamicObject, FunctionProgram, Garden, Image, Kind, Lab, Operator,
    Release, Result, bail, condition, ensure, find_condition, kind,
};
use serde_json::{Value, json};

use super::laptop::Laptop;
use super::tenant::{Disks, Place, Tenant};
use super::uplinks::Uplinks;
use super::{network, path, verify};

const POD: Kind = kind("v1", "Pod");
const SECRET: Kind = kind("v1", "Secret");
const EVENT: Kind = kind("v1", "Event");
const CLAIM: &str = "tenant-z/first";
const PLACE: &str = "openstack-first";
const TEMPEST: &str = "tempest";
/// A pool in Ceph that is no claim's.
const FOREIGN: &str = "others-volumes";

pub fn a_claim_becomes_a_cloud() -> Result<()> {
    let mut images = Image::of_servers(SERVICES.into_iter().chain([TEMPEST]))?;
    images.push(Image::ceph()?);
    lab::in_lab(
        Release::V2_4,
        Garden::Newest,
        FunctionProgram::c5c3()?,
        async move |lab| {
            let cloud = Cloud::on(&lab.machine, &lab.control_plane, &images, PLACE).await?;
            from_a_claim(lab, cloud).await
        },
    )
}

/// It becomes Ready by what runs once its tests have passed, its tenant uses it from outside, and it goes without a trace.
async fn from_a_claim(lab: &Lab, cloud: Cloud) -> Result<()> {
    let settings = Settings {
        control_planes: 1,
        second_storage: true,
        tests: Some(verify::TESTS),
        share: json!({"weight": 1, "minHosts": 2}),
        floating_ips: json!({CLAIM: [{"start": "172.31.7.100", "end": "172.31.7.199"}]}),
    };
    let built = CloudSite::build(lab, cloud, &settings).await?;
    let CloudSite {
        cloud,
        site,
        fabric,
        hypervisors: [first, second],
        secrets,
    } = &built;

    let started = Instant::now();
    built.create_pools().await?;
    lab.management.apply(include_str!("claim.yaml")).await?;
    let tempest = format!("{PLACE}/{TEMPEST}");
    let claim = verify::passes(site, CLAIM, &cloud.cluster, &tempest).await?;
    println!(
        "the claim was Ready after {} s",
        started.elapsed().as_secs()
    );
    let clusters = [
        (&lab.management, path::MANAGEMENT),
        (&cloud.cluster, path::CONTROL_PLANE),
        (&lab.hypervisor, path::HYPERVISORS),
        (&lab.storage, path::STORAGE),
    ];
    path::report(&clusters, &path::CLAIM, Timestamp::now())?;
    match lab.function.busy().await {
        Ok(seconds) => println!("all calls of the function took {seconds:.2} s"),
        Err(error) => println!("the time of the function's calls is unknown: {error:#}"),
    }
    let status = &claim.data["status"];
    ensure!(
        status["connection"]["secretName"] == "first-clouds",
        "the tenant has no clouds.yaml: {status}"
    );
    let secret = site.credentials("tenant-z/first-clouds").await?;
    let password = password(&secret)?;
    let laptop = Laptop::new(
        &lab.machine,
        cloud,
        fabric,
        &public_hosts(&["first"]),
        &secret,
    )
    .await?;

    let [(_, ceph), (_, other)] = site.storages()? else {
        bail!("there aren't two storage clusters")
    };
    ensure!(
        ceph.id()? != other.id()?,
        "both storage clusters have the same Ceph"
    );
    ceph.make_pool(FOREIGN)?;
    ceph.make_image(FOREIGN, "kept")?;
    let tenant = Tenant {
        cloud,
        control_plane: "first",
        hypervisors: [first, second],
        fabric,
        uplinks: Uplinks::ByPool,
        zone: "az-1",
        place: Place::Outside(&laptop),
        ceph,
        other: Some(other),
        disks: Disks::Ceph,
        backups: other,
    };
    network::admit_clients(cloud).await?;
    tenant.finds_nothing_of_tests().await?;
    is_reached(site, &laptop).await?;
    has_quotas(&claim, &laptop).await?;
    tenant.works().await?;
    println!("all was done after {} s", started.elapsed().as_secs());
    is_nowhere(site, &cloud.cluster, &password).await?;

    tenant.boots_again().await?;
    lab.management.delete(OPENSTACK, CLAIM).await?;
    site.until("the deletion waits for servers", async || {
        let share = lab.hypervisor.get(SHARE, "first").await?;
        let drained = message(&share, "NodesDrained");
        // The node without the server may be free already.
        ensure!(
            drained.contains(" nodes are drained; servers left: 1"),
            "{drained}"
        );
        Ok(())
    })
    .await?;
    runs(&cloud.cluster).await?;
    tenant.deletes_servers().await?;
    site.until("the deletion waits for images", async || {
        lab.hypervisor.gone(SHARE, "first").await?;
        let images = lab
            .storage
            .get(BLOCK_POOL, "rook-ceph/first-images")
            .await?;
        ensure!(
            images.metadata.deletion_timestamp.is_some(),
            "nothing has deleted the pool"
        );
        Ok(())
    })
    .await?;
    runs(&cloud.cluster).await?;
    tenant.deletes_images().await?;
    let deleted = Instant::now();
    site.until("everything of the claim is gone", async || {
        lab.management.gone(OPENSTACK, CLAIM).await?;
        cloud
            .cluster
            .gone(CONTROL_PLANE, "openstack-first/first")
            .await?;
        cloud.cluster.gone(NAMESPACE, PLACE).await?;
        lab.hypervisor.gone(SHARE, "first").await?;
        lab.management.gone(SECRET, "tenant-z/first-clouds").await?;
        let mut pods = cloud.cluster.list(POD, "").await?;
        pods.retain(|pod| pod.metadata.namespace.as_deref() == Some(PLACE));
        ensure!(pods.is_empty(), "{} pods are left", pods.len());
        let mut left = secrets.paths();
        left.retain(|path| path.contains(PLACE));
        ensure!(left.is_empty(), "the secret store has {left:?}");
        Ok(())
    })
    .await?;
    println!(
        "everything was gone {} s after the last image",
        deleted.elapsed().as_secs()
    );
    let foreign = ceph.images(FOREIGN)?;
    ensure!(foreign == ["kept"], "the pool of others has {foreign:?}");
    cloud.roles_suffice()?;
    lab.hypervisor
        .allowed_all(&Operator::user("hypervisor-pool"))
}

/// The control plane isn't deleted yet: servers, volumes and images are deleted through it.
async fn runs(cluster: &Cluster) -> Result<()> {
    let name = "openstack-first/first";
    let control_plane = cluster.get(CONTROL_PLANE, name).await?;
    ensure!(
        control_plane.metadata.deletion_timestamp.is_none(),
        "the control plane is deleted before what it manages"
    );
    Ok(())
}

/// The password in a clouds.yaml.
fn password(secret: &BTreeMap<String, ByteString>) -> Result<String> {
    let clouds = secret.get("clouds.yaml").context("no clouds.yaml")?;
    let clouds = String::from_utf8(clouds.0.clone())?;
    let line = clouds
        .lines()
        .find_map(|line| line.trim().strip_prefix("password: "));
    let password = line.context("the clouds.yaml has no password")?;
    Ok(password.trim_matches(['"', '\'']).to_owned())
}

/// The tenant reaches every API at its public name, as the claim's status and the catalogue have it.
async fn is_reached(site: &Site<'_>, laptop: &Laptop<'_>) -> Result<()> {
    site.until("every API is exposed", async || {
        let claim = site.get(OPENSTACK, CLAIM).await?;
        let status = &claim.data["status"];
        ensure!(condition(&claim, "Exposed") == Some("True"), "{status}");
        are_public(&status["endpoints"])
    })
    .await?;
    let reached: Value = serde_json::from_str(&laptop.run("reach").await?)?;
    are_public(&reached)
}

/// The tenant's project may have as much as the claim says.
async fn has_quotas(claim: &DynamicObject, laptop: &Laptop<'_>) -> Result<()> {
    let said: Value = serde_json::from_str(&laptop.run("quotas").await?)?;
    let wanted = &claim.data["spec"]["bootstrap"]["quotas"];
    ensure!(*wanted == said, "the project may have {said}");
    Ok(())
}

/// Every service has its public name in its endpoint.
fn are_public(endpoints: &Value) -> Result<()> {
    let is_public = |service: &str| {
        let endpoint = endpoints[service].as_str().unwrap_or_default();
        let path = endpoint.strip_prefix(&format!("https://{}", public_host(service, "first")));
        path.is_some_and(|path| path.is_empty() || path.starts_with('/'))
    };
    ensure!(SERVICES.into_iter().all(is_public), "{endpoints}");
    Ok(())
}

/// No event, composite resource or composed object has the tenant's password, not as data of a Secret either, and no process has logged it.
async fn is_nowhere(site: &Site<'_>, cluster: &Cluster, password: &str) -> Result<()> {
    ensure!(
        password.len() > 16,
        "the password is too short to be looked for"
    );
    let data = json!(ByteString(password.as_bytes().to_vec()));
    let data = data.as_str().context("data of a Secret are no text")?;
    let has_it = |text: &str| text.contains(password) || text.contains(data);
    let mut all = vec![site.composite(OPENSTACK, CLAIM).await?];
    all.extend(site.composed("first").await?);
    for cluster in [&site.lab.management, cluster, &site.lab.hypervisor] {
        all.extend(cluster.list(EVENT, "").await?);
    }
    all.push(cluster.get(CONTROL_PLANE, "openstack-first/first").await?);
    println!("{} objects and events were searched", all.len());
    let mut leaks = all.iter().filter(|one| has_it(&json!(one).to_string()));
    ensure!(
        leaks.next().is_none(),
        "an object has the tenant's password"
    );
    for file in fs::read_dir(site.lab.machine.folder())? {
        let log = file?.path();
        if log.extension().is_some_and(|extension| extension == "log") {
            let text = fs::read(&log)?;
            ensure!(
                !has_it(&String::from_utf8_lossy(&text)),
                "{} has the tenant's password",
                log.display()
            );
        }
    }
    Ok(())
}

/// What a condition of an object says.
fn message<'a>(object: &'a DynamicObject, type_: &str) -> &'a str {
    let message = find_condition(object, type_).and_then(|condition| condition["message"].as_str());
    message.unwrap_or_default()
}
