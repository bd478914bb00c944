//! Machines, and what runs on them.

use super::world::{Files, Labels, PLANES, World};
use crate::fixture::*;

impl World {
    /// A server starts, if nova-compute runs; on a disabled host too, as one that was scheduled before.
    pub fn boot(&mut self, name: &str) {
        let Some(machine) = self.machines.get_mut(name) else {
            return;
        };
        let Some(plane) = &machine.runs else { return };
        let is_started = self.novas[plane].change(|state| {
            let service = state.services.get(name);
            let is_up = service.is_some_and(|service| service.is_up);
            if is_up {
                state.occupants.entry(name.to_owned()).or_default().servers += 1;
            }
            is_up
        });
        machine.domains += u32::from(is_started);
    }

    pub fn end_server(&mut self, name: &str) {
        let Some(machine) = self.machines.get_mut(name) else {
            return;
        };
        let Some(files) = machine.files.as_ref().filter(|_| machine.domains > 0) else {
            return;
        };
        self.novas[&files.plane].change(|state| {
            let occupants = state.occupants.entry(files.host.clone()).or_default();
            occupants.servers = occupants.servers.saturating_sub(1);
        });
        machine.domains -= 1;
    }

    /// The kubelet of a node runs what the node's labels say.
    pub fn kubelet(&mut self, name: &str) {
        if !self.is_ready(name) {
            return;
        }
        let Labels { lease, phase, .. } = self.labels_of(name);
        let phase = phase.as_deref();
        let Some(machine) = self.machines.get_mut(name) else {
            return;
        };
        machine.runs = None;
        for (plane, _) in PLANES {
            let is_shared = self.cluster.get(&share_key(plane)).is_some();
            let is_leased = is_shared && lease.as_deref() == Some(plane);
            let is_wiping = is_leased && phase == Some("Wiping");
            let has_agents = is_leased && !is_wiping && phase != Some("Releasing");
            // They refuse a machine with the files of another control plane.
            let runs = has_agents && !machine.has_files_of_other(plane);
            if runs {
                machine.runs = Some(plane.to_owned());
                machine.files.get_or_insert_with(|| Files {
                    plane: plane.to_owned(),
                    host: name.to_owned(),
                });
            }
            if is_wiping && machine.domains == 0 {
                machine.files = None;
            }
            // nova-compute refuses to run by another name.
            let is_own = machine
                .files
                .as_ref()
                .is_some_and(|files| files.host == name);
            if runs && is_own {
                // nova-compute uses a resource provider that was left, by the ID on the machine.
                self.novas[plane].change(|state| state.left.remove(&format!("provider-{name}")));
            }
            self.novas[plane].set_up(name, runs && is_own);
            let is_drained = runs && machine.domains == 0;
            let drains = is_leased && phase == Some("Draining");
            let is_wiped = machine.files.is_none();
            for (component, is_ready) in [
                ("nova-compute", has_agents.then_some(runs)),
                ("drain", drains.then_some(is_drained)),
                ("wipe", is_wiping.then_some(is_wiped)),
            ] {
                pod_of(&mut self.cluster, plane, component, name, is_ready);
            }
        }
    }
}
