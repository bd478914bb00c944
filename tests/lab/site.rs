//! A control plane cluster in which everything but our operator is simulated.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use c5c3_program::Build;
use serde_json::{Value, json};

use crate::cluster::{self, Cluster, Etcd};
use crate::function::our_program;
use crate::keystones;
use crate::machine::{Machine, Program};
use crate::node::SERVICE_ACCOUNT;
use crate::objects::{Kind, kind};
use crate::pods::Pods;
use crate::serve::Server;
use crate::simulated_operators::SimulatedOperators;

const CLUSTER_ROLE_BINDING: Kind = kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
const CONTROL_PLANE: Kind = kind("c5c3.io/v1alpha1", "ControlPlane");

/// The port of a control plane's Keystone.
const KEYSTONE: u16 = 5000;

/// This project's operators of control planes.
const OPERATORS: &[&str] = &[
    "c5c3",
    "keystone",
    "glance",
    "placement",
    "ovn",
    "neutron",
    "nova",
    "cinder",
    "tempest",
];

/// A control plane cluster in which everything but this project's operators is simulated.
pub struct Site {
    /// The machine it is on.
    pub machine: Arc<Machine>,
    /// The cluster.
    pub cluster: Cluster,
    program: PathBuf,
    /// The operators that run in one process.
    operators: &'static [&'static str],
    _simulated: SimulatedOperators,
    _beside: Option<Beside>,
}

/// What is also simulated where this project's operators of services run.
struct Beside {
    _keystones: Server,
    _pods: Pods,
}

/// Starts a cluster with all kinds.
async fn start(machine: &Machine) -> Result<Cluster> {
    let etcd = Etcd::start(machine)?;
    let cluster = Cluster::start(machine, &etcd, cluster::CONTROL_PLANE).await?;
    cluster.install_control_plane_kinds().await?;
    Ok(cluster)
}

/// Whether an operator is the only replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    /// It is.
    One,
    /// Whoever holds the Lease in the namespace `default` leads.
    Several,
}

impl Cluster {
    /// The cluster as an account of its own sees it, which may do everything: so that an audit shows who is who.
    pub async fn account(&self, name: &str) -> Result<Self> {
        let account = format!("default/{name}");
        let rights = json!({
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "default" }],
        });
        self.put(SERVICE_ACCOUNT, &account, json!({})).await?;
        self.put(CLUSTER_ROLE_BINDING, name, rights).await?;
        self.acting_as(&account).await
    }
}

impl Site {
    /// Starts the cluster, installs all kinds, and begins to simulate. The operator is built but not started.
    pub async fn open(machine: &Arc<Machine>, build: Build) -> Result<Self> {
        let program = our_program(build)?;
        let cluster = start(machine).await?;
        Ok(Self {
            _simulated: SimulatedOperators::simulate(machine, &cluster).await?,
            _beside: None,
            machine: Arc::clone(machine),
            cluster,
            program,
            operators: &["c5c3"],
        })
    }

    /// As [`open`](Self::open), but with the operators of services in the same process as the c5c3-operator, for control planes of
    /// these names without encryption. Of pods, there are only those of Jobs.
    pub async fn open_for_all_operators(
        machine: &Arc<Machine>,
        build: Build,
        names: &[String],
    ) -> Result<Self> {
        let program = our_program(build)?;
        let hosts = names.iter();
        let hosts = hosts.map(|name| format!("keystone.{name}.svc.cluster.local"));
        machine.resolve_to_loopback(&hosts.collect::<Vec<_>>())?;
        let cluster = start(machine).await?;
        let beside = Beside {
            _keystones: keystones::serve(KEYSTONE, None).await?,
            _pods: Pods::of_jobs(machine, &cluster).await?,
        };
        Ok(Self {
            _simulated: SimulatedOperators::instead_of_pods(&cluster).await?,
            _beside: Some(beside),
            machine: Arc::clone(machine),
            cluster,
            program,
            operators: OPERATORS,
        })
    }

    /// Starts the operators in a process of this name, with the rights of the cluster's user. Returns the port of health and metrics, as
    /// soon as the process serves it.
    ///
    /// # Errors
    /// When it still runs, or can't be started.
    pub fn start(&self, process: &str, cluster: &Cluster, replicas: Replicas) -> Result<u16> {
        let port = self.machine.port();
        let mut program = Program::new(&self.program)
            .arg("operator")
            .args(self.operators)
            .flag("address", format!("127.0.0.1:{port}"))
            .flag("kubeconfig", cluster.kubeconfig_file())
            // The holder of the Lease.
            .env("HOSTNAME", process);
        program = match replicas {
            Replicas::One => program.arg("--alone"),
            Replicas::Several => program.flag("lease-namespace", "default"),
        };
        self.machine.start(process, &program)?;
        Ok(port)
    }

    /// Makes a namespace, and a ControlPlane of the same name in it.
    pub async fn control_plane(&self, name: &str, spec: &Value) -> Result<()> {
        self.cluster.put_namespace(name).await?;
        let place = format!("{name}/{name}");
        let control_plane = json!({ "spec": spec });
        self.cluster.put(CONTROL_PLANE, &place, control_plane).await
    }
}
