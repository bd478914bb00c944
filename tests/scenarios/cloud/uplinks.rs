//! How hosts are connected to the physical network.

use lab::claims::SHARE;
use lab::{Result, eventually, is, minutes};

use super::tenant::{Tenant, agent_pod};

/// Who connects the hosts of a control plane to the physical network.
#[derive(Clone, Copy)]
pub enum Uplinks {
    /// Somebody on each host: their pool doesn't name the interface.
    ByHand,
    /// The agents, with the interface that their pool names.
    ByPool,
}

/// Connects the hosts of a tenant's servers, or waits until their agents have.
pub async fn connect(tenant: &Tenant<'_>) -> Result<()> {
    let hypervisors = tenant.hypervisors;
    match tenant.uplinks {
        Uplinks::ByHand => {
            for hypervisor in hypervisors {
                let pod = agent_pod(hypervisor, tenant.control_plane, "openvswitch").await?;
                let uplink = ["ovs-vsctl", "--may-exist", "add-port", "br-ex", "external"];
                hypervisor.container(&pod).await?.run(&uplink)?;
            }
            Ok(())
        }
        Uplinks::ByPool => {
            let cluster = hypervisors[0].cluster();
            eventually("the hosts have uplinks", minutes(3), async || {
                let share = cluster.get(SHARE, tenant.control_plane).await?;
                is(&share, "UplinksReady")
            })
            .await
        }
    }
}
