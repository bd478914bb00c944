//! What lives in a hypervisor cluster: the pool's own settings, and one share for each control plane.

mod pool;
mod share;

pub(crate) use share::TUNNEL_OF_NETDEV;

pub use self::{
    pool::{
        AgentImages, HypervisorPoolSpec, HypervisorPoolStatus, NodeCounts, NodeGroup, PoolShare,
        SystemReserved,
    },
    share::{
        Agents, Aggregate, ComputeService, ComputeState, Datapath, HostSettings,
        HypervisorShareSpec, HypervisorShareStatus, LeasePhase, ShareHost, Virtualization,
    },
};

/// Label of a Secret with configuration of agents: whose operator wrote it.
pub const AGENTS: &str = "c5c3.io/agents";
/// Label of such a Secret of Nova: the cell.
pub const CELL: &str = "c5c3.io/cell";
/// Prefix of the keys of such Secrets that have the key of a user of Ceph. The rest is the UUID by which libvirt knows it.
pub const CEPH_KEY: &str = "ceph-key-";
/// Key of such a Secret of Nova with a clouds.yaml of Nova's own user, by which the hypervisor-pool-operator calls Nova.
pub const CLOUDS_FILE: &str = "clouds.yaml";
/// Key of such a Secret of Nova with certificates in PEM that those of the control plane's endpoints are checked against.
pub const CLOUDS_AUTHORITY: &str = "cacert";
/// Key of such a Secret of Nova with the certificate that QEMU has for consoles, in PEM.
pub const CONSOLE_CERTIFICATE: &str = "console-tls.crt";
/// Key of such a Secret of Nova with the key of that certificate.
pub const CONSOLE_KEY: &str = "console-tls.key";
/// Key of such a Secret of Nova with the authority of that certificate, which has signed that of the consoles' proxy, and nothing else.
pub const CONSOLE_AUTHORITY: &str = "console-ca.crt";
/// Key of such a Secret of Nova with the SSH key by which the cell's hosts of all pools know each other, in PEM (PKCS #8).
pub const MIGRATION_KEY: &str = "migration.key";
/// Nova's cell with the hosts of all pools of a ControlPlane, and of a share that names none.
pub const FIRST_CELL: &str = "cell1";
/// What a HypervisorShare reports as its configuration while nodes have different ones.
pub const MIXED: &str = "Mixed";
