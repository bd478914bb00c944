//! Resource providers in Placement of nodes that are released. Nova deletes a compute service even if Placement keeps its resource
//! provider, or doesn't answer (nova/api/openstack/compute/services.py).

use std::collections::{BTreeMap, BTreeSet};

use provider_composer::{Lookup, Progress, Reason};

use crate::named;
use crate::nova::Change;

/// The condition that says what isn't checked or deleted in Placement. It is only there while something is to be said.
pub const CONDITION: &str = "ResourceProvidersChecked";

/// What Placement has of nodes without a compute service.
pub struct Leftovers {
    /// By node, what deletes that; nothing while it isn't known.
    changes: BTreeMap<String, Vec<Change>>,
    /// What is waited for, if anything.
    pub progress: Option<Progress>,
}

impl Leftovers {
    /// Reads an answer about these nodes.
    pub fn of(nodes: &BTreeSet<String>, found: Lookup<Option<BTreeMap<String, String>>>) -> Self {
        let mut changes: BTreeMap<String, Vec<Change>> = BTreeMap::new();
        let progress = match found {
            Lookup::Found(Some(found)) => {
                let names = found.iter().map(|(id, host)| format!("{host} ({id})"));
                let progress = kept(&names.collect::<Vec<_>>());
                for (id, host) in found {
                    let of_host = changes.entry(host.clone()).or_default();
                    of_host.push(Change::DeleteProvider { id, host });
                }
                progress
            }
            Lookup::Found(None) => Some(unchecked()),
            Lookup::Missing | Lookup::Unknown(_) => {
                let nodes = nodes.iter();
                changes.extend(nodes.clone().map(|node| (node.clone(), Vec::new())));
                let why = match found {
                    Lookup::Unknown(why) => why,
                    _ => "it has no answer".to_owned(),
                };
                let message = format!(
                    "Placement can't be asked for resource providers of {}, so that these nodes aren't freed: {why}",
                    named(&nodes.collect::<Vec<_>>(), ", ")
                );
                Some(Progress::Unknown { message })
            }
        };
        Self { changes, progress }
    }

    /// Returns what deletes the resource providers of a node; none if it has none.
    pub fn of_node(&self, node: &str) -> Option<&[Change]> {
        self.changes.get(node).map(Vec::as_slice)
    }
}

/// Returns that nothing is checked in Placement, and so nothing waits for it.
pub fn unchecked() -> Progress {
    let message = "the clouds.yaml that nova-operator writes doesn't say where Placement is, so that nobody checks whether resource \
                   providers of nodes are in the share's aggregate, and whether those of freed nodes are deleted: run the same version of all \
                   operators, with a Placement in the namespace of the Nova";
    Progress::waiting(Reason::WaitingFor("Placement"), message)
}

fn kept(names: &[String]) -> Option<Progress> {
    let message = format!(
        "waits for the deletion of resource providers in Placement, without which these nodes aren't freed: {}. Where one stays, see \
         `openstack resource provider show --allocations ID`, and remove what is of servers elsewhere or of none by `openstack resource \
         provider allocation unset --provider ID SERVER`",
        named(names, ", ")
    );
    (!names.is_empty()).then(|| Progress::waiting(Reason::WaitingFor("Placement"), message))
}
