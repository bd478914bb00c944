//! Two tenants on one pool: two control planes, each with a Nova and servers of its own. A node with servers changes hands and comes back,
//! while operator, agents, kubelets and API servers are killed.
//!
//! 24 GiB suffice for two control planes of the smallest size without Cinder and Ceph, about 3 GiB each, and for three hypervisors with
//! less than 1 GiB each. So no nova-compute needs a fake driver, and both tenants have servers of a real libvirt.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use lab::{
    Cloud, CloudState, Context, Fabric, Hypervisor, Image, Kind, Machine, Result, ensure,
    eventually, kind, minutes, never_until, seconds,
};

use super::operators;
use super::side::Side;
use crate::pools::leases::{Lease, Leases};

const NODE: Kind = kind("v1", "Node");

/// The services whose images servers without volumes need.
const SERVED: [&str; 5] = ["keystone", "glance", "placement", "neutron", "nova"];
/// What must never happen.
const FORBIDDEN: &str = "no host is in two clouds";
/// How often is looked whether it has happened.
const PAUSE: Duration = seconds(5);

/// Two sides, and what is behind them.
struct Site<'a> {
    machine: &'a Machine,
    /// The cluster of both, with the operators.
    cloud: &'a Cloud,
    hypervisors: &'a [Hypervisor],
    sides: [Side; 2],
    leases: Leases,
}

pub fn two_clouds_never_have_the_same_host() -> Result<()> {
    let images = Image::of_servers(SERVED)?;
    lab::on_a_bare_machine(async move |machine| {
        let mut cloud = Cloud::bare(&machine, &images).await?;
        let fabric = Fabric::lay(&machine).await?;
        let hypervisors = tokio::try_join!(
            cloud.node.add_hypervisor(&cloud.cluster, &fabric, 1),
            cloud.node.add_hypervisor(&cloud.cluster, &fabric, 2),
            cloud.node.add_hypervisor(&cloud.cluster, &fabric, 3)
        )?;
        let hypervisors: [Hypervisor; 3] = hypervisors.into();
        operators(&machine, &mut cloud).await?;

        let started = Instant::now();
        let side = |name, namespace| Side {
            name,
            cloud: cloud.beside(namespace),
        };
        let site = Site {
            machine: &machine,
            cloud: &cloud,
            hypervisors: &hypervisors,
            sides: [
                side("first", "openstack"),
                side("second", "openstack-second"),
            ],
            leases: Leases::watch(cloud.cluster.client()),
        };
        let [first, second] = &site.sides;
        first.create(&machine, 2).await?;
        second.create(&machine, 1).await?;
        tokio::try_join!(first.comes_up(), second.comes_up())?;
        println!(
            "both control planes were Ready after {} s",
            started.elapsed().as_secs()
        );
        site.is_watched().await?;
        println!("all was done after {} s", started.elapsed().as_secs());
        Ok(())
    })
}

impl Site<'_> {
    /// Both sides are used, and no lease, Placement or Nova ever shows a host of both.
    async fn is_watched(&self) -> Result<()> {
        let looked = Cell::new(Instant::now());
        never_until(FORBIDDEN, self.is_used(), async || {
            if looked.get().elapsed() < PAUSE {
                return Ok(());
            }
            let states = self.states().await;
            looked.set(Instant::now());
            self.leases.are_exclusive()?;
            // The cluster's API server may be away. All is read once more in the end.
            states.map_or(Ok(()), |[first, second]| {
                CloudState::are_apart(&first, &second)
            })
        })
        .await?;
        let [first, second] = self.states().await?;
        never_until(FORBIDDEN, async { Ok(()) }, async || {
            self.leases.are_exclusive()?;
            CloudState::are_apart(&first, &second)
        })
        .await?;
        for (side, states) in self.sides.iter().zip([first, second]) {
            let longest = CloudState::are_complete(&states)?;
            println!(
                "{} was seen {} times, the longest pause was {longest} ms",
                side.name,
                states.len()
            );
        }
        Ok(())
    }

    async fn states(&self) -> Result<[Vec<CloudState>; 2]> {
        let [first, second] = &self.sides;
        Ok([first.states().await?, second.states().await?])
    }

    /// Both have servers. The first gives a node with a server to the second, which gives it back with another server.
    async fn is_used(&self) -> Result<()> {
        let [first, second] = &self.sides;
        tokio::try_join!(first.has(&self.leases, 2), second.has(&self.leases, 1))?;
        // Of its two nodes, the second gives up the one with fewer servers.
        tokio::try_join!(first.boots(2), second.boots(2))?;
        let before = self.servers().await?;
        let hosts: BTreeSet<&String> = before.values().collect();
        ensure!(hosts.len() == 3, "a host has no server: {before:?}");
        // An API server that has just started refuses everybody until it knows the roles.
        self.cloud.roles_suffice()?;

        let host = self.hands_over(first, second).await?;
        second.boots(1).await?;
        let back = self.hands_over(second, first).await?;
        ensure!(
            back == host,
            "{back} was handed back, and {host} handed over"
        );
        first.boots(1).await?;

        let after = self.servers().await?;
        for (id, place) in before.iter().filter(|(_, place)| **place != host) {
            ensure!(
                after.get(id) == Some(place),
                "{id} was on {place}: {after:?}"
            );
        }
        let servers = first.servers_on(&host).await?;
        ensure!(
            servers.len() == 1 && after.len() == before.len(),
            "{servers:?} are on {host}; of {before:?} there are {after:?}"
        );
        Ok(())
    }

    /// The host of each server, by ID.
    async fn servers(&self) -> Result<BTreeMap<String, String>> {
        let [first, second] = &self.sides;
        let mut servers = first.state().await?.servers;
        servers.extend(second.state().await?.servers);
        Ok(servers)
    }

    /// One share shrinks and the other one grows, by a node with a server, which isn't released before its tenant deletes the server.
    /// Returns the node.
    async fn hands_over(&self, giver: &Side, taker: &Side) -> Result<String> {
        let count = |side: &Side| self.leases.of(side.name, None).len();
        let (given, taken) = (count(giver), count(taker));
        giver.may_have(given - 1).await?;
        taker.may_have(taken + 1).await?;
        let what = format!("{} drains a node", giver.name);
        // A share may take five minutes to count its servers.
        let host = eventually(&what, minutes(7), async || {
            let mut draining = self.leases.of(giver.name, Some("Draining"));
            draining.pop().context("it drains none")
        })
        .await?;
        let servers = giver.servers_on(&host).await?;
        ensure!(!servers.is_empty(), "{host} is drained without a server");
        let draining = self.lease(&host);
        let held = "a node with a server stays leased";
        never_until(held, self.loses_all(giver, taker, &host), async || {
            let lease = self.lease(&host);
            ensure!(lease == draining, "{host} has {lease:?}");
            Ok(())
        })
        .await?;
        for server in &servers {
            giver.does(&format!("delete-{server}")).await?;
        }
        let mut lease = draining;
        while lease.control_plane.as_deref() != Some(taker.name) {
            let what = format!("the lease of {host} goes on");
            let next = eventually(&what, minutes(5), async || {
                let next = self.lease(&host);
                ensure!(next != lease, "{host} has {next:?}");
                Ok(next)
            });
            lease = next.await?;
            println!("{host} has {lease:?}");
            self.loses_some(&lease, &host).await?;
        }
        taker.loses_agents(self.hypervisor(&host)?).await?;
        tokio::try_join!(
            giver.has(&self.leases, given - 1),
            taker.has(&self.leases, taken + 1)
        )?;
        println!("{} gave {host} to {}", giver.name, taker.name);
        Ok(host)
    }

    fn lease(&self, host: &str) -> Lease {
        let seen = self.leases.seen();
        seen.nodes.get(host).cloned().unwrap_or_default()
    }

    fn hypervisor(&self, host: &str) -> Result<&Hypervisor> {
        let mut hypervisors = self.hypervisors.iter();
        let found = hypervisors.find(|hypervisor| hypervisor.name() == host);
        found.with_context(|| format!("there is no {host}"))
    }

    /// Kills everything that takes part in a drain, and waits until nova-compute reports again. Containers that are killed often are started
    /// late, so that Nova's APIs would not be watched; they are killed here alone.
    async fn loses_all(&self, giver: &Side, taker: &Side, host: &str) -> Result<()> {
        let hypervisor = self.hypervisor(host)?;
        let killed = giver.loses_agents(hypervisor).await?;
        giver.loses_nova().await?;
        taker.loses_nova().await?;
        hypervisor.restart_kubelet()?;
        self.loses_api_server().await?;
        self.loses_operator().await?;
        giver.has_report(host, killed).await
    }

    /// Kills what takes part in the phase that a lease has just entered.
    async fn loses_some(&self, lease: &Lease, host: &str) -> Result<()> {
        match lease.phase.as_deref() {
            Some("Wiping") => self.loses_api_server().await?,
            _ => self.hypervisor(host)?.restart_kubelet()?,
        }
        self.loses_operator().await
    }

    /// Kills the API server of the cluster.
    async fn loses_api_server(&self) -> Result<()> {
        let cluster = &self.cloud.cluster;
        let process = format!("kube-apiserver-{}", cluster.name());
        self.machine.restart(&process)?;
        let node = self.hypervisors[0].name();
        eventually("the API server is back", minutes(2), async || {
            cluster.get(NODE, node).await.map(drop)
        })
        .await
    }

    /// Kills the operator of the pool.
    async fn loses_operator(&self) -> Result<()> {
        let operator = self.cloud.operator("hypervisor-pool")?;
        operator.kill()?;
        operator.start().await
    }
}
