//! The hypervisor pools of a ControlPlane, and the cells of Nova that their nodes are in.

use std::collections::BTreeSet;

use c5c3_api::Reason;
use c5c3_api::control_plane::{Compute, ComputeCell};
use c5c3_api::hypervisor::{FIRST_CELL, HypervisorShareStatus};
use c5c3_api::parts::PoolAgents;
use function_protocol::{Fatal, Response};
use serde::Deserialize;

use super::Recipe;
use super::resource;
use crate::composed::{Composed, Creation};
use crate::observed::Specified;
use crate::transitions;

/// Whether every pool is in the cell that the claim names. It isn't set before it has been False.
const CELLS_APPLIED: &str = "CellsApplied";

/// What is read of a HypervisorShare's spec.
#[derive(Deserialize)]
struct Share {
    cell: Option<String>,
}

impl Recipe<'_> {
    /// Refuses a new cell above the limit of the claim's size, and one whose consoles can't have a host name. A cell with a share stays,
    /// whatever the Composition's input says by now.
    ///
    /// # Errors
    /// The claim names such a cell.
    pub fn check_cells(&self, composed: &Composed<'_>) -> Result<(), Fatal> {
        if self.cluster.spec.cells.is_empty() {
            return Ok(());
        }
        let [mut existing, mut requested]: [BTreeSet<String>; 2] = Default::default();
        let named = self.site.hypervisors.iter();
        let named = named.map(|pool| pool.name.name().to_owned());
        for pool in named.chain(self.dropped_hypervisors(composed)) {
            let cells = match known_share(&pool, composed) {
                Some(_) => &mut existing,
                None => &mut requested,
            };
            cells.extend(self.cell(&pool, composed));
        }
        let new: Vec<&String> = requested.difference(&existing).collect();
        for cell in &new {
            if let Some(hostname) = self.too_long(cell)? {
                return Err(Fatal::new(format!(
                    "spec.cells: the host name {hostname} of the consoles of {cell} is too long: give the cell a shorter name"
                )));
            }
        }
        let Some(most) = self.presets.size(self.cluster.spec.size)?.max_cells else {
            return Ok(());
        };
        let is_exceeded = |most: usize| existing.len() + new.len() > most;
        match new.last() {
            Some(cell) if usize::try_from(most).is_ok_and(is_exceeded) => Err(Fatal::new(format!(
                "spec.cells: the site allows claims of this size {most} cells beside {FIRST_CELL}, and {cell} would be one more; put its \
                 pools into another cell, choose a larger size, or ask the platform team for maxCells of this size in the Composition's input"
            ))),
            _ => Ok(()),
        }
    }

    /// The pools and cells of the ControlPlane. A cell whose pools the claim doesn't name any more stays as long as it has a share.
    ///
    /// # Errors
    /// The exposure of the Composition's input isn't valid.
    pub fn compute(&self, composed: &Composed<'_>) -> Result<Compute, Fatal> {
        let served = self.served_hypervisors(composed);
        let dropped = self.dropped_hypervisors(composed);
        // Nova reads the shares of its own cluster itself.
        let control_plane = self.site.control_plane.name.name();
        let agents = served.iter().chain(&dropped);
        let agents = agents.filter(|pool| *pool != control_plane);
        let agents = agents.filter_map(|pool| self.pool_agents(pool, composed));
        let agents: Vec<PoolAgents> = agents.collect();
        let dropped = dropped.into_iter();
        let dropped = dropped.filter(|pool| self.cell(pool, composed).is_some());
        let pools: Vec<String> = served.into_iter().chain(dropped).collect();
        let mut cells: Vec<ComputeCell> = Vec::new();
        for pool in &pools {
            let Some(name) = self.cell(pool, composed) else {
                continue;
            };
            match cells.iter_mut().find(|cell| cell.name == name) {
                Some(cell) => cell.hypervisor_clusters.push(pool.clone()),
                None => cells.push(ComputeCell {
                    consoles: self.consoles(&name)?,
                    hypervisor_clusters: vec![pool.clone()],
                    name,
                }),
            }
        }
        Ok(Compute {
            hypervisor_clusters: pools,
            cells,
            agents,
        })
    }

    /// What the agents of a pool run with: as the share reports or, where it reports nothing, as the ControlPlane has it. Nova's
    /// former credentials stay until all agents have the present ones.
    fn pool_agents(&self, pool: &str, composed: &Composed<'_>) -> Option<PoolAgents> {
        let share = composed.observation::<HypervisorShareStatus>(&resource::share(pool));
        let last = || self.existing.pool_agents(pool).cloned();
        let reported = share.status.configuration.map(|configuration| PoolAgents {
            name: pool.to_owned(),
            configuration,
        });
        reported.or_else(last)
    }

    /// The pools of which the claim has a share, or may have one.
    fn served_hypervisors(&self, composed: &Composed<'_>) -> Vec<String> {
        let pools = self.site.hypervisors.iter().filter(|pool| {
            let share = resource::share(pool.name.name());
            let may_create = !self.keeps_nova && self.site.creation_in(pool) == Creation::Allowed;
            !composed.is_foreign(&share) && (may_create || composed.exists(&share))
        });
        pools.map(|pool| pool.name.name().to_owned()).collect()
    }

    /// The pools that the claim doesn't name any more, and still has a share of.
    pub fn dropped_hypervisors(&self, composed: &Composed<'_>) -> Vec<String> {
        let shares = composed.existing(resource::SHARE);
        let dropped = shares.filter(|pool| {
            let share = resource::share(pool);
            // The name of a Usage begins in the same way where a pool is called so.
            !self.is_named(pool) && composed.last_wanted::<Share>(&share).is_some()
        });
        dropped.map(str::to_owned).collect()
    }

    /// The cell of a pool's share; none for the first. A share stays in the cell that it was created in, since Nova can't move its nodes.
    pub fn cell(&self, pool: &str, composed: &Composed<'_>) -> Option<String> {
        let cell = match known_share(pool, composed) {
            Some(share) => share.cell,
            None => self.requested_cell(pool).map(str::to_owned),
        };
        cell.filter(|cell| cell != FIRST_CELL)
    }

    fn requested_cell(&self, pool: &str) -> Option<&str> {
        let mut cells = self.cluster.spec.cells.iter();
        let cell = cells.find(|cell| {
            let mut pools = cell.hypervisor_clusters.iter();
            pools.any(|named| named.name() == pool)
        });
        Some(cell?.name.as_str())
    }

    fn is_named(&self, pool: &str) -> bool {
        let mut pools = self.site.hypervisors.iter();
        pools.any(|named| named.name.name() == pool)
    }

    /// Says which pools aren't in the cell that the claim names, and what to do.
    pub fn cells_applied(&self, compute: &Compute, response: &mut Response) {
        let pools = compute.hypervisor_clusters.iter();
        let kept = pools.filter(|pool| self.is_named(pool)).filter_map(|pool| {
            let mut cells = compute.cells.iter();
            let cell = cells.find(|cell| cell.hypervisor_clusters.contains(pool));
            let cell = cell.map_or(FIRST_CELL, |cell| cell.name.as_str());
            let requested = self.requested_cell(pool).unwrap_or(FIRST_CELL);
            (cell != requested).then(|| format!("{pool} stays in {cell}"))
        });
        let kept: Vec<String> = kept.collect();
        if kept.is_empty() {
            return transitions::lapse(response, CELLS_APPLIED, Some(true), Reason::Accepted, "");
        }
        let message = format!(
            "{}: Nova can't move hosts to another cell. Name the pool there again; or remove it from the claim, delete what is kept there \
             as the condition Retained says, and name it again once its HypervisorShare is gone",
            kept.join(", ")
        );
        transitions::set(response, CELLS_APPLIED, false, Reason::Unsupported, message);
    }
}

/// The share of a pool, as it was observed or else last wanted.
fn known_share(pool: &str, composed: &Composed<'_>) -> Option<Share> {
    let share = resource::share(pool);
    let observed = composed.own_object::<Specified<Share>>(&share);
    let observed = observed.map(|share| share.spec);
    observed.or_else(|| composed.last_wanted(&share))
}
