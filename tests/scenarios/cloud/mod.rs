//! From one ControlPlane, or one claim, to a cloud in pods: our operators, mariadb-operator, RabbitMQ's operators, K-ORC, cert-manager and
//! External Secrets, each as it is, make all of it.

mod agents;
mod backup;
mod changes;
mod claim;
mod growth;
mod handover;
mod laptop;
mod maintenance;
mod members;
mod messaging;
mod network;
mod path;
mod servers;
mod shared;
mod side;
mod storage;
mod tasks;
mod tenant;
mod upgrade;
mod uplinks;
mod verify;
mod volumes;

use std::sync::Arc;

use jiff::Timestamp;
use lab::claims::{DATABASE_USER, MESSAGING_USER, OPERATORS_OF_CONTROL_PLANES, SERVICE_USER};
use lab::{
    Cloud, Identity, Image, Kind, Machine, Operator, Result, ensure, eventually, is, kind, minutes,
};
use serde_json::json;

use lab::scenario;
use lab::suite::{
    CLOUD_SITE, COMPUTE, EXTERNAL_OPERATORS, LAB_2_4, NEWEST_GARDENER, NODE, Need, Scenario,
};
use lab::tools::Tool;

/// What there is.
pub const SCENARIOS: &[Scenario] = &[
    scenario!(Long, 900 s, a_control_plane_becomes_a_cloud, [NODE, EXTERNAL_OPERATORS, &[
        Need::Tool(Tool::CertManager),
        Need::Tool(Tool::KubeRouter),
        Need::Service("keystone", "2025.2"),
        Need::Service("glance", "2025.2"),
        Need::Service("placement", "2025.2"),
    ]]),
    scenario!(Cloud alone, 960 s, servers::servers_boot_on_two_hypervisors, [NODE, EXTERNAL_OPERATORS, COMPUTE, &[Need::Tool(Tool::KubeRouter)]]),
    scenario!(Long alone, 1800 s, servers::servers_are_used_in_every_way, [NODE, EXTERNAL_OPERATORS, COMPUTE, &[Need::Tool(Tool::KubeRouter)]]),
    scenario!(Long alone, 10800 s, servers::tempest_tests_servers_and_volumes, [NODE, EXTERNAL_OPERATORS, COMPUTE, &[
        Need::Service("tempest", "2025.2"),
        Need::Tool(Tool::KubeRouter),
    ]]),
    scenario!(Cloud alone, 2700 s, claim::a_claim_becomes_a_cloud, [NODE, LAB_2_4, NEWEST_GARDENER, EXTERNAL_OPERATORS, COMPUTE, CLOUD_SITE, &[
        Need::Service("tempest", "2025.2"),
        Need::Python("keystone"),
    ]]),
    scenario!(Cloud alone, 1500 s, shared::two_clouds_never_have_the_same_host, [NODE, EXTERNAL_OPERATORS, &[
        Need::Tool(Tool::CertManager),
        Need::Service("keystone", "2025.2"),
        Need::Service("glance", "2025.2"),
        Need::Service("placement", "2025.2"),
        Need::Service("neutron", "2025.2"),
        Need::Service("nova", "2025.2"),
        Need::Ovn,
        Need::Libvirt,
        Need::Guest,
    ]]),
    scenario!(Long, 480 s, backup::a_lost_database_is_restored, [NODE, EXTERNAL_OPERATORS, &[
        Need::MariadbOperatorImage,
        Need::Service("keystone", "2025.2"),
    ]]),
    scenario!(Long, 2100 s, growth::a_database_grows_to_three_members_and_survives_a_power_loss, [NODE, EXTERNAL_OPERATORS, &[
        Need::MariadbOperatorImage,
        Need::Service("keystone", "2025.2"),
        Need::Service("cinder", "2025.2"),
    ]]),
    scenario!(Long, 900 s, growth::queues_get_members_on_new_nodes, [NODE, EXTERNAL_OPERATORS]),
    scenario!(Long, 2100 s, members::volumes_survive_their_members, [NODE, EXTERNAL_OPERATORS, &[
        Need::Tool(Tool::CertManager),
        Need::Service("keystone", "2025.2"),
        Need::Service("glance", "2025.2"),
        Need::Service("cinder", "2025.2"),
        Need::Ceph,
        Need::Guest,
    ]]),
    scenario!(Long, 2700 s, upgrade::releases_that_fail_are_rolled_back, [NODE, EXTERNAL_OPERATORS, &[
        Need::Service("keystone", "2025.2"),
        Need::Service("glance", "2025.2"),
        Need::Service("placement", "2025.2"),
        Need::Service("keystone", "2026.1"),
        Need::Service("glance", "2026.1"),
        Need::Service("placement", "2026.1"),
    ]]),
];

const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");

fn a_control_plane_becomes_a_cloud() -> Result<()> {
    // Built before anything waits for them.
    let images = [
        Image::mariadb()?,
        Image::memcached()?,
        Image::rabbitmq()?,
        Image::of_service("keystone", "2025.2")?,
        Image::of_service("glance", "2025.2")?,
        Image::of_service("placement", "2025.2")?,
    ];
    lab::on_a_bare_machine(async move |machine| {
        let mut cloud = Cloud::bare(&machine, &images).await?;
        cloud.node.enforce_policies()?;
        cloud.cluster.install_control_plane_kinds().await?;
        let _mariadb = Operator::mariadb(&machine, &cloud.cluster).await?;
        let _rabbitmq = Operator::rabbitmq(&machine, &cloud.cluster).await?;
        let _topology = Operator::rabbitmq_topology(&machine, &cloud.cluster).await?;
        let _k_orc = Operator::k_orc(&machine, &cloud.cluster).await?;
        let _cert_manager = Operator::cert_manager(&machine, &cloud.cluster).await?;
        for operator in ["c5c3", "keystone", "glance", "placement"] {
            cloud.install(&machine, operator).await?;
        }
        cloud.volume("databases", "1Gi", DATABASE_USER).await?;
        cloud.volume("messages", "2Gi", MESSAGING_USER).await?;
        cloud.volume("images", "20Gi", SERVICE_USER).await?;

        cloud
            .cluster
            .apply(include_str!("control-plane.yaml"))
            .await?;
        issuer(&cloud, machine.authority().identity(), cloud.namespace()).await?;
        eventually("the control plane is Ready", minutes(12), async || {
            is(
                &cloud
                    .cluster
                    .get(CONTROL_PLANE, "openstack/production")
                    .await?,
                "Ready",
            )
        })
        .await?;

        let clusters = [(&cloud.cluster, path::PRODUCTION)];
        path::report(&clusters, &path::IMAGES, Timestamp::now())?;
        network::is_closed_to_neighbours(&cloud, &network::OPEN[..3], &network::CLOSED[..2])
            .await?;
        network::admit_clients(&cloud).await?;
        keeps_images(&cloud, "images").await?;
        let version = does(&cloud, "placement", "placement").await?;
        ensure!(version.trim() == "v1.0", "Placement has version {version}");
        changes::all(&cloud).await?;
        messaging::follows_services(&cloud).await?;
        changes::administrator(&cloud).await?;
        cloud.roles_suffice()
    })
}

/// Starts the operators that make control planes with hypervisors, others' and ours.
async fn operators(machine: &Arc<Machine>, cloud: &mut Cloud) -> Result<()> {
    cloud.cluster.install_control_plane_kinds().await?;
    Operator::mariadb(machine, &cloud.cluster).await?;
    Operator::rabbitmq(machine, &cloud.cluster).await?;
    Operator::rabbitmq_topology(machine, &cloud.cluster).await?;
    Operator::k_orc(machine, &cloud.cluster).await?;
    Operator::cert_manager(machine, &cloud.cluster).await?;
    for operator in OPERATORS_OF_CONTROL_PLANES {
        cloud.install(machine, operator).await?;
    }
    cloud.install(machine, "hypervisor-pool").await
}

/// Lets cert-manager sign with a certificate in a namespace.
async fn issuer(cloud: &Cloud, authority: &Identity, namespace: &str) -> Result<()> {
    let secret = format!("{namespace}/authority");
    cloud
        .cluster
        .put_certificate(&secret, authority, None)
        .await?;
    let issuer = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": {"name": "site", "namespace": namespace},
        "spec": {"ca": {"secretName": "authority"}},
    });
    cloud.cluster.apply(&issuer.to_string()).await.map(drop)
}

/// Has the client do one of its tasks in a pod of this Job as Keystone's first user, and gives what it says.
async fn does(cloud: &Cloud, job: &str, task: &str) -> Result<String> {
    does_with(cloud, job, task, "keystone-admin-credentials").await
}

/// The same with the password of this Secret.
async fn does_with(cloud: &Cloud, job: &str, task: &str, secret: &str) -> Result<String> {
    cloud
        .give("client", "client.py", include_str!("../node/client.py"))
        .await?;
    let manifest = include_str!("../node/client.yaml")
        .replace("JOB", job)
        .replace("TASK", task)
        .replace("PLACE", cloud.namespace())
        .replace("name: admin,", &format!("name: {secret},"));
    cloud.cluster.apply(&manifest).await?;
    cloud.says(job).await
}

/// Stores an image and fetches it again.
async fn keeps_images(cloud: &Cloud, job: &str) -> Result<()> {
    let algorithm = does(cloud, job, "images").await?;
    ensure!(
        algorithm.trim() == "sha512",
        "images are hashed by {algorithm}"
    );
    Ok(())
}
