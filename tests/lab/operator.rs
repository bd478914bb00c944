//! Operators, others' and ours, run outside the cluster that they serve.

mod c5c3;
mod flux;

use std::fs;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::cluster::Cluster;
use crate::eventually;
use crate::image::{MARIADB, MARIADB_OPERATOR, RABBITMQ};
use crate::machine::{Machine, Program};
use crate::probe;
use crate::tools::Tool;

/// How long an operator may take until it can be asked after.
const READY: Duration = Duration::from_secs(90);

/// The namespace that an operator takes for its own: where it keeps its lease.
const NAMESPACE: &str = "default";

/// Who mariadb-operator is to the agents beside Galera's members, by its name and that namespace.
const MARIADB_ACCOUNT: &str = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: mariadb-operator, namespace: default}}";

/// The class of Ingresses that a controller in the place of ingress-nginx takes.
const INGRESS_CLASS: &str = "{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: nginx}, spec: {controller: k8s.io/ingress-nginx}}";

/// Where our operators are installed.
const OURS: &str = "c5c3-system";

/// A lease's duration, the time within which it must be renewed, and the pause between attempts, in seconds.
type Lease = [&'static str; 3];

/// An operator ends when it can't renew its lease: an API server on a busy machine may stall for seconds.
const LEASE: Lease = ["60", "40", "10"];

const SHORT_LEASE: Lease = ["15", "10", "2"];

/// A running operator, or one that was killed.
pub struct Operator {
    machine: Arc<Machine>,
    name: String,
    program: Program,
    readiness: Readiness,
}

/// How an operator reports that it runs.
#[derive(Clone, Copy)]
enum Readiness {
    /// `/readyz` on this port answers.
    Asked(u16),
    /// It has no such endpoint, but serves health or metrics on this port.
    Listens(u16),
}

impl Operator {
    /// Installs MariaDB's kinds and starts their operator, mariadb-operator. Its webhooks, which refuse the change of
    /// what can't change, aren't served.
    pub async fn mariadb(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        cluster.install_mariadb().await?;
        cluster.apply(MARIADB_ACCOUNT).await?;
        let token = machine
            .folder()
            .join(format!("mariadb-operator-{}.token", cluster.name()));
        fs::write(&token, cluster.token("default/mariadb-operator").await?)?;
        let health = machine.port();
        let program = Program::new(Tool::MariadbOperator.path()?)
            .flag("health-addr", loopback(health))
            .flag("metrics-addr", "0")
            .env("KUBECONFIG", cluster.kubeconfig_file())
            .env("MARIADB_OPERATOR_NAME", "mariadb-operator")
            .env("MARIADB_OPERATOR_NAMESPACE", NAMESPACE)
            .env("MARIADB_OPERATOR_IMAGE", MARIADB_OPERATOR)
            // The token that it shows to the agents beside Galera's members.
            .env("MARIADB_OPERATOR_SA_PATH", token)
            .env("MARIADB_DEFAULT_VERSION", "11.4")
            .env(
                "MARIADB_GALERA_LIB_PATH",
                "/usr/lib/galera/libgalera_smm.so",
            )
            .env("RELATED_IMAGE_MARIADB", format!("mariadb:{MARIADB}"))
            .env("RELATED_IMAGE_MAXSCALE", "maxscale:23.08.5")
            .env("RELATED_IMAGE_EXPORTER", "mysqld-exporter:v0.15.1")
            .env(
                "RELATED_IMAGE_EXPORTER_MAXSCALE",
                "maxscale-exporter:v0.0.1",
            );
        Self::run(
            machine,
            "mariadb-operator",
            program,
            Readiness::Listens(health),
        )
        .await
    }

    /// Installs RabbitMQ's kinds and starts the operator of its clusters.
    pub async fn rabbitmq(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        Self::rabbitmq_with_lease(machine, cluster, LEASE).await
    }

    /// As [`rabbitmq`](Self::rabbitmq), with a lease of the operator that is short, for a scenario that kills it: it is back once
    /// the lease of the killed one has run out.
    pub async fn rabbitmq_with_short_lease(
        machine: &Arc<Machine>,
        cluster: &Cluster,
    ) -> Result<Self> {
        Self::rabbitmq_with_lease(machine, cluster, SHORT_LEASE).await
    }

    async fn rabbitmq_with_lease(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        lease: Lease,
    ) -> Result<Self> {
        cluster.install_rabbitmq().await?;
        let metrics = machine.port();
        let program = Program::new(Tool::RabbitmqOperator.path()?)
            .flag("metrics-bind-address", loopback(metrics))
            .env("KUBECONFIG", cluster.kubeconfig_file())
            .env("OPERATOR_NAMESPACE", NAMESPACE)
            .env("DEFAULT_RABBITMQ_IMAGE", format!("rabbitmq:{RABBITMQ}"));
        Self::run(
            machine,
            "rabbitmq-cluster-operator",
            leased(program, lease),
            Readiness::Listens(metrics),
        )
        .await
    }

    /// Starts the operator of virtual hosts, users and permissions in RabbitMQ. Its kinds come with the operator of clusters,
    /// whose pods it reaches once the cluster has a node. Its webhooks aren't served.
    pub async fn rabbitmq_topology(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        let health = machine.port();
        let program = Program::new(Tool::RabbitmqTopologyOperator.path()?)
            .flag("health-probe-bind-address", loopback(health))
            .env("KUBECONFIG", cluster.kubeconfig_file())
            .env("OPERATOR_NAMESPACE", NAMESPACE)
            .env("ENABLE_WEBHOOKS", "false");
        Self::run(
            machine,
            "rabbitmq-topology-operator",
            program,
            Readiness::Asked(health),
        )
        .await
    }

    /// Installs K-ORC's kinds and starts it.
    pub async fn k_orc(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        cluster.install_k_orc().await?;
        let health = machine.port();
        let program = Program::new(Tool::KOrc.path()?)
            .flag("health-probe-bind-address", loopback(health))
            .env("KUBECONFIG", cluster.kubeconfig_file());
        Self::run(machine, "k-orc", program, Readiness::Asked(health)).await
    }

    /// Installs cert-manager's kinds and starts it, for issuers that sign themselves. Its webhooks aren't served.
    pub async fn cert_manager(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        cluster.install_cert_manager().await?;
        let health = machine.port();
        let program = Program::new(Tool::CertManager.path()?)
            .flag("kubeconfig", cluster.kubeconfig_file())
            .flag("health-addr", loopback(health));
        let name = format!("cert-manager-{}", cluster.name());
        Self::run(machine, &name, program, Readiness::Listens(health)).await
    }

    /// Installs External Secrets' kinds that aren't there yet and starts it. Its webhooks aren't served.
    pub async fn external_secrets(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        cluster.install_external_secrets().await?;
        cluster.install_secret_stores().await?;
        let health = machine.port();
        let program = Program::new(Tool::ExternalSecrets.path()?)
            .flag("live-addr", loopback(health))
            .flag("metrics-addr", loopback(machine.port()))
            // A store that can't be used yet is tried again soon.
            .flag("store-requeue-interval", "10s")
            .flag("enable-cluster-external-secret-reconciler", "false")
            .flag("enable-cluster-push-secret-reconciler", "false")
            .env("KUBECONFIG", cluster.kubeconfig_file());
        let name = format!("external-secrets-{}", cluster.name());
        Self::run(machine, &name, program, Readiness::Listens(health)).await
    }

    /// Installs the kinds of the Gateway API and starts Traefik, at port 443 of an address: for Gateways of classes with the controller
    /// `traefik.io/gateway-controller`, and for Ingresses of the class `nginx` with annotations for ingress-nginx.
    pub async fn traefik(
        machine: &Arc<Machine>,
        cluster: &Cluster,
        address: Ipv4Addr,
    ) -> Result<Self> {
        cluster.install_gateway().await?;
        cluster.apply(INGRESS_CLASS).await?;
        let health = machine.port();
        let program = Program::new(Tool::Traefik.path()?)
            .flag("entrypoints.public.address", format!("{address}:443"))
            // As the documentation of services says.
            .flag(
                "entrypoints.public.transport.respondingtimeouts.readtimeout",
                "0",
            )
            .flag("entrypoints.health.address", loopback(health))
            .flag("ping.entrypoint", "health")
            .flag("providers.kubernetesgateway", "true")
            .flag(
                "providers.kubernetesgateway.statusaddress.ip",
                address.to_string(),
            )
            .flag("providers.kubernetesingressnginx", "true")
            .flag("providers.kubernetesingressnginx.httpsentrypoint", "public")
            // Without it, Ingresses get no address, and the operators wait for one.
            .flag(
                "providers.kubernetesingressnginx.publishstatusaddress",
                address.to_string(),
            )
            .flag("global.checknewversion", "false")
            .flag("global.sendanonymoususage", "false")
            .env("KUBECONFIG", cluster.kubeconfig_file());
        Self::run(machine, "traefik", program, Readiness::Listens(health)).await
    }

    /// Starts the scheduler of a cluster, under a name of its process.
    pub fn scheduler(machine: &Machine, cluster: &Cluster, process: &str) -> Result<()> {
        let scheduler = Program::new(Tool::KubeScheduler.path()?)
            .flag("kubeconfig", cluster.kubeconfig_file())
            .flag("secure-port", "0")
            .flag("leader-elect", "false");
        machine.start(process, &scheduler)
    }

    /// Starts controllers of Kubernetes for a cluster, under a name of their process: those that kube-controller-manager's flag of the
    /// same name says.
    pub fn controllers(
        machine: &Machine,
        cluster: &Cluster,
        process: &str,
        controllers: &str,
    ) -> Result<()> {
        let authority = machine.folder().join("authority.crt");
        fs::write(&authority, machine.authority().certificate())?;
        let program = Program::new(Tool::KubeControllerManager.path()?)
            .flag("kubeconfig", cluster.kubeconfig_file())
            .flag("root-ca-file", &authority)
            .flag("secure-port", "0")
            .flag("leader-elect", "false")
            // Scenarios with many objects would wait for its usual limits.
            .flag("kube-api-qps", "200")
            .flag("kube-api-burst", "400")
            // Until objects of a kind are counted, the API server refuses those that have a quota. One that is older than its kind waits for
            // the next sync.
            .flag("resource-quota-sync-period", "10s")
            .flag("controllers", controllers);
        machine.start(process, &program)
    }

    /// Its metrics.
    ///
    /// # Errors
    /// When it has none, or can't be asked.
    pub async fn metrics(&self) -> Result<String> {
        match self.readiness {
            Readiness::Asked(port) => probe::page(port, "/metrics").await,
            Readiness::Listens(_) => bail!("{} has no page of metrics", self.name),
        }
    }

    async fn run(
        machine: &Arc<Machine>,
        name: &str,
        program: Program,
        readiness: Readiness,
    ) -> Result<Self> {
        let operator = Self {
            machine: machine.clone(),
            name: name.to_owned(),
            program,
            readiness,
        };
        operator.start().await?;
        Ok(operator)
    }

    /// Starts it again after a `kill` or `stop`.
    ///
    /// # Errors
    /// When it still runs, or isn't ready in time.
    pub async fn start(&self) -> Result<()> {
        self.launch()?;
        eventually(&format!("{} is ready", self.name), READY, async || {
            self.ready().await
        })
        .await
    }

    /// Starts it again, ready or not.
    ///
    /// # Errors
    /// When it still runs, or can't be started.
    pub fn launch(&self) -> Result<()> {
        self.machine.start(&self.name, &self.program)
    }

    /// Fine when it is ready.
    ///
    /// # Errors
    /// When it has ended, or isn't ready, with what it answers.
    pub async fn ready(&self) -> Result<()> {
        self.check()?;
        match self.readiness {
            Readiness::Asked(port) => probe::ready(port).await,
            Readiness::Listens(port) => probe::listens(port).await,
        }
    }

    /// Fine while it runs.
    pub fn check(&self) -> Result<()> {
        self.machine.check(&self.name)
    }

    /// Asks it to leave.
    pub fn stop(&self) -> Result<()> {
        self.machine.stop(&self.name)
    }

    /// Kills it in the middle of whatever it does.
    pub fn kill(&self) -> Result<()> {
        self.machine.kill(&self.name)
    }
}

/// RabbitMQ's operators can't run without a lease.
fn leased(program: Program, [duration, deadline, period]: Lease) -> Program {
    program
        .env("LEASE_DURATION", duration)
        .env("RENEW_DEADLINE", deadline)
        .env("RETRY_PERIOD", period)
}

fn loopback(port: u16) -> String {
    format!("127.0.0.1:{port}")
}
