//! Hypervisors: nodes with networks, devices and state of their own.

use std::time::Instant;

use lab::{Fabric, Kind, Result, ensure, eventually, kind, minutes};

use super::{POD, up};

const DAEMON_SET: Kind = kind("apps/v1", "DaemonSet");

pub fn hypervisors_join_a_cluster_and_its_networks() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, node) = up(&machine).await?;
        let fabric = Fabric::lay(&machine).await?;
        let started = Instant::now();
        let (first, second) = tokio::try_join!(
            node.add_hypervisor(&cluster, &fabric, 1),
            node.add_hypervisor(&cluster, &fabric, 2)
        )?;
        println!(
            "two hypervisors joined in {:.1} s",
            started.elapsed().as_secs_f64()
        );

        cluster.apply(include_str!("hypervisors.yaml")).await?;
        for (set, expected) in [("in-pod", IN_POD), ("on-node", ON_NODE)] {
            eventually(&format!("{set} has pods"), minutes(3), async || {
                let found = cluster.get(DAEMON_SET, &format!("default/{set}")).await?;
                let status = &found.data["status"];
                ensure!(status["numberReady"] == 2, "{status}");
                Ok(())
            })
            .await?;
            for pod in cluster.list(POD, &format!("app={set}")).await? {
                let name = format!("default/{}", pod.metadata.name.unwrap_or_default());
                let node_name = pod.data["spec"]["nodeName"].as_str().unwrap_or_default();
                let expected = expected.replace("NODE", node_name);
                eventually(&format!("{name} reads the page"), minutes(3), async || {
                    let printed = node.logs(&name).await?;
                    ensure!(printed == expected, "{printed:?}");
                    Ok(())
                })
                .await?;
            }
        }

        for (hypervisor, address) in [(&first, "172.31.7.11"), (&second, "172.31.7.12")] {
            let address_and_prefix = format!("{address}/24");
            hypervisor.run(&[
                "ip",
                "address",
                "add",
                &address_and_prefix,
                "dev",
                "external",
            ])?;
            fabric.run(&[
                "curl",
                "--silent",
                &format!("http://{address}:10256/healthz"),
            ])?;
        }
        let tunnel = format!("http://{}:10256/healthz", second.encapsulation());
        first.run(&["curl", "--silent", &tunnel])?;
        Ok(())
    })
}

/// What a pod of a hypervisor prints.
const IN_POD: &str = "hello\n";

/// What a pod in the network of a hypervisor prints.
const ON_NODE: &str = "hello
NODE
no KVM
/dev/net/tun
/sys/class/net/external/mtu
/sys/class/net/underlay/mtu
";
