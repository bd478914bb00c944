//! How hosts are connected to the physical network.

use lab::claims::SHARE;
use lab::{Hypervisor, Result, eventually, is, minutes};

use super::agents::agent_pod;

/// Who connects the hosts of a control plane to the physical network.
#[derive(Clone, Copy)]
pub enum Uplinks {
    /// Somebody on each host: their pool doesn't name the interface.
    ByHand,
    /// The agents, with the interface that their pool names.
    ByPool,
}

impl Uplinks {
    /// Connects the hosts of a tenant's servers, or waits until their agents have.
    pub async fn connect(self, control_plane: &str, hypervisors: [&Hypervisor; 2]) -> Result<()> {
        match self {
            Uplinks::ByHand => {
                for hypervisor in hypervisors {
                    let pod = agent_pod(hypervisor, control_plane, "openvswitch").await?;
                    let uplink = ["ovs-vsctl", "--may-exist", "add-port", "br-ex", "external"];
                    hypervisor.container(&pod).await?.run(&uplink)?;
                }
                Ok(())
            }
            Uplinks::ByPool => {
                let cluster = hypervisors[0].cluster();
                eventually("the hosts have uplinks", minutes(3), async || {
                    let share = cluster.get(SHARE, control_plane).await?;
                    is(&share, "UplinksReady")
                })
                .await
            }
        }
    }
}
