//! The ground of a cloud: a node with a MariaDB and a Memcached in pods, and our own operators.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::core::DynamicObject;
use provider_openstack::table::MEMCACHED;
use serde_json::json;

use crate::cluster::{CONTROL_PLANE, Cluster, Etcd};
use crate::image::{Image, MARIADB};
use crate::machine::Machine;
use crate::node::Node;
use crate::objects::{Kind, is, kind};
use crate::operator::Operator;
use crate::space::check_space;
use crate::{eventually, minutes};

const CONFIG_MAP: Kind = kind("v1", "ConfigMap");
const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");
const JOB: Kind = kind("batch/v1", "Job");
const POD: Kind = kind("v1", "Pod");
const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet");
const VOLUME: Kind = kind("v1", "PersistentVolume");

/// What OpenStack's services need besides themselves, in a namespace `openstack`: Memcached, and a MariaDB with a database for
/// each of Keystone, Glance and Placement. What is in the databases outlasts their pod.
const INFRASTRUCTURE: &str = include_str!("node/infrastructure.yaml");

/// The user that MariaDB runs as.
const DATABASE_USER: u32 = 1000;

/// A cluster whose pods really run, with all that OpenStack's services need besides themselves in a namespace `openstack`,
/// and our operators, each under the role that its chart gives it.
pub struct Cloud {
    /// Its API server.
    pub cluster: Cluster,
    /// Where its pods are.
    pub node: Arc<Node>,
    /// Where its services are.
    namespace: String,
    operators: BTreeMap<String, Operator>,
}

impl Cloud {
    /// Starts it with images that its pods may have, and our operators of these names.
    pub async fn start(
        machine: &Arc<Machine>,
        images: &[Image],
        operators: &[&str],
    ) -> Result<Self> {
        let mut cloud = Self::bare(machine, images).await?;
        cloud.cluster.install_our_kinds().await?;
        let databases = cloud.node.folder("databases", DATABASE_USER)?;
        let databases = databases.to_str().context("an odd folder")?;
        let infrastructure = INFRASTRUCTURE
            .replace("DATABASES", databases)
            .replace("MARIADB", &format!("mariadb:{MARIADB}"))
            .replace("MEMCACHED", &format!("memcached:{}", MEMCACHED.tag));
        cloud.cluster.apply(&infrastructure).await?;
        for name in operators {
            cloud.install(machine, name).await?;
        }
        for server in ["mariadb", "openstack-memcached"] {
            cloud.serves(server).await?;
        }
        Ok(cloud)
    }

    /// Starts it with images that its pods may have, and nothing else: neither kinds nor operators, and no namespace
    /// `openstack`.
    pub async fn bare(machine: &Arc<Machine>, images: &[Image]) -> Result<Self> {
        let etcd = Etcd::start(machine)?;
        let cluster = Cluster::start(machine, &etcd, CONTROL_PLANE).await?;
        Self::on(machine, &cluster, images, "openstack").await
    }

    /// Gives a cluster a node with images that its pods may have. The services are to be in a namespace.
    pub async fn on(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        images: &[Image],
        namespace: &str,
    ) -> Result<Self> {
        check_space(machine.folder(), images.len())?;
        let node = Node::start(machine, cluster).await?;
        for image in images {
            node.offer(image).await?;
        }
        Ok(Self {
            cluster: cluster.clone(),
            node: Arc::new(node),
            namespace: namespace.to_owned(),
            operators: BTreeMap::new(),
        })
    }

    /// Another cloud on the same node, whose services are in another namespace. It has no operators: those of this one serve both.
    #[must_use]
    pub fn beside(&self, namespace: &str) -> Self {
        Self {
            cluster: self.cluster.clone(),
            node: Arc::clone(&self.node),
            namespace: namespace.to_owned(),
            operators: BTreeMap::new(),
        }
    }

    /// A folder of the machine's, for the one who asks for a volume of that size in a cloud; for this user.
    pub async fn volume(&self, name: &str, size: &str, user: u32) -> Result<()> {
        let volume = json!({"spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            "hostPath": {"path": self.node.folder(name, user)?},
        }});
        self.cluster.put(VOLUME, name, volume).await
    }

    /// Where its services are.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `namespace/name` of something in the cloud's namespace.
    fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace)
    }

    /// Installs and starts one of our operators.
    pub async fn install(&mut self, machine: &Arc<Machine>, name: &str) -> Result<()> {
        let operator = Operator::installed(machine, &self.cluster, name, &["replicas=0"]).await?;
        self.operators.insert(name.to_owned(), operator);
        Ok(())
    }

    /// One of our operators.
    ///
    /// # Errors
    /// When the cloud was started without it.
    pub fn operator(&self, name: &str) -> Result<&Operator> {
        let operator = self.operators.get(name);
        operator.with_context(|| format!("the cloud has no operator {name}"))
    }

    /// Fine when no operator was refused anything for want of a right.
    ///
    /// # Errors
    /// What was refused.
    pub fn roles_suffice(&self) -> Result<()> {
        let mut operators = self.operators.keys();
        operators.try_for_each(|name| self.cluster.allowed_all(&Operator::user(name)))
    }

    /// Waits until a server of the infrastructure answers.
    pub async fn serves(&self, server: &str) -> Result<()> {
        eventually(&format!("{server} is ready"), minutes(3), async || {
            let set = self.cluster.get(STATEFUL_SET, &self.place(server)).await?;
            ensure!(
                set.data["status"]["readyReplicas"] == 1,
                "{}",
                set.data["status"]
            );
            Ok(())
        })
        .await
    }

    /// Waits until a resource of the cloud's namespace is Ready.
    pub async fn comes_up(&self, kind: Kind, name: &str) -> Result<()> {
        eventually(&format!("{name} is Ready"), minutes(6), async || {
            is(&self.cluster.get(kind, &self.place(name)).await?, "Ready")
        })
        .await
    }

    /// Makes a change, and waits until all pods of a Deployment of the cloud's namespace are others than before it, and ready.
    pub async fn rolled<T>(
        &self,
        what: &str,
        name: &str,
        change: impl Future<Output = Result<T>>,
    ) -> Result<()> {
        let before = self.cluster.get(DEPLOYMENT, &self.place(name)).await?;
        change.await?;
        eventually(what, minutes(5), async || {
            let now = self.cluster.get(DEPLOYMENT, &self.place(name)).await?;
            let (spec, status) = (&now.data["spec"], &now.data["status"]);
            ensure!(
                spec["template"] != before.data["spec"]["template"],
                "its pods are as they were"
            );
            ensure!(
                status["observedGeneration"] == json!(now.metadata.generation)
                    && status["replicas"] == spec["replicas"]
                    && status["updatedReplicas"] == spec["replicas"]
                    && status["readyReplicas"] == spec["replicas"],
                "{status}"
            );
            Ok(())
        })
        .await
    }

    /// Puts a file where pods of the cloud's namespace may see it: into a ConfigMap of this name.
    pub async fn give(&self, name: &str, file: &str, text: &str) -> Result<()> {
        let map = json!({"data": {file: text}});
        self.cluster.put(CONFIG_MAP, &self.place(name), map).await
    }

    /// Creates a Job of a CronJob, as `kubectl create job --from` does.
    pub async fn run_now(&self, cron_job: &DynamicObject, name: &str) -> Result<()> {
        let metadata = &cron_job.metadata;
        let job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": metadata.namespace,
                "ownerReferences": [{
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": metadata.name,
                    "uid": metadata.uid,
                    "controller": true,
                }],
            },
            "spec": cron_job.data["spec"]["jobTemplate"]["spec"],
        });
        self.cluster.apply(&job.to_string()).await.map(drop)
    }

    /// Waits for a Job of the cloud's namespace, and gives what its pod says.
    ///
    /// # Errors
    /// When it isn't done in time, or has failed, with what its last pod says.
    pub async fn says(&self, job: &str) -> Result<String> {
        let phase = eventually(&format!("{job} is done"), minutes(15), async || {
            let job = self.cluster.get(JOB, &self.place(job)).await?;
            if is(&job, "Failed").is_ok() {
                return Ok("Failed");
            }
            is(&job, "Complete").map(|()| "Succeeded")
        })
        .await?;
        let pods = self.cluster.list(POD, &format!("job-name={job}")).await?;
        let last = pods
            .iter()
            .filter(|pod| pod.metadata.namespace.as_deref() == Some(self.namespace()))
            .filter(|pod| pod.data["status"]["phase"] == phase)
            .max_by_key(|pod| &pod.metadata.creation_timestamp)
            .and_then(|pod| pod.metadata.name.as_deref())
            .with_context(|| format!("no pod of {job} has {phase}"))?;
        let said = self.node.logs(&self.place(last)).await?;
        ensure!(phase == "Succeeded", "{job} has failed; it says:\n{said}");
        Ok(said)
    }
}
