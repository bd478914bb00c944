//! Keystone, Glance and Placement in pods, made by our own operators and used as their users do.

use lab::{
    Cluster, Context, Image, Kind, Node, Operator, Result, ensure, eventually, is, kind, minutes,
};
use serde_json::{Value, json};

use super::{JOB, POD, up};

const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");
const GLANCE: Kind = kind("glance.openstack.c5c3.io/v1alpha1", "Glance");
const PLACEMENT: Kind = kind("placement.openstack.c5c3.io/v1alpha1", "Placement");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");

/// The user that every service runs as.
const USER: u32 = 42424;

#[test]
fn a_cloud_issues_tokens_and_keeps_images() -> Result<()> {
    // Built before anything waits for them.
    let images = Image::of_cloud("2025.2")?;
    lab::on_a_bare_machine(async move |machine| {
        let (cluster, node) = up(&machine).await?;
        for image in &images {
            node.offer(image).await?;
        }
        cluster.apply_files("package/crds").await?;
        cluster.apply(include_str!("infrastructure.yaml")).await?;
        let client = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "client", "namespace": "openstack"},
            "data": {"client.py": include_str!("client.py")},
        });
        cluster.apply(&client.to_string()).await?;
        let services = ["keystone", "glance", "placement"];
        let _operators = Operator::c5c3(&machine, &cluster, "operators", &services).await?;
        for server in ["mariadb", "openstack-memcached"] {
            eventually(&format!("{server} is ready"), minutes(3), async || {
                let name = format!("openstack/{server}");
                let set = cluster.get(STATEFUL_SET, &name).await?;
                ensure!(
                    set.data["status"]["readyReplicas"] == 1,
                    "{}",
                    set.data["status"]
                );
                Ok(())
            })
            .await?;
        }

        cluster.apply(include_str!("keystone.yaml")).await?;
        comes_up(&cluster, KEYSTONE, "keystone").await?;
        let credentials = does(&cluster, &node, "credentials").await?;
        give(&cluster, &credentials).await?;

        let volume = node.folder("images", USER)?;
        let volume = volume.to_str().context("an odd folder")?;
        let services = include_str!("services.yaml").replace("IMAGES", volume);
        cluster.apply(&services).await?;
        comes_up(&cluster, GLANCE, "glance").await?;
        comes_up(&cluster, PLACEMENT, "placement").await?;
        let algorithm = does(&cluster, &node, "images").await?;
        ensure!(
            algorithm.trim() == "sha512",
            "images are hashed by {algorithm}"
        );
        let version = does(&cluster, &node, "placement").await?;
        ensure!(version.trim() == "v1.0", "Placement has version {version}");
        Ok(())
    })
}

async fn comes_up(cluster: &Cluster, kind: Kind, name: &str) -> Result<()> {
    eventually(&format!("{name} is Ready"), minutes(6), async || {
        is(
            &cluster.get(kind, &format!("openstack/{name}")).await?,
            "Ready",
        )
    })
    .await
}

/// Has the client do one of its tasks in a pod, and gives what it says.
async fn does(cluster: &Cluster, node: &Node, task: &str) -> Result<String> {
    cluster
        .apply(&include_str!("client.yaml").replace("TASK", task))
        .await?;
    eventually(&format!("task {task} is done"), minutes(3), async || {
        is(
            &cluster.get(JOB, &format!("openstack/{task}")).await?,
            "Complete",
        )
    })
    .await?;
    let selector = format!("job-name={task}");
    let pods = cluster.list(POD, &selector).await?;
    let succeeded = pods
        .iter()
        .find(|pod| pod.data["status"]["phase"] == "Succeeded");
    let pod = succeeded
        .and_then(|pod| pod.metadata.name.as_deref())
        .context("no pod of the task has succeeded")?;
    node.logs(&format!("openstack/{pod}")).await
}

/// Gives services the application credentials that they reach Keystone with.
async fn give(cluster: &Cluster, credentials: &str) -> Result<()> {
    let line = credentials
        .lines()
        .last()
        .context("the client says nothing")?;
    let credentials: Value = serde_json::from_str(line)?;
    for (service, credential) in credentials.as_object().context("no credentials")? {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": format!("{service}-keystone-credentials"),
                "namespace": "openstack",
            },
            "stringData": {
                "application_credential_id": credential["id"],
                "application_credential_secret": credential["secret"],
            },
        });
        cluster.apply(&secret.to_string()).await?;
    }
    Ok(())
}
