//! Machines that Gardener deletes when a pool is made smaller: a person chooses them, since it deletes the oldest ones otherwise.

use crate::composite::{MACHINES_MARKED, Metadata};

/// Annotation of a machine by which machine-controller-manager deletes it before others (gardener/machine-controller-manager,
/// pkg/util/provider/machineutils: `MachinePriority`).
const PRIORITY: &str = "machinepriority.machine.sapcloud.io";

/// How many machines of a group Gardener deletes.
pub struct Group<'a> {
    /// Its name.
    pub name: &'a str,
    /// Their number.
    pub deleted: u32,
}

/// Which machines a person may mark.
pub struct Choice {
    /// What machines have that would be lost with them.
    pub loses: &'static str,
    /// Whose machines have none of it.
    pub of: &'static str,
}

/// Why Gardener would delete machines that no person has chosen.
pub fn unmarked(groups: &[Group<'_>], choice: &Choice, claim: &Metadata) -> Option<String> {
    let deleted = groups.iter().map(|group| group.deleted);
    let deleted = deleted.fold(0, u32::saturating_add);
    let marked = claim.machines_marked();
    if deleted == 0 || marked.and_then(|marked| marked.parse().ok()) == Some(deleted) {
        return None;
    }
    let of_groups: Vec<String> = groups
        .iter()
        .filter(|group| group.deleted > 0)
        .map(|group| format!("{} of the group {}", group.deleted, group.name))
        .collect();
    let of_groups = match groups {
        [_] => String::new(),
        _ => format!(" ({})", of_groups.join(", ")),
    };
    let now = marked.map_or_else(String::new, |marked| {
        format!("; {MACHINES_MARKED} is {marked} now")
    });
    let Choice { loses, of } = choice;
    Some(format!(
        "Gardener would delete {deleted} machines{of_groups}, the oldest first, whatever {loses} they have; annotate as many machines of \
         {of} with {PRIORITY}=1, and then this resource with {MACHINES_MARKED}={deleted}{now}"
    ))
}

/// A hint that the annotation counts machines which are deleted by now: it would let Gardener choose the machines of a later, smaller
/// size.
pub fn outdated(groups: &[Group<'_>], claim: &Metadata) -> String {
    match claim.machines_marked().filter(|marked| *marked != "0") {
        Some(marked) if groups.iter().all(|group| group.deleted == 0) => format!(
            "{MACHINES_MARKED} is {marked}, and no machine is left to delete: remove the annotation"
        ),
        _ => String::new(),
    }
}
