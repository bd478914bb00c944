//! Servers on two hypervisors, from a ControlPlane of seven services.

use std::collections::BTreeSet;
use std::time::Instant;

use lab::{
    Ceph, Cloud, Cluster, Context, Fabric, Hypervisor, Image, Kind, Operator, Result, ensure,
    eventually, is, kind, minutes,
};

use super::{CONTROL_PLANE, DATABASE_USER, MESSAGING_USER, SERVICE_USER, issuer, path, volumes};

const POD: Kind = kind("v1", "Pod");
const SHARE: Kind = kind("hypervisor.c5c3.io/v1alpha1", "HypervisorShare");
const AGENTS: &str = "agents-production";
const OPERATORS: [&str; 9] = [
    "c5c3",
    "keystone",
    "glance",
    "placement",
    "ovn",
    "neutron",
    "nova",
    "cinder",
    "hypervisor-pool",
];

/// What Placement has of the hosts when no server is left.
const UNUSED: &str =
    "hypervisor-1 DISK_GB=0 MEMORY_MB=0 VCPU=0\nhypervisor-2 DISK_GB=0 MEMORY_MB=0 VCPU=0";

pub fn servers_boot_on_two_hypervisors() -> Result<()> {
    let mut images = vec![
        Image::mariadb()?,
        Image::memcached()?,
        Image::rabbitmq()?,
        Image::ovn()?,
        Image::libvirt()?,
        Image::guest()?,
        Image::ceph()?,
    ];
    for service in [
        "keystone",
        "glance",
        "placement",
        "neutron",
        "nova",
        "cinder",
    ] {
        images.push(Image::of_service(service, "2025.2")?);
    }
    lab::on_a_bare_machine(async move |machine| {
        let mut cloud = Cloud::bare(&machine, &images).await?;
        let fabric = Fabric::lay(&machine).await?;
        let (first, second) = tokio::try_join!(
            cloud.node.add_hypervisor(&fabric, 1),
            cloud.node.add_hypervisor(&fabric, 2)
        )?;
        cloud.cluster.install_control_plane_kinds().await?;
        let _mariadb = Operator::mariadb(&machine, &cloud.cluster).await?;
        let _rabbitmq = Operator::rabbitmq(&machine, &cloud.cluster).await?;
        let _topology = Operator::rabbitmq_topology(&machine, &cloud.cluster).await?;
        let _k_orc = Operator::k_orc(&machine, &cloud.cluster).await?;
        let _cert_manager = Operator::cert_manager(&machine, &cloud.cluster).await?;
        for operator in OPERATORS {
            cloud.install(&machine, operator).await?;
        }
        for (name, size, user) in [
            ("databases", "1Gi", DATABASE_USER),
            ("messages", "2Gi", MESSAGING_USER),
            ("northbound", "10Gi", SERVICE_USER),
            ("southbound", "10Gi", SERVICE_USER),
        ] {
            cloud.volume(name, size, user).await?;
        }

        let ceph = volumes::ceph(&cloud).await?;
        let started = Instant::now();
        cloud.cluster.apply(include_str!("servers.yaml")).await?;
        issuer(&cloud, machine.authority().identity()).await?;
        eventually("the control plane is Ready", minutes(12), async || {
            let name = "openstack/production";
            is(&cloud.cluster.get(CONTROL_PLANE, name).await?, "Ready")
        })
        .await?;
        println!(
            "the control plane was Ready after {} s",
            started.elapsed().as_secs()
        );
        path::report(&cloud.cluster.audit()?, &path::COMPUTE)?;
        eventually("the agents are Ready", minutes(5), async || {
            is(&cloud.cluster.get(SHARE, "production").await?, "Ready")
        })
        .await?;
        println!(
            "the agents were Ready after {} s",
            started.elapsed().as_secs()
        );
        for hypervisor in [&first, &second] {
            let uplink = ["ovs-vsctl", "--may-exist", "add-port", "br-ex", "external"];
            agent(&cloud, hypervisor, "openvswitch")
                .await?
                .run(&uplink)?;
        }
        work(&cloud, &ceph, &fabric, &first).await?;
        console_logs_are_limited(&cloud, &first).await?;
        nothing_is_left(&cloud, &[first, second]).await?;
        println!("all was done after {} s", started.elapsed().as_secs());
        cloud.roles_suffice()
    })
}

/// Runs a task of a tenant, and returns what it prints.
pub(super) async fn tenant(cloud: &Cloud, task: &str) -> Result<String> {
    let manifest = include_str!("tenant.yaml").replace("TASK", task);
    cloud.cluster.apply(&manifest).await?;
    cloud.says(task).await
}

/// What a tenant does with two servers.
async fn work(cloud: &Cloud, ceph: &Ceph, fabric: &Fabric, hypervisor: &Hypervisor) -> Result<()> {
    cloud
        .give("tenant", "tenant.py", include_str!("tenant.py"))
        .await?;
    let booted = tenant(cloud, "boot").await?;
    println!("two servers: {}", booted.trim());
    let booted: serde_json::Value = serde_json::from_str(&booted)?;
    let address = booted["address"].as_str().context("no floating IP")?;
    let ping = ["ping", "-c", "1", "-W", "1", address];
    ensure!(
        fabric.run(&ping).is_err(),
        "{address} answers without a rule that allows it"
    );
    tenant(cloud, "outside").await?;
    eventually("the floating IP answers", minutes(1), async || {
        fabric.run(&ping)
    })
    .await?;
    let name = fabric.run(&["curl", "--silent", &format!("http://{address}/")])?;
    ensure!(name.trim() == "hypervisor-1.novalocal", "{name}");
    agents_restart(cloud, fabric, hypervisor, address).await?;
    volumes::work(cloud, ceph).await?;
    tenant(cloud, "block").await?;
    let protocol = tenant(cloud, "display").await?;
    ensure!(protocol.trim() == "RFB 003.008", "{protocol}");
    let usages = tenant(cloud, "delete").await?;
    ensure!(usages.trim() == UNUSED, "{usages}");
    Ok(())
}

/// Agents are replaced on the host of a server, which answers every ping meanwhile.
async fn agents_restart(
    cloud: &Cloud,
    fabric: &Fabric,
    hypervisor: &Hypervisor,
    address: &str,
) -> Result<()> {
    let log = cloud.node.folder("pings", SERVICE_USER)?.join("log");
    let log = log.to_str().context("the folder's path isn't UTF-8")?;
    let ping = format!("ping -i 0.2 {address} > {log} 2>&1 < /dev/null & echo $!");
    let process = fabric.run(&["sh", "-c", &ping])?;
    for agent in [
        "ovn-controller",
        "nova-compute",
        "neutron-ovn-agent",
        "libvirt",
    ] {
        let old = pod(&cloud.cluster, hypervisor, agent).await?;
        cloud.cluster.delete(POD, &old).await?;
        eventually(&format!("{agent} is back"), minutes(2), async || {
            let new = pod(&cloud.cluster, hypervisor, agent).await?;
            ensure!(new != old, "{old} is still there");
            is(&cloud.cluster.get(POD, &new).await?, "Ready")
        })
        .await?;
    }
    fabric.run(&["kill", "-INT", process.trim()])?;
    let pings = fabric.run(&["sh", "-c", &format!("sleep 1; cat {log}")])?;
    let lost = lost(&pings)?;
    let end: Vec<&str> = pings.lines().rev().take(2).collect();
    println!("pings while four agents were replaced: {end:?}");
    ensure!(lost.is_empty(), "pings {lost:?} are lost:\n{pings}");
    Ok(())
}

/// The numbers of the pings that weren't answered, by ping's output. The last one may be on its way when ping is stopped.
fn lost(pings: &str) -> Result<Vec<u32>> {
    let answers = pings.lines().filter(|line| line.contains(" bytes from "));
    let numbers = answers.filter_map(|line| {
        let (_, number) = line.split_once(" icmp_seq=")?;
        number.split(' ').next()?.parse().ok()
    });
    let answered: BTreeSet<u32> = numbers.collect();
    let sent = pings.lines().find_map(|line| {
        let (sent, _) = line.split_once(" packets transmitted")?;
        sent.parse::<u32>().ok()
    });
    let sent = sent.context("ping reports nothing")?;
    ensure!(sent > 10, "only {sent} pings were sent:\n{pings}");
    Ok((1..sent)
        .filter(|number| !answered.contains(number))
        .collect())
}

/// A log that a server has filled begins anew.
async fn console_logs_are_limited(cloud: &Cloud, hypervisor: &Hypervisor) -> Result<()> {
    let libvirt = agent(cloud, hypervisor, "libvirt").await?;
    let fill =
        "cd /var/lib/nova/instances; mkdir filled; head --bytes=17M /dev/zero > filled/console.log";
    libvirt.run(&["sh", "-euc", fill])?;
    eventually("the log is empty", minutes(1), async || {
        let size = [
            "stat",
            "--format=%s",
            "/var/lib/nova/instances/filled/console.log",
        ];
        let size = libvirt.run(&size)?;
        ensure!(size == "0", "{size} bytes");
        Ok(())
    })
    .await
}

/// No server is left in libvirt, and no port of one in OVN.
async fn nothing_is_left(cloud: &Cloud, hypervisors: &[Hypervisor]) -> Result<()> {
    for hypervisor in hypervisors {
        let libvirt = agent(cloud, hypervisor, "libvirt").await?;
        let servers = libvirt.run(&["virsh", "list", "--all", "--name"])?;
        ensure!(servers.is_empty(), "{}: {servers}", hypervisor.name());
    }
    let northbound = cloud.node.container("openstack/ovn-nb-0").await?;
    // Ports of servers are of no type, those of routers, DHCP and metadata are.
    let ports = northbound.run(&[
        "ovn-nbctl",
        "--bare",
        "--columns=name",
        "find",
        "Logical_Switch_Port",
        "type=\"\"",
    ])?;
    ensure!(ports.is_empty(), "{ports}");
    Ok(())
}

/// A container of an agent's pod on a hypervisor.
pub(super) async fn agent(
    cloud: &Cloud,
    hypervisor: &Hypervisor,
    agent: &str,
) -> Result<lab::Container> {
    let pod = pod(&cloud.cluster, hypervisor, agent).await?;
    cloud.node.container(&pod).await
}

/// The name of an agent's pod on a hypervisor.
async fn pod(cluster: &Cluster, hypervisor: &Hypervisor, agent: &str) -> Result<String> {
    let pods = cluster
        .list(POD, &format!("app.kubernetes.io/component={agent}"))
        .await?;
    let mut pods = pods.into_iter().filter(|pod| {
        let is_deleted = pod.metadata.deletion_timestamp.is_some();
        pod.data["spec"]["nodeName"] == hypervisor.name() && !is_deleted
    });
    let name = pods.next().and_then(|pod| pod.metadata.name);
    let name = name.with_context(|| format!("{} has no pod of {agent}", hypervisor.name()))?;
    Ok(format!("{AGENTS}/{name}"))
}
