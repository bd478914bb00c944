//! Resource providers in Placement, and chassis in OVN, of nodes that are released. Nova deletes a compute service even if Placement keeps
//! its resource provider, or doesn't answer (nova/api/openstack/compute/services.py), and a person may have deleted it before its chassis.

use std::collections::{BTreeMap, BTreeSet};

use provider_composer::{Lookup, Progress, Reason, named};

use crate::members::known;
use crate::nova::{Change, Leftover};

/// The condition that says what isn't checked or deleted in Placement and Neutron. It is only there while something is to be said.
pub const CONDITION: &str = "ResourceProvidersChecked";

/// What Placement and Neutron have of nodes without a compute service.
pub struct Leftovers {
    /// By node, what deletes that; nothing while it isn't known, or Placement would refuse it.
    changes: BTreeMap<String, Vec<Change>>,
    /// What is waited for, if anything.
    pub progress: Option<Progress>,
}

impl Leftovers {
    /// Reads an answer about these nodes.
    pub fn of(nodes: &BTreeSet<String>, found: Lookup<Option<BTreeMap<String, Leftover>>>) -> Self {
        let mut changes: BTreeMap<String, Vec<Change>> = BTreeMap::new();
        let message = format!(
            "Placement can't be asked for resource providers of {}, so that these nodes aren't freed",
            named(&Vec::from_iter(nodes), ", ")
        );
        let progress = match known(found, &message) {
            Ok(Some(found)) => {
                let names = found.iter();
                let names = names.map(|(id, left)| format!("{} ({id})", left.host));
                let progress = kept(&names.collect::<Vec<_>>());
                for (id, Leftover { host, is_allocated }) in found {
                    let of_host = changes.entry(host.clone()).or_default();
                    if !is_allocated {
                        of_host.push(Change::DeleteProvider { id, host });
                    }
                }
                progress
            }
            Ok(None) => Some(unchecked()),
            Err(why) => {
                changes.extend(nodes.iter().map(|node| (node.clone(), Vec::new())));
                Some(why)
            }
        };
        Self { changes, progress }
    }

    /// Adds the chassis of these nodes, whose ovn-controllers have stopped.
    pub fn with_chassis(
        mut self,
        nodes: &BTreeSet<String>,
        found: Lookup<Option<BTreeMap<String, bool>>>,
    ) -> Self {
        let message = format!(
            "Neutron can't be asked for the chassis of {}, so that these nodes aren't freed",
            named(&Vec::from_iter(nodes), ", ")
        );
        match known(found, &message) {
            Ok(found) => {
                for host in found.unwrap_or_default().into_keys() {
                    let of_host = self.changes.entry(host.clone()).or_default();
                    of_host.push(Change::DeleteChassis { host });
                }
            }
            Err(why) => {
                for node in nodes {
                    self.changes.entry(node.clone()).or_default();
                }
                self.progress.get_or_insert(why);
            }
        }
        self
    }

    /// Returns what deletes the resource providers and chassis of a node; none if it has neither.
    pub fn of_node(&self, node: &str) -> Option<&[Change]> {
        self.changes.get(node).map(Vec::as_slice)
    }
}

/// Returns that nothing is checked in Placement, and so nothing waits for it.
pub fn unchecked() -> Progress {
    let message = "resource providers of this share's nodes aren't checked, because the clouds.yaml that nova-operator writes has no \
                   address of Placement: run the same version of all operators, with a Placement in the namespace of the Nova";
    Progress::waiting(Reason::WaitingFor("Placement"), message)
}

fn kept(names: &[String]) -> Option<Progress> {
    let message = format!(
        "waits for the deletion of resource providers in Placement, without which these nodes aren't freed: {}. Where one stays, see \
         `openstack resource provider show --allocations ID`, and remove allocations of servers that run on other hosts or don't exist any \
         more by `openstack resource provider allocation unset --provider ID SERVER`",
        named(names, ", ")
    );
    (!names.is_empty()).then(|| Progress::waiting(Reason::WaitingFor("Placement"), message))
}
