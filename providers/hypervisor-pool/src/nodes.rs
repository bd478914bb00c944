//! The nodes of a cluster, and which of them a share leases.

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use c5c3_api::pool::PhysicalNetwork;
use k8s_openapi::api::core::v1::Node;
use provider_composer::{
    Custom, DesiredState, Failure, Live, Lookup, ObservedState, Progress, Reason, Subject,
};

use crate::assignment::{self, assign};

/// Label of nodes that are hypervisors.
const ROLE: &str = "node-role.kubernetes.io/hypervisor";
/// Label of a leased node: the control plane.
pub const LEASE: &str = "c5c3.io/control-plane";

/// The nodes of a cluster, as a share looks at them.
pub struct Nodes<'a> {
    subject: &'a Subject<HypervisorShareSpec>,
    /// Hypervisors, and nodes with a lease.
    all: Vec<Live<Node>>,
    hosts: Vec<String>,
    /// Hypervisors without a lease.
    free: usize,
    /// The shares of the cluster, by name.
    shares: Vec<String>,
    /// Networks that the nodes are wired to.
    pub physical_networks: Vec<PhysicalNetwork>,
}

impl<'a> Nodes<'a> {
    /// The nodes that exist, and those that the share leases.
    ///
    /// # Errors
    /// Nodes, shares or pools can't be read, or there are several pools.
    pub fn observe(
        subject: &'a Subject<HypervisorShareSpec>,
        observed: &ObservedState<'_>,
    ) -> Result<Self, Failure> {
        let all: Vec<Live<Node>> = known(observed.list::<Node>("", &[]), "nodes")?
            .into_iter()
            .filter(|node| {
                let labels = &node.metadata.labels;
                labels.contains_key(ROLE) || labels.contains_key(LEASE)
            })
            .collect();
        let shares = known(
            observed.list::<Subject<HypervisorShareSpec>>("", &[]),
            "shares",
        )?;
        let pools = known(
            observed.list::<Custom<HypervisorPoolSpec>>("", &[]),
            "pools",
        )?;
        let pool = match pools.as_slice() {
            [] => HypervisorPoolSpec::default(),
            [pool] => pool.body.spec.clone(),
            [..] => {
                let names = pools.iter().map(|pool| pool.metadata.name.as_str());
                return Err(Failure::new(
                    Reason::SeveralPools,
                    format!(
                        "this cluster has the HypervisorPools {}, and a cluster is one pool: delete all but one of them",
                        names.collect::<Vec<_>>().join(", ")
                    ),
                ));
            }
        };
        let leases: Vec<assignment::Node> = all
            .iter()
            .map(|node| assignment::Node {
                name: node.metadata.name.clone(),
                lease: node.metadata.labels.get(LEASE).cloned(),
            })
            .collect();
        let claims: Vec<assignment::Share> = shares
            .iter()
            .map(|share| assignment::Share {
                created: share
                    .metadata
                    .creation_timestamp
                    .clone()
                    .unwrap_or_default(),
                name: share.metadata.name.clone(),
                control_plane: share.body.spec.control_plane.clone(),
                max_hosts: share.body.spec.max_hosts,
            })
            .collect();
        let assigned = assign(&leases, &claims, pool.reserve);
        let hosts = assigned
            .iter()
            .filter(|(_, share)| *share == subject.name())
            .map(|(node, _)| node.clone());
        Ok(Self {
            subject,
            hosts: hosts.collect(),
            free: all.len().saturating_sub(assigned.len()),
            shares: claims.into_iter().map(|share| share.name).collect(),
            all,
            physical_networks: pool.physical_networks,
        })
    }

    /// The names of the share's nodes, in order.
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.clone()
    }

    /// The internal addresses of the share's nodes.
    pub fn addresses(&self) -> Vec<String> {
        let leased = self.all.iter();
        let leased = leased.filter(|node| self.hosts.contains(&node.metadata.name));
        let statuses = leased.filter_map(|node| node.body.status.as_ref()?.addresses.as_ref());
        let mut addresses: Vec<String> = statuses
            .flatten()
            .filter(|address| address.type_ == "InternalIP")
            .map(|address| address.address.clone())
            .collect();
        addresses.sort();
        addresses
    }

    /// Labels the share's nodes. The labels stay when the share is deleted.
    pub fn lease(&self, desired: &mut DesiredState) {
        let control_plane = self.subject.spec.control_plane.as_str();
        for host in &self.hosts {
            desired.label::<Node>("", host, &[(LEASE, control_plane)]);
        }
    }

    /// Whether the share has the nodes that it needs at least.
    pub fn progress(&self) -> Progress {
        let least = usize::try_from(self.subject.spec.min_hosts.max(1)).unwrap_or(usize::MAX);
        let count = self.hosts.len();
        if count >= least {
            return Progress::Ready;
        }
        match self.refused() {
            Some(refused) if count == 0 => refused,
            _ => Progress::waiting(
                Reason::WaitingFor("Nodes"),
                format!(
                    "{count} of {least} nodes are leased, {} are free: give more nodes the label {ROLE}=\"\"",
                    self.free
                ),
            ),
        }
    }

    /// Why no further node is leased, where there is more than one share.
    pub fn refused(&self) -> Option<Progress> {
        (self.shares.len() > 1).then(|| {
            Progress::failed(
                Reason::SeveralShares,
                format!(
                    "no further node is leased, since this cluster has the HypervisorShares {}, and this version doesn't \
                     divide a cluster: delete all but one of them; leased nodes stay as they are",
                    self.shares.join(", ")
                ),
            )
        })
    }
}

/// What was read; nothing is decided without it.
fn known<T>(seen: Lookup<Vec<T>>, what: &str) -> Result<Vec<T>, Failure> {
    match seen {
        Lookup::Found(found) => Ok(found),
        Lookup::Missing => Ok(Vec::new()),
        Lookup::Unknown(why) => Err(Failure::transient(
            Reason::LookupFailed,
            format!("the cluster's {what} can't be read, so nothing changes: {why}"),
        )),
    }
}
