//! From a claim to OpenStack in pods: what Crossplane composes, our operators and those of others make, in three clusters.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Instant;

use k8s_openapi::ByteString;
use lab::claims::{
    BLOCK_POOL, CONTROL_PLANE, Generation, NAMESPACE, OPENSTACK, OPERATORS_OF_CONTROL_PLANES, Runs,
    SHARE, Site,
};
use lab::{
    Authority, Ceph, Cloud, Cluster, Context, DynamicObject, Fabric, FunctionProgram, Garden,
    Hypervisor, Image, Kind, Lab, Operator, Release, Result, SecretStore, bail, condition, ensure,
    kind,
};
use serde_json::{Value, json};

use super::laptop::Laptop;
use super::tenant::{Disks, Place, Tenant};
use super::{DATABASE_USER, MESSAGING_USER, SERVICE_USER, SERVICES, images, network, path, verify};

const COMPOSITION: Kind = kind("apiextensions.crossplane.io/v1", "Composition");
const POD: Kind = kind("v1", "Pod");
const SECRET: Kind = kind("v1", "Secret");
const EVENT: Kind = kind("v1", "Event");
const CLAIM: &str = "tenant-z/first";
const PLACE: &str = "openstack-first";
const TEMPEST: &str = "tempest";
/// Where clients outside find the site, and the names that they find there.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);
const DOMAIN: &str = "cloud.example.com";
/// A pool in Ceph that is no claim's.
const FOREIGN: &str = "others-volumes";

pub fn a_claim_becomes_a_cloud() -> Result<()> {
    let mut images = images(SERVICES.into_iter().chain([TEMPEST]))?;
    images.push(Image::ceph()?);
    lab::in_lab(
        Release::V2_4,
        Garden::Newest,
        FunctionProgram::c5c3()?,
        async move |lab| {
            let cloud = Cloud::on(&lab.machine, &lab.control_plane, &images, PLACE).await?;
            cloud.node.enforce_policies()?;
            from_a_claim(lab, cloud).await
        },
    )
}

/// It becomes Ready by what runs once its tests have passed, its tenant uses it from outside, and it goes without a trace.
async fn from_a_claim(lab: &Lab, mut cloud: Cloud) -> Result<()> {
    let mut site = Site::build(lab, Generation::Namespaced).await?;
    let fabric = Fabric::lay(&lab.machine).await?;
    fabric.lead_to(PUBLIC)?;
    let (first, second) = hypervisors(lab, &cloud, &fabric).await?;
    site.runs = Runs::Pods(storages(lab, &cloud).await?);
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
    for pool in ["control-plane", "st-pool-a", "st-pool-b"] {
        site.claim(&format!("pools/{pool}")).await?;
    }
    lab.management.apply(include_str!("claim.yaml")).await?;
    let tempest = format!("{PLACE}/{TEMPEST}");
    let claim = verify::passes(&site, CLAIM, &cloud.cluster, &tempest).await?;
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
    let secret = handed_over(&site).await?;
    let password = password(&secret)?;
    let laptop = Laptop::new(&lab.machine, &cloud, &fabric, &hosts(), &secret).await?;
    is_reached(&site, &laptop).await?;
    network::admit_clients(&cloud).await?;

    let [(_, ceph), (_, other)] = site.storages()? else {
        bail!("there aren't two storage clusters")
    };
    ceph.make_pool(FOREIGN)?;
    ceph.make_image(FOREIGN, "kept")?;
    let tenant = Tenant {
        cloud: &cloud,
        control_plane: "first",
        hypervisors: [&first, &second],
        fabric: &fabric,
        zone: "az-1",
        place: Place::Outside(&laptop),
        ceph,
        other: Some(other),
        disks: Disks::Ceph,
        backups: false,
    };
    tenant.finds_nothing_of_tests().await?;
    tenant.works().await?;
    println!("all was done after {} s", started.elapsed().as_secs());
    is_nowhere(&site, &cloud.cluster, &password).await?;

    tenant.boots_again().await?;
    lab.management.delete(OPENSTACK, CLAIM).await?;
    site.until("the deletion waits for servers", async || {
        let share = lab.hypervisor.get(SHARE, "first").await?;
        let drained = message(&share, "NodesDrained");
        ensure!(
            drained.contains("2 of 2 nodes are drained; servers left: 1"),
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

/// What the tenant finds in its own namespace, with the authority of the public certificates.
async fn handed_over(site: &Site<'_>) -> Result<BTreeMap<String, ByteString>> {
    site.until("the tenant's Secret has an authority", async || {
        let found = site.get(SECRET, "tenant-z/first-clouds").await?;
        let values = found.data["data"].clone();
        let values: BTreeMap<String, ByteString> = serde_json::from_value(values)?;
        let keys = values.keys();
        ensure!(values.contains_key("cacert"), "it has {keys:?}");
        Ok(values)
    })
    .await
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

/// Where whoever is outside finds the claim's APIs and the consoles of its servers, like `/etc/hosts`.
fn hosts() -> String {
    let names = SERVICES.into_iter().chain(["novnc"]).map(host);
    let names: Vec<String> = names.collect();
    format!("127.0.0.1 localhost\n{PUBLIC} {}\n", names.join(" "))
}

/// The public host name of a service of the claim.
fn host(service: &str) -> String {
    format!("{service}-first.{DOMAIN}")
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

/// Every service has its public name in its endpoint.
fn are_public(endpoints: &Value) -> Result<()> {
    let is_public = |service: &str| {
        let endpoint = endpoints[service].as_str().unwrap_or_default();
        let path = endpoint.strip_prefix(&format!("https://{}", host(service)));
        path.is_some_and(|path| path.is_empty() || path.starts_with('/'))
    };
    ensure!(SERVICES.into_iter().all(is_public), "{endpoints}");
    Ok(())
}

/// No event, composite resource or composed object has the tenant's password.
async fn is_nowhere(site: &Site<'_>, cluster: &Cluster, password: &str) -> Result<()> {
    ensure!(
        password.len() > 16,
        "the password is too short to be looked for"
    );
    let mut all = vec![site.composite(OPENSTACK, CLAIM).await?];
    all.extend(site.composed("first").await?);
    for cluster in [&site.lab.management, cluster, &site.lab.hypervisor] {
        all.extend(cluster.list(EVENT, "").await?);
    }
    all.push(cluster.get(CONTROL_PLANE, "openstack-first/first").await?);
    println!("{} objects and events were searched", all.len());
    let mut leaks = all
        .iter()
        .filter(|one| json!(one).to_string().contains(password));
    ensure!(
        leaks.next().is_none(),
        "an object has the tenant's password"
    );
    Ok(())
}

/// What a condition of an object says.
fn message<'a>(object: &'a DynamicObject, type_: &str) -> &'a str {
    let conditions = object.data["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let condition = conditions.find(|condition| condition["type"] == type_);
    let message = condition.and_then(|condition| condition["message"].as_str());
    message.unwrap_or_default()
}

/// Two storage clusters, each with an API server and a Ceph of its own. The hypervisors' API server is also the second one's: it spares
/// the memory and the start of one more.
async fn storages(lab: &Lab, cloud: &Cloud) -> Result<Vec<(Cluster, Ceph)>> {
    let second = &lab.hypervisor;
    second.install_rook().await?;
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: rook-ceph}}";
    second.apply(namespace).await?;
    lab.provider.give_kubeconfig("st-pool-b", second).await?;
    let (ceph, other) =
        tokio::try_join!(Ceph::start(cloud, "ceph"), Ceph::start(cloud, "other-ceph"))?;
    Ok(vec![(lab.storage.clone(), ceph), (second.clone(), other)])
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
        Operator::traefik(machine, cluster, PUBLIC).await?,
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
    for operator in OPERATORS_OF_CONTROL_PLANES.into_iter().chain([TEMPEST]) {
        cloud.install(machine, operator).await?;
    }
    public_issuer(cluster).await?;
    Ok(operators)
}

/// Lets cert-manager sign public certificates, with a Secret where it looks for those of ClusterIssuers.
async fn public_issuer(cluster: &Cluster) -> Result<()> {
    let authority = Authority::new()?;
    let identity = authority.identity();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "public", "namespace": "kube-system"},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": identity.certificate, "tls.key": identity.key},
    });
    cluster.apply(&secret.to_string()).await?;
    let issuer = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "ClusterIssuer",
        "metadata": {"name": "public"},
        "spec": {"ca": {"secretName": "public"}},
    });
    cluster.apply(&issuer.to_string()).await.map(drop)
}

/// Gives the Composition what a site gives it, with a size for a node with two processors.
async fn configure(management: &Cluster) -> Result<()> {
    let composition = management.get(COMPOSITION, "openstack-development").await?;
    let mut pipeline = composition.data["spec"]["pipeline"].clone();
    let input = &mut pipeline[0]["input"];
    input["tenantAccess"] =
        json!({"secretStore": {"name": "tenants", "kind": "ClusterSecretStore"}});
    input["tempest"] = json!({"includeRegex": verify::TESTS});
    input["issuer"] = json!("public");
    input["exposure"] = json!({"domain": DOMAIN, "hostNames": "Flat", "ingress": {
        "className": "nginx",
        "annotations": {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"},
    }});
    input["bootstrap"] = json!({
        "flavors": [
            {"name": "small", "vcpus": 1, "ramMB": 128, "diskGB": 1},
            {"name": "medium", "vcpus": 1, "ramMB": 192, "diskGB": 1},
        ],
        "externalNetworks": {"outside": {
            "physicalNetwork": "physnet1",
            "cidr": "172.31.7.0/24",
            "gateway": "172.31.7.1",
            "allocationPools": {CLAIM: [{"start": "172.31.7.100", "end": "172.31.7.199"}]},
        }},
    });
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
