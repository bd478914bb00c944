//! The VLANs of a physical network, divided among shares: disjoint parts that never move while their share exists.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::{HypervisorPoolSpec, HypervisorShareSpec};
use c5c3_api::{PhysicalNetwork, PoolNetwork, SharingMode, VlanRange};
use provider_composer::{DesiredState, Metadata, Progress, Reason, Subject};

/// Label of a share: its VLANs of the network whose name follows. A label, unlike a status, is restored from a backup.
const LABEL: &str = "vlans.c5c3.io/";
/// What the label of a share has that found no VLANs.
const NONE: &str = "none";
/// The longest name of a label, without what comes before the slash.
const LONGEST: usize = 63;

/// A share, as far as it counts for VLANs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name.
    pub share: String,
    /// The part that it has.
    pub part: Option<VlanRange>,
}

/// Returns the parts of the shares that have none and get `size` VLANs of the range, elder shares first; nothing for a share that finds
/// no such part. Parts that exist count wherever they are, so that a range that is changed moves none of them.
pub fn assign(
    range: VlanRange,
    size: u16,
    claims: &[Claim],
) -> BTreeMap<String, Option<VlanRange>> {
    let mut taken: Vec<VlanRange> = claims.iter().filter_map(|claim| claim.part).collect();
    let new = claims.iter().filter(|claim| claim.part.is_none());
    let assigned = new.map(|claim| {
        let part = gap(range, size, &taken);
        taken.extend(part);
        (claim.share.clone(), part)
    });
    assigned.collect()
}

/// The first part of a range, of `size` VLANs, that nobody has.
fn gap(range: VlanRange, size: u16, taken: &[VlanRange]) -> Option<VlanRange> {
    let mut taken = taken.to_vec();
    taken.sort_by_key(|part| part.first());
    let mut first = range.first();
    for part in taken {
        // VLAN ids are far from the limits of the type.
        if part.first() >= first + size {
            break;
        }
        first = first.max(part.last() + 1);
    }
    let last = (first + size).checked_sub(1)?;
    VlanRange::new(first, last).filter(|_| last <= range.last())
}

/// Gives each share that has none its VLANs of each network. Shares are in order of their age.
pub fn label(
    pool: &HypervisorPoolSpec,
    shares: &[&Subject<HypervisorShareSpec>],
    desired: &mut DesiredState,
) {
    let mut labels: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for PoolNetwork { network, .. } in &pool.physical_networks {
        let Some((range, name)) = network.vlan_range.zip(name(network)) else {
            continue;
        };
        let all = range.last() - range.first() + 1;
        let size = match (pool.vlans_per_share, pool.mode) {
            (Some(size), _) => size,
            (None, SharingMode::Dedicated) => all,
            (None, SharingMode::Shared) => (all / 16).max(1),
        };
        let claims = shares.iter().map(|share| Claim {
            share: share.name().to_owned(),
            part: part(&share.metadata, &name),
        });
        let claims: Vec<Claim> = claims.collect();
        let assigned = assign(range, size, &claims);
        for share in shares {
            if let Some(part) = assigned.get(share.name()) {
                let text = part.map_or_else(|| NONE.to_owned(), |part| part.to_string());
                labels
                    .entry(share.name())
                    .or_default()
                    .push((name.clone(), text));
            }
        }
    }
    for share in shares {
        let Some(labels) = labels.get(share.name()) else {
            continue;
        };
        let labels = labels
            .iter()
            .map(|(name, text)| (name.as_str(), Some(text.as_str())));
        let labels: Vec<_> = labels.collect();
        desired.label::<Subject<HypervisorShareSpec>>(&share.metadata, &labels);
    }
}

/// Returns the networks as one control plane may use them, and whether it has VLANs of all.
pub fn of(share: &Metadata, networks: &[PoolNetwork]) -> (Vec<PhysicalNetwork>, Progress) {
    let (mut own, mut exhausted, mut waits) = (Vec::new(), Vec::new(), Vec::new());
    for pooled in networks {
        let network = &pooled.network;
        let name = name(network);
        let label = name.as_ref().and_then(|name| share.labels.get(name));
        let part = name.as_ref().and_then(|name| part(share, name));
        match (network.vlan_range, part) {
            (None, _) => own.push(pooled.with_vlans(None)),
            (Some(_), Some(part)) => own.push(pooled.with_vlans(Some(part))),
            (Some(_), None) if label.is_some_and(|label| label == NONE) => {
                exhausted.push(network.name.as_str())
            }
            (Some(_), None) => waits.push(network.name.as_str()),
        }
    }
    let progress = match (exhausted.as_slice(), waits.as_slice()) {
        ([], []) => Progress::Ready,
        ([], waits) => Progress::waiting(
            Reason::WaitingFor("Vlans"),
            format!(
                "waits for the HypervisorPool to assign VLANs of {}",
                waits.join(", ")
            ),
        ),
        (exhausted, _) => Progress::failed(
            Reason::VlansExhausted,
            format!(
                "no VLANs of {} are left for this share: widen vlanRange in the HypervisorPool, lower vlansPerShare, or delete a \
                 share",
                exhausted.join(", ")
            ),
        ),
    };
    (own, progress)
}

/// The label for a network; none for a name that a label can't have.
fn name(network: &PhysicalNetwork) -> Option<String> {
    let fits = network.name.len() <= LONGEST
        && network
            .name
            .ends_with(|last: char| last.is_ascii_alphanumeric());
    fits.then(|| format!("{LABEL}{}", network.name))
}

fn part(share: &Metadata, name: &str) -> Option<VlanRange> {
    share.labels.get(name)?.parse().ok()
}
