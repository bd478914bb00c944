//! The service catalogue with a real K-ORC and a real Keystone: what is made can be used, a credential is replaced while the
//! old one still works, and everything goes in order. And what the driver of Keystone says when something is wrong.

mod catalogue;
mod clock;
mod driver;
pub mod identity;

use std::sync::Arc;

use lab::{
    Cluster, Etcd, Keystone, Kind, Machine, Operator, Result, bail, ensure, eventually, is, kind,
    minutes,
};
use serde_json::{Value, json};

use catalogue::{NAMESPACE, Running};
use driver::the_driver_says_what_is_wrong_and_grants_what_is_asked;
use identity::Identity;

use lab::scenario;
use lab::suite::{CLUSTER, Need, Scenario};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Cloud, 240 s, credentials_can_be_used_are_replaced_and_go, [CLUSTER, &[
        Need::Python("keystone"),
        Need::Tool(Tool::KOrc),
    ]]),
    scenario!(Gate, 60 s, the_driver_says_what_is_wrong_and_grants_what_is_asked, [&[Need::Python("keystone")]]),
];

const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");
const ROTATION: Kind = kind("c5c3.io/v1alpha1", "CredentialRotation");
const GLANCE: Kind = kind("glance.openstack.c5c3.io/v1alpha1", "Glance");
const SECRET: Kind = kind("v1", "Secret");
const CREDENTIAL: Kind = kind("openstack.k-orc.cloud/v1alpha1", "ApplicationCredential");

/// The password of Keystone's first user.
const PASSWORD: &str = "chosen: by \"the\" user #1";

fn credentials_can_be_used_are_replaced_and_go() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, keystone, _korc) = site(&machine).await?;
        let identity = Identity::new(&keystone.url(), PASSWORD);
        catalogue::prepare(&cluster, &keystone.url(), PASSWORD).await?;
        let _running = Running::start(&machine, &cluster).await?;
        eventually("the catalogue is complete", minutes(3), async || {
            is(
                &cluster.get(CONTROL_PLANE, "openstack/production").await?,
                "KORCReady",
            )
        })
        .await?;

        let first = credential(&cluster).await?;
        it_is_good_for_the_service(&identity, &first).await?;
        it_is_found_in_its_region(&identity, &first).await?;
        korc_needs_no_password(&cluster).await?;
        let second = rotate(&cluster, &identity, &first).await?;
        it_is_good_for_the_service(&identity, &second).await?;
        everything_goes(&cluster, &identity).await
    })
}

async fn site(machine: &Arc<Machine>) -> Result<(Cluster, Keystone, Operator)> {
    let etcd = Etcd::start(machine)?;
    let cluster = Cluster::start(machine, &etcd, "control-plane").await?;
    cluster.install_external_secrets().await?;
    cluster.install_our_kinds().await?;
    let (keystone, korc) = tokio::try_join!(
        Keystone::start(machine, PASSWORD),
        Operator::k_orc(machine, &cluster),
    )?;
    Ok((cluster, keystone, korc))
}

/// An application credential: ID and secret.
type Pair = (String, String);

async fn credential(cluster: &Cluster) -> Result<Pair> {
    let name = format!("{NAMESPACE}/glance-keystone-credentials");
    let secret = cluster.get(SECRET, &name).await?;
    Ok((
        catalogue::value(&secret, "application_credential_id")?,
        catalogue::value(&secret, "application_credential_secret")?,
    ))
}

async fn it_is_good_for_the_service(identity: &Identity, credential: &Pair) -> Result<()> {
    let token = identity.token(credential).await?;
    let roles: Vec<&str> = token["token"]["roles"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|role| role["name"].as_str())
        .collect();
    ensure!(roles == ["service"], "its roles are {roles:?}");
    let project = &token["token"]["project"]["name"];
    ensure!(project == "service", "its project is {project}");
    Ok(())
}

/// Clients look for endpoints by region.
async fn it_is_found_in_its_region(identity: &Identity, credential: &Pair) -> Result<()> {
    let token = identity.token(credential).await?;
    let catalog = token["token"]["catalog"].as_array();
    let entries = catalog.into_iter().flatten();
    let image: Vec<&Value> = entries.filter(|entry| entry["type"] == "image").collect();
    ensure!(image.len() == 1, "images are in the catalogue {image:?}");
    let endpoints = image[0]["endpoints"].as_array();
    let regions: Vec<&Value> = endpoints
        .into_iter()
        .flatten()
        .map(|endpoint| &endpoint["region"])
        .collect();
    ensure!(
        regions == [Keystone::REGION, Keystone::REGION],
        "its endpoints are in {regions:?}"
    );
    Ok(())
}

async fn korc_needs_no_password(cluster: &Cluster) -> Result<()> {
    eventually(
        "K-ORC has a credential of its own",
        minutes(1),
        async || {
            let secret = cluster.get(SECRET, "openstack/k-orc-clouds").await?;
            let clouds = catalogue::value(&secret, "clouds.yaml")?;
            ensure!(clouds.contains("v3applicationcredential"));
            ensure!(!clouds.contains("chosen"));
            Ok(())
        },
    )
    .await
}

/// Replaces Glance's credential as time goes by, and gives the new one.
async fn rotate(cluster: &Cluster, identity: &Identity, old: &Pair) -> Result<Pair> {
    cluster.apply(GLANCE_MANIFEST).await?;
    let runs_with = async |id: &str| {
        let status = json!({ "applicationCredential": id });
        cluster
            .set_status(GLANCE, "openstack/glance", status)
            .await
            .map(drop)
    };
    runs_with(&old.0).await?;
    cluster.apply(ROTATION_MANIFEST).await?;
    clock::look(cluster, 0).await?;
    let rotation = cluster.get(ROTATION, "openstack/glance").await?;
    ensure!(rotation.data["status"]["currentCredentialRef"]["name"] == "glance-1");
    ensure!(rotation.data["status"].get("nextCredentialRef").is_none());

    clock::look(cluster, 83).await?;
    let new = eventually("another credential is handed out", minutes(2), async || {
        let new = credential(cluster).await?;
        ensure!(new.0 != old.0, "it is the old one still");
        Ok(new)
    })
    .await?;
    identity.token(old).await?;
    identity.token(&new).await?;

    // Long after the grace, but Glance hasn't taken it up.
    clock::look(cluster, 83).await?;
    clock::look(cluster, 200).await?;
    cluster.get(CREDENTIAL, "openstack/glance-1").await?;
    identity.token(old).await?;

    runs_with(&new.0).await?;
    clock::look(cluster, 90).await?;
    cluster.get(CREDENTIAL, "openstack/glance-1").await?;
    identity.token(old).await?;
    clock::look(cluster, 92).await?;
    eventually("the old credential is gone", minutes(2), async || {
        cluster.gone(CREDENTIAL, "openstack/glance-1").await
    })
    .await?;
    let Err(refusal) = identity.token(old).await else {
        bail!("the old credential is still good")
    };
    ensure!(refusal.to_string().contains("40"), "{refusal}");
    Ok(new)
}

/// K-ORC's objects, and what they stand for in Keystone.
async fn everything_goes(cluster: &Cluster, identity: &Identity) -> Result<()> {
    ensure!(identity.users().await?.contains(&"glance".to_owned()));
    cluster
        .delete(CONTROL_PLANE, "openstack/production")
        .await?;
    eventually("the control plane is gone", minutes(3), async || {
        cluster.gone(CONTROL_PLANE, "openstack/production").await
    })
    .await?;
    let users = identity.users().await?;
    ensure!(users == ["admin"], "Keystone has the users {users:?}");
    cluster
        .get(SECRET, "openstack/keystone-admin-credentials")
        .await?;
    Ok(())
}

const GLANCE_MANIFEST: &str = "\
apiVersion: glance.openstack.c5c3.io/v1alpha1
kind: Glance
metadata: {name: glance, namespace: openstack}
spec:
  storage: {backend: file}
";

const ROTATION_MANIFEST: &str = "\
apiVersion: c5c3.io/v1alpha1
kind: CredentialRotation
metadata: {name: glance, namespace: openstack}
spec:
  targetServiceUser: glance
  schedule: {intervalDays: 90, preRotationDays: 7}
  gracePeriodDays: 1
";
