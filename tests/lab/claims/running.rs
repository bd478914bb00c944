//! Our operators, each in its cluster with the rights of its chart. The operators of others, pods, Secrets that travel and OpenStack's APIs
//! are simulated.

use std::sync::{Arc, MutexGuard};

use anyhow::Result;
use futures::future::try_join_all;
use tokio::sync::Mutex;

use super::operators::balance;
use super::secrets::Store;
use super::{certificates, credentials, rook};
use crate::cluster::Cluster;
use crate::keystones;
use crate::lab::Lab;
use crate::machine::Machine;
use crate::nova::{Nova, NovaState};
use crate::objects::{Kind, kind};
use crate::operator::Operator;
use crate::pods::Pods;
use crate::serve::Server;
use crate::simulated_operators::SimulatedOperators;

const POD: Kind = kind("v1", "Pod");

/// Our operators in the cluster of a control plane with servers.
pub const OPERATORS_OF_CONTROL_PLANES: [&str; 8] = [
    "c5c3",
    "keystone",
    "glance",
    "placement",
    "ovn",
    "neutron",
    "nova",
    "cinder",
];

/// Our operator in the cluster of a hypervisor pool.
const POOL_OPERATOR: &str = "hypervisor-pool";

/// The APIs that our operators call: their Services and ports.
const KEYSTONE: (&str, u16) = ("keystone", 5000);
const NOVA: (&str, u16) = ("nova", 8774);
const NEUTRON: (&str, u16) = ("neutron", 9696);
const PLACEMENT: (&str, u16) = ("placement", 8778);

/// Our operators, and what is simulated beside them.
pub struct RunningOperators {
    machine: Arc<Machine>,
    control_plane: Cluster,
    hypervisor: Cluster,
    storage: Cluster,
    operators: Vec<Operator>,
    nova: Nova,
    secrets: Mutex<Store>,
    _keystone: Server,
    /// It has no agents, which is all that it is asked.
    _neutron: Nova,
    _placement: Server,
    _simulated: SimulatedOperators,
    _pods: [Pods; 2],
}

impl RunningOperators {
    /// Starts them for the control plane in a namespace.
    pub(super) async fn start(lab: &Lab, namespace: &str) -> Result<Self> {
        let (machine, cluster) = (&lab.machine, &lab.control_plane);
        let host = |(name, _): (&str, u16)| format!("{name}.{namespace}.svc.cluster.local");
        let hosts = [KEYSTONE, NOVA, NEUTRON, PLACEMENT].map(host);
        machine.resolve_to_loopback(&hosts)?;
        let names = hosts.each_ref().map(String::as_str);
        let identity = machine.authority().server(&names)?;
        cluster.install_control_plane_kinds().await?;
        cluster.install_cert_manager().await?;
        let nova = Nova::serve(NOVA.1, Some(&identity)).await?;
        let started = Self {
            machine: Arc::clone(machine),
            control_plane: cluster.clone(),
            hypervisor: lab.hypervisor.clone(),
            storage: lab.storage.clone(),
            _placement: nova.placement(PLACEMENT.1, &identity).await?,
            nova,
            _keystone: keystones::serve(KEYSTONE.1, Some(&identity)).await?,
            _neutron: Nova::serve(NEUTRON.1, Some(&identity)).await?,
            _simulated: SimulatedOperators::beside_services(cluster).await?,
            _pods: [
                Pods::simulate(machine, cluster).await?,
                Pods::simulate(machine, &lab.hypervisor).await?,
            ],
            secrets: Mutex::default(),
            operators: Vec::new(),
        };
        Operator::scheduler(machine, &lab.hypervisor, "kube-scheduler-hypervisor")?;
        let places = OPERATORS_OF_CONTROL_PLANES
            .map(|name| (cluster, name))
            .into_iter();
        let installed = places
            .chain([(&lab.hypervisor, POOL_OPERATOR)])
            .map(|(cluster, name)| Operator::installed(machine, cluster, name, &["replicas=0"]));
        Ok(Self {
            operators: try_join_all(installed).await?,
            ..started
        })
    }

    /// What Nova knows.
    pub fn nova(&self) -> MutexGuard<'_, NovaState> {
        self.nova.state()
    }

    /// Fine when no operator was refused anything for want of a right.
    ///
    /// # Errors
    /// What was refused.
    pub fn roles_suffice(&self) -> Result<()> {
        for name in OPERATORS_OF_CONTROL_PLANES {
            self.control_plane.allowed_all(&Operator::user(name))?;
        }
        self.hypervisor.allowed_all(&Operator::user(POOL_OPERATOR))
    }

    /// Does once what the operators of others do, and checks that ours run.
    pub(super) async fn work(&self) -> Result<()> {
        self.operators.iter().try_for_each(Operator::check)?;
        let (cluster, authority) = (&self.control_plane, self.machine.authority());
        certificates::work(cluster, authority).await?;
        credentials::work(cluster, authority).await?;
        rook::simulate(&self.storage).await?;
        let mut secrets = self.secrets.lock().await;
        for cluster in [&self.control_plane, &self.storage] {
            secrets.push(cluster).await?;
        }
        for cluster in [&self.control_plane, &self.hypervisor] {
            secrets.pull(cluster).await?;
        }
        balance(cluster, [127, 0, 0]).await?;
        self.register().await
    }

    /// Each nova-compute registers with its Nova.
    async fn register(&self) -> Result<()> {
        let selector = "app.kubernetes.io/component=nova-compute";
        let pods = self.hypervisor.list(POD, selector).await?;
        let hosts = pods.iter().filter_map(|pod| {
            let is_deleted = pod.metadata.deletion_timestamp.is_some();
            pod.data["spec"]["nodeName"]
                .as_str()
                .filter(|_| !is_deleted)
        });
        let mut nova = self.nova.state();
        for host in hosts {
            nova.services.entry(host.to_owned()).or_default();
        }
        Ok(())
    }
}
