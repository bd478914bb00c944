//! A site on which claims become clouds in pods: one node, two hypervisors, storage clusters with a Ceph behind each, and all operators.

use std::net::Ipv4Addr;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Generation, OPERATORS_OF_CONTROL_PLANES, Runs, Site};
use crate::ceph::Ceph;
use crate::cloud::Cloud;
use crate::cluster::Cluster;
use crate::lab::Lab;
use crate::node::{Fabric, Hypervisor};
use crate::objects::{Kind, kind};
use crate::operator::Operator;
use crate::pki::Authority;
use crate::secret_store::SecretStore;

const COMPOSITION: Kind = kind("apiextensions.crossplane.io/v1", "Composition");
const ISSUER: Kind = kind("cert-manager.io/v1", "ClusterIssuer");

/// The services whose images servers need.
pub const SERVICES: [&str; 6] = [
    "keystone",
    "glance",
    "placement",
    "neutron",
    "nova",
    "cinder",
];

/// The public address of the site, and the domain of its names.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 10);
const DOMAIN: &str = "cloud.example.com";

/// The user that MariaDB runs as.
pub const DATABASE_USER: u32 = 999;
/// The user that RabbitMQ runs as.
pub const MESSAGING_USER: u32 = 999;
/// The user that every service runs as.
pub const SERVICE_USER: u32 = 42424;

/// The volumes of one control plane: their sizes and users. Images are in Ceph.
const VOLUMES: [(&str, &str, u32); 4] = [
    ("databases", "1Gi", DATABASE_USER),
    ("messages", "2Gi", MESSAGING_USER),
    ("northbound", "10Gi", SERVICE_USER),
    ("southbound", "10Gi", SERVICE_USER),
];

/// A site, and what it is built on. Its parts end in this order.
pub struct CloudSite<'a> {
    /// What External Secrets of all clusters share.
    pub secrets: SecretStore,
    /// The nodes of the pool `hv-pool-a`.
    pub hypervisors: [Hypervisor; 2],
    /// The networks of the hypervisors, and the external network.
    pub fabric: Fabric,
    /// The clusters of claims and pools.
    pub site: Site<'a>,
    /// The node of the control planes' cluster.
    pub cloud: Cloud,
}

/// What differs from site to site.
pub struct Settings {
    /// How many control planes have volumes.
    pub control_planes: usize,
    /// Whether there is the storage pool `st-pool-b` beside `st-pool-a`.
    pub second_storage: bool,
    /// The tests that Tempest runs for claims with `verify`. Without any, its operator isn't installed.
    pub tests: Option<&'static str>,
    /// The part of a hypervisor pool that a small claim gets.
    pub share: Value,
    /// The floating IPs of claims: lists of `start` and `end` by `namespace/name`.
    pub floating_ips: Value,
}

impl<'a> CloudSite<'a> {
    /// Builds it on a lab whose control plane cluster has this node.
    pub async fn build(lab: &'a Lab, cloud: Cloud, settings: &Settings) -> Result<Self> {
        cloud.node.enforce_policies()?;
        let site = Site::build(lab, Generation::Namespaced).await?;
        let fabric = Fabric::lay(&lab.machine).await?;
        fabric.lead_to(PUBLIC)?;
        cloud.node.serve(&lab.hypervisor).await?;
        let (first, second) = tokio::try_join!(
            cloud.node.add_hypervisor(&lab.hypervisor, &fabric, 1),
            cloud.node.add_hypervisor(&lab.hypervisor, &fabric, 2)
        )?;
        let mut built = Self {
            secrets: SecretStore::start(&lab.machine).await?,
            hypervisors: [first, second],
            fabric,
            site,
            cloud,
        };
        built.site.runs = Runs::Pods(built.storages(settings.second_storage).await?);
        built.install_operators(settings.tests.is_some()).await?;
        for number in 1..=settings.control_planes {
            for (name, size, user) in VOLUMES {
                let name = format!("{name}-{number}");
                built.cloud.volume(&name, size, user).await?;
            }
        }
        configure(&lab.management, settings).await?;
        Ok(built)
    }

    /// Creates the pools.
    pub async fn create_pools(&self) -> Result<()> {
        self.site.claim("pools/control-plane").await?;
        let storages = ["st-pool-a", "st-pool-b"];
        for (pool, _) in storages.into_iter().zip(self.site.storages()?) {
            self.site.claim(&format!("pools/{pool}")).await?;
        }
        let hypervisors = include_str!("hypervisors.yaml");
        self.site.lab.management.apply(hypervisors).await.map(drop)
    }

    /// Storage clusters, each with an API server and a Ceph of its own. The hypervisors' API server is also the second one's: it spares
    /// the memory and the start of one more.
    async fn storages(&self, with_second: bool) -> Result<Vec<(Cluster, Ceph)>> {
        let (lab, cloud) = (self.site.lab, &self.cloud);
        if !with_second {
            return Ok(vec![(
                lab.storage.clone(),
                Ceph::start(cloud, "ceph").await?,
            )]);
        }
        let second = &lab.hypervisor;
        second.install_rook().await?;
        second.put_namespace("rook-ceph").await?;
        lab.provider.give_kubeconfig("st-pool-b", second).await?;
        let (ceph, other) =
            tokio::try_join!(Ceph::start(cloud, "ceph"), Ceph::start(cloud, "other-ceph"))?;
        Ok(vec![(lab.storage.clone(), ceph), (second.clone(), other)])
    }

    /// Installs the operators of each cluster of a site.
    async fn install_operators(&mut self, with_tempest: bool) -> Result<()> {
        let lab = self.site.lab;
        let (machine, cluster) = (&lab.machine, &lab.control_plane);
        cluster.install_control_plane_kinds().await?;
        lab.management.install_external_secrets().await?;
        Operator::mariadb(machine, cluster).await?;
        Operator::rabbitmq(machine, cluster).await?;
        Operator::rabbitmq_topology(machine, cluster).await?;
        Operator::k_orc(machine, cluster).await?;
        Operator::cert_manager(machine, cluster).await?;
        // Of the certificates of the hypervisors.
        Operator::cert_manager(machine, &lab.hypervisor).await?;
        Operator::traefik(machine, cluster, PUBLIC).await?;
        Operator::installed(machine, &lab.hypervisor, "hypervisor-pool", &["replicas=0"]).await?;
        for (cluster, store) in [
            (&lab.management, "tenants"),
            (&lab.control_plane, "openbao"),
            (&lab.hypervisor, "openbao"),
            (&lab.storage, "openbao"),
        ] {
            Operator::external_secrets(machine, cluster).await?;
            self.secrets.connect(cluster, store).await?;
        }
        let tempest = with_tempest.then_some("tempest");
        for operator in OPERATORS_OF_CONTROL_PLANES.into_iter().chain(tempest) {
            self.cloud.install(machine, operator).await?;
        }
        issue_public_certificates(cluster).await
    }
}

/// The public host name of a service of a claim.
pub fn public_host(service: &str, claim: &str) -> String {
    format!("{service}-{claim}.{DOMAIN}")
}

/// The public names of claims' APIs and of their servers' consoles with their address, in the format of `/etc/hosts`.
pub fn public_hosts(claims: &[&str]) -> String {
    let mut hosts = String::from("127.0.0.1 localhost\n");
    for claim in claims {
        let services = SERVICES.into_iter().chain(["novnc"]);
        let names: Vec<String> = services
            .map(|service| public_host(service, claim))
            .collect();
        hosts.push_str(&format!("{PUBLIC} {}\n", names.join(" ")));
    }
    hosts
}

/// Lets cert-manager sign public certificates, with a Secret where it looks for those of ClusterIssuers.
async fn issue_public_certificates(cluster: &Cluster) -> Result<()> {
    let authority = Authority::new()?;
    cluster
        .put_certificate("kube-system/public", authority.identity(), None)
        .await?;
    let issuer = json!({"spec": {"ca": {"secretName": "public"}}});
    cluster.put(ISSUER, "public", issuer).await
}

/// Sets the site's settings in the Composition's input, with a size for a node with two processors.
async fn configure(management: &Cluster, settings: &Settings) -> Result<()> {
    let composition = management.get(COMPOSITION, "openstack-development").await?;
    let mut pipeline = composition.data["spec"]["pipeline"].clone();
    let input = &mut pipeline[0]["input"];
    input["tenantAccess"] =
        json!({"secretStore": {"name": "tenants", "kind": "ClusterSecretStore"}});
    if let Some(tests) = settings.tests {
        input["tempest"] = json!({"includeRegex": tests});
    }
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
            "cidr": Fabric::OUTSIDE,
            "gateway": Fabric::GATEWAY,
            "allocationPools": settings.floating_ips,
        }},
    });
    let small = &mut input["sizes"]["small"];
    shrink(small);
    small["share"] = settings.share.clone();
    let patch: Value = json!({"spec": {"pipeline": pipeline}});
    management
        .edit(COMPOSITION, "openstack-development", patch)
        .await
        .map(drop)
}

/// Makes two control planes of a size fit on a node with two processors, beside their Jobs. Each pod of a component that the size doesn't mention
/// requests a tenth of one.
fn shrink(size: &mut Value) {
    let memory = |cpu: &str, limit: &str| json!({"requests": {"cpu": cpu, "memory": "512Mi"}, "limits": {"memory": limit}});
    let infrastructure = &mut size["infrastructure"];
    infrastructure["mariadb"] =
        json!({"replicas": 1, "storageSize": "1Gi", "resources": memory("200m", "1Gi")});
    infrastructure["rabbitmq"] =
        json!({"replicas": 1, "storageSize": "2Gi", "resources": memory("100m", "512Mi")});
    infrastructure["memcached"]["memory"] = json!("64Mi");
    let one = json!({"replicas": 1, "resources": {"requests": {"cpu": "20m"}}});
    size["services"] = json!({
        "keystone": one,
        "glance": one,
        "placement": one,
        "nova": {"api": one, "scheduler": one, "conductor": one, "metadata": one, "noVncProxy": one},
        "neutron": {"api": one, "periodicWorkers": one, "ovnMaintenanceWorker": one},
        "cinder": {"api": one, "scheduler": one, "volume": one, "backup": one},
    });
}

#[cfg(test)]
mod tests {
    use c5c3_api::control_plane::ControlPlaneServices;
    use c5c3_api::parts::Quantity;

    use super::*;

    /// The processors that all parts of a size request.
    fn requested(size: &Value) -> f64 {
        let own = size["requests"]["cpu"].as_str();
        let own = own.map(|cpu| cpu.parse::<Quantity>().unwrap().amount());
        let parts = size.as_object().into_iter().flatten();
        own.unwrap_or_default() + parts.map(|(_, part)| requested(part)).sum::<f64>()
    }

    #[test]
    fn two_control_planes_of_the_site_fit_on_two_processors() {
        let input = include_str!("../../../compositions/input/openstack-development.yaml");
        let mut input: Value = serde_saphyr::from_str(input).unwrap();
        let small = &mut input["sizes"]["small"];
        shrink(small);
        let services: ControlPlaneServices =
            serde_json::from_value(small["services"].clone()).unwrap();
        let (nova, neutron) = (services.nova, services.neutron);
        assert!(nova.metadata.is_some() && nova.no_vnc_proxy.is_some());
        assert!(neutron.periodic_workers.is_some() && neutron.ovn_maintenance_worker.is_some());
        // Memcached's request follows from its memory, and Nova's cell has a conductor of its own.
        let control_plane = requested(small) + 0.1 + 0.02;
        assert!(2.0 * control_plane < 1.8, "{control_plane}");
    }

    #[test]
    fn public_names_of_each_claim_lead_to_the_site() {
        let hosts = public_hosts(&["first", "second"]);
        let lines: Vec<&str> = hosts.lines().collect();
        assert_eq!(lines.len(), 3, "{hosts}");
        assert!(
            lines[1].starts_with("203.0.113.10 keystone-first.cloud.example.com "),
            "{hosts}"
        );
        assert!(
            lines[2].ends_with(" novnc-second.cloud.example.com"),
            "{hosts}"
        );
    }
}
