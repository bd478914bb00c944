//! From a claim to OpenStack in pods: what Crossplane composes, our operators and those of others make, in three clusters.

use std::time::Instant;

use lab::claims::{CONTROL_PLANE, Generation, NAMESPACE, OPENSTACK, SHARE, Site};
use lab::{
    Ceph, Cloud, Cluster, Context, DynamicObject, Fabric, FunctionProgram, Hypervisor, Image, Kind,
    Lab, Operator, Release, Result, SecretStore, ensure, kind,
};
use serde_json::{Value, json};

use super::tenant::{Disks, Tenant};
use super::{
    DATABASE_USER, MESSAGING_USER, OPERATORS_OF_CONTROL_PLANES, SERVICE_USER, SERVICES, path,
};

const COMPOSITION: Kind = kind("apiextensions.crossplane.io/v1", "Composition");
const POD: Kind = kind("v1", "Pod");
const SECRET: Kind = kind("v1", "Secret");
const CLAIM: &str = "tenant-z/first";
const PLACE: &str = "openstack-first";

pub fn a_claim_becomes_a_cloud() -> Result<()> {
    // Built before anything waits for them.
    let mut images = vec![
        Image::mariadb()?,
        Image::memcached()?,
        Image::rabbitmq()?,
        Image::ovn()?,
        Image::libvirt()?,
        Image::guest()?,
        Image::ceph()?,
    ];
    for service in SERVICES {
        images.push(Image::of_service(service, "2025.2")?);
    }
    lab::in_lab(Release::V2_4, FunctionProgram::c5c3()?, async move |lab| {
        let cloud = Cloud::on(&lab.machine, &lab.control_plane, &images, PLACE).await?;
        from_a_claim(lab, cloud).await
    })
}

/// It becomes Ready by what runs, its tenant uses it, and it goes without a trace.
async fn from_a_claim(lab: &Lab, mut cloud: Cloud) -> Result<()> {
    let mut site = Site::build(lab, Generation::Namespaced).await?;
    let fabric = Fabric::lay(&lab.machine).await?;
    let (first, second) = hypervisors(lab, &cloud, &fabric).await?;
    site.ceph = Some(Ceph::start(&cloud).await?);
    let secrets = SecretStore::start(&lab.machine).await?;
    let _operators = operators(lab, &mut cloud, &secrets).await?;
    for (name, size, user) in [
        ("databases", "1Gi", DATABASE_USER),
        ("messages", "2Gi", MESSAGING_USER),
        ("northbound", "10Gi", SERVICE_USER),
        ("southbound", "10Gi", SERVICE_USER),
    ] {
        cloud.volume(name, size, user).await?;
    }
    configure(&lab.management).await?;

    let started = Instant::now();
    for pool in ["control-plane", "st-pool-a"] {
        site.claim(&format!("pools/{pool}")).await?;
    }
    lab.management.apply(include_str!("claim.yaml")).await?;
    let claim = site.phase(OPENSTACK, CLAIM, "Ready").await?;
    println!(
        "the claim was Ready after {} s",
        started.elapsed().as_secs()
    );
    path::report(&cloud, &path::COMPUTE)?;
    let status = &claim.data["status"];
    ensure!(
        status["connection"]["secretName"] == "first-clouds",
        "the tenant has no clouds.yaml: {status}"
    );
    lab.management.get(SECRET, "tenant-z/first-clouds").await?;

    let ceph = site.ceph.as_ref().context("there is no Ceph")?;
    let tenant = Tenant {
        cloud: &cloud,
        control_plane: "first",
        hypervisors: [&first, &second],
        fabric: &fabric,
        zone: "az-1",
        ceph,
        disks: Disks::Ceph,
        backups: false,
    };
    tenant.uses_servers().await?;
    println!("all was done after {} s", started.elapsed().as_secs());

    lab.management.delete(OPENSTACK, CLAIM).await?;
    site.until("the deletion waits for servers", async || {
        let share = lab.hypervisor.get(SHARE, "first").await?;
        let drained = message(&share, "NodesDrained");
        ensure!(
            drained.contains("2 of 2 nodes are drained, with 2 servers"),
            "{drained}"
        );
        Ok(())
    })
    .await?;
    let control_plane = cloud
        .cluster
        .get(CONTROL_PLANE, "openstack-first/first")
        .await?;
    ensure!(
        control_plane.metadata.deletion_timestamp.is_none(),
        "servers can't be deleted without the control plane"
    );
    tenant.deletes_servers().await?;
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
        "everything was gone {} s after the last server",
        deleted.elapsed().as_secs()
    );
    cloud.roles_suffice()?;
    lab.hypervisor
        .allowed_all(&Operator::user("hypervisor-pool"))
}

/// What a condition of an object says.
fn message<'a>(object: &'a DynamicObject, type_: &str) -> &'a str {
    let conditions = object.data["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let condition = conditions.find(|condition| condition["type"] == type_);
    let message = condition.and_then(|condition| condition["message"].as_str());
    message.unwrap_or_default()
}

/// Two nodes of the hypervisors' cluster.
async fn hypervisors(
    lab: &Lab,
    cloud: &Cloud,
    fabric: &Fabric,
) -> Result<(Hypervisor, Hypervisor)> {
    cloud.node.serve(&lab.hypervisor).await?;
    tokio::try_join!(
        cloud.node.add_hypervisor(&lab.hypervisor, fabric, 1),
        cloud.node.add_hypervisor(&lab.hypervisor, fabric, 2)
    )
}

/// Installs what a site installs in each of its clusters.
async fn operators(lab: &Lab, cloud: &mut Cloud, secrets: &SecretStore) -> Result<Vec<Operator>> {
    let (machine, cluster) = (&lab.machine, &lab.control_plane);
    cluster.install_control_plane_kinds().await?;
    lab.management.install_external_secrets().await?;
    let mut operators = vec![
        Operator::mariadb(machine, cluster).await?,
        Operator::rabbitmq(machine, cluster).await?,
        Operator::rabbitmq_topology(machine, cluster).await?,
        Operator::k_orc(machine, cluster).await?,
        Operator::cert_manager(machine, cluster).await?,
        Operator::installed(machine, &lab.hypervisor, "hypervisor-pool", &["replicas=0"]).await?,
    ];
    for (cluster, store) in [
        (&lab.management, "tenants"),
        (&lab.control_plane, "openbao"),
        (&lab.hypervisor, "openbao"),
        (&lab.storage, "openbao"),
    ] {
        operators.push(Operator::external_secrets(machine, cluster).await?);
        secrets.connect(cluster, store).await?;
    }
    for operator in OPERATORS_OF_CONTROL_PLANES {
        cloud.install(machine, operator).await?;
    }
    Ok(operators)
}

/// Gives the Composition what a site gives it, with a size for a node with two processors.
async fn configure(management: &Cluster) -> Result<()> {
    let composition = management.get(COMPOSITION, "openstack-development").await?;
    let mut pipeline = composition.data["spec"]["pipeline"].clone();
    let input = &mut pipeline[0]["input"];
    input["tenantAccess"] =
        json!({"secretStore": {"name": "tenants", "kind": "ClusterSecretStore"}});
    let small = &mut input["sizes"]["small"];
    let memory = |limit: &str| json!({"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": limit}});
    let infrastructure = &mut small["infrastructure"];
    infrastructure["mariadb"] =
        json!({"replicas": 1, "storageSize": "1Gi", "resources": memory("1Gi")});
    infrastructure["rabbitmq"] =
        json!({"replicas": 1, "storageSize": "2Gi", "resources": memory("512Mi")});
    infrastructure["memcached"]["memory"] = json!("64Mi");
    let one = json!({"replicas": 1, "resources": {"requests": {"cpu": "20m"}}});
    small["services"] = json!({
        "keystone": one,
        "glance": one,
        "placement": one,
        "nova": {"api": one, "scheduler": one, "conductor": one},
        "neutron": {"api": one},
        "cinder": {"api": one, "scheduler": one, "volume": one},
    });
    small["share"] = json!({"weight": 1, "minHosts": 2});
    let patch: Value = json!({"spec": {"pipeline": pipeline}});
    management
        .edit(COMPOSITION, "openstack-development", patch)
        .await
        .map(drop)
}
