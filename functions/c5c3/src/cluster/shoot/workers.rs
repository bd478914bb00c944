//! The machines of a Shoot: which zones they are in, and how Gardener's extension selects them.

use std::collections::BTreeMap;

use c5c3_kinds::gardener::{
    Machine, MachineControllerManager, ShootStatus, SystemComponents, Taint, UpdateStrategy,
    Volume, Worker,
};
use function_protocol::{Fatal, Request};
use serde::Deserialize;
use serde_json::Value;

use super::sizes::{LastSize, Size, resized};
use super::{BareMetal, SHOOT, refused};
use crate::cluster::Cluster;
use crate::input::GardenerPreset;
use crate::names::fitted;
use crate::observed::{Observation, Specified, last_composed};

/// Label of a pool that names the zone of all its machines.
const ZONE: &str = "availability-zone";

/// Longest name of a group of machines (gardener, pkg/apis/core/validation/shoot.go).
const LONGEST: usize = 15;

/// Keeps Gardener's cluster autoscaler from deleting machines that run no pods; hypervisors and disks are in use without.
const KEEP_NODE: [&str; 2] = [
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    "true",
];

/// After how long Gardener replaces a machine that keeps servers or disks while its node isn't ready, and deletes one whose node has pods
/// that can't be evicted: a person has decided by then.
const A_YEAR: &str = "8760h";

/// How often Gardener tries to evict a pod before it deletes it: for a year, every 20 seconds (machine-controller-manager,
/// pkg/util/provider/drain/drain.go: `PodEvictionRetryInterval`). By default it does so for two hours, whatever the timeout of the drain.
const EVICTIONS: u32 = 365 * 24 * 60 * 60 / 20;

/// Machines that do the same.
pub struct Workers<'a> {
    /// Name of the group, or beginning of the names of one group for each zone.
    pub name: &'static str,
    /// Machine type or class.
    pub machine: &'a str,
    /// Zones to spread the machines over.
    pub zones: &'a [Zone<'a>],
    /// How many there are, in all groups together.
    pub size: Size,
    /// System disk, as a quantity.
    pub volume: Option<&'a str>,
    /// Labels of the nodes.
    pub labels: BTreeMap<String, String>,
    /// The role whose pods alone run on the nodes. Without it all pods do.
    pub reserved_for: Option<&'static str>,
    /// Where bare metal comes from.
    pub bare_metal: Option<BareMetal<'a>>,
}

/// A zone of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone<'a> {
    /// What users call it.
    label: &'a str,
    /// What the infrastructure calls it.
    name: &'a str,
}

/// What can't be changed of a group of machines, since Gardener refuses to or replaces all of them; and its last size.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    machine: Machine,
    volume: Option<Volume>,
    #[serde(default)]
    zones: Vec<String>,
    #[serde(default)]
    update_strategy: UpdateStrategy,
    provider_config: Option<Value>,
    #[serde(default)]
    minimum: u32,
    #[serde(default)]
    maximum: u32,
}

impl Group {
    fn size(&self) -> Size {
        Size {
            minimum: self.minimum,
            maximum: self.maximum,
        }
    }
}

/// The spec of a Shoot as it was composed, as far as it has groups of machines.
#[derive(Deserialize)]
struct Spec {
    provider: Provider,
}

#[derive(Deserialize)]
struct Provider {
    workers: Vec<Group>,
}

impl Cluster<'_> {
    /// The zones of a cluster: the one that its label `availability-zone` names, else all of its region.
    ///
    /// # Errors
    /// The Composition's input doesn't have the region or the zone.
    pub fn zones(
        &self,
        region: &str,
        labels: &BTreeMap<String, String>,
    ) -> Result<Vec<Zone<'_>>, Fatal> {
        let known = &self.presets.gardener.zones;
        let Some(zones) = known.get(region) else {
            let regions: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(Fatal::new(format!(
                "spec.region is {region}, and gardener.zones of the Composition's input has {}; use one of these or add \
                 {region} to the input",
                regions.join(", ")
            )));
        };
        let all = zones.iter().map(|(label, name)| Zone { label, name });
        let Some(wanted) = labels.get(ZONE) else {
            return Ok(all.collect());
        };
        match zones.get_key_value(wanted) {
            Some((label, name)) => Ok(vec![Zone { label, name }]),
            None => {
                let zones: Vec<&str> = zones.keys().map(String::as_str).collect();
                Err(Fatal::new(format!(
                    "the label {ZONE} is {wanted}, and gardener.zones of the Composition's input has {} for region \
                     {region}; use one of these or add {wanted} to the input",
                    zones.join(", ")
                )))
            }
        }
    }

    /// The groups of a Shoot's machines: on bare metal one for each zone, since the extension selects machines by group.
    ///
    /// # Errors
    /// The Composition's input can't select the machines, or the claim wants existing machines in other zones.
    pub fn workers(&self, request: &Request, wanted: &Workers<'_>) -> Result<Vec<Worker>, Fatal> {
        let gardener = &self.presets.gardener;
        if let Some(bare_metal) = wanted.bare_metal {
            gardener.check_bare_metal(bare_metal)?;
        }
        let planned = gardener.groups(wanted);
        let created = self.created(request, wanted.name)?;
        if let [planned] = &planned[..]
            && let Some(created) = created
                .iter()
                .find(|created| created.zones != planned.zones)
            && wanted.bare_metal.is_some()
        {
            return Err(Fatal::new(format!(
                "the machines of group {} are in {}, and the claim and the Composition's input want them in {}; machines \
                 don't move, so restore the zone or create another pool",
                created.name,
                created.zones.join(", "),
                planned.zones.join(", ")
            )));
        }
        let groups = if created.is_empty() { planned } else { created };
        let last: Vec<Size> = groups.iter().map(Group::size).collect();
        let sizes = resized(&last, wanted.size);
        let worker = |(group, size): (Group, Size)| {
            // A machine updated in place is missing meanwhile; one that is replaced has its successor first.
            let (max_surge, max_unavailable) = match group.update_strategy {
                UpdateStrategy::AutoRollingUpdate => (Some(1), Some(0)),
                UpdateStrategy::AutoInPlaceUpdate => (Some(0), Some(1)),
                UpdateStrategy::ManualInPlaceUpdate => (None, None),
            };
            let is_replaced = group.update_strategy == UpdateStrategy::AutoRollingUpdate;
            let machine_controller_manager = wanted.keeps().then(|| MachineControllerManager {
                machine_drain_timeout: Some(A_YEAR.to_owned()),
                // By default ten minutes, unless machines are updated in place.
                machine_health_timeout: is_replaced.then(|| A_YEAR.to_owned()),
                max_evict_retries: Some(EVICTIONS),
            });
            // Replacement would lose servers or disks, and Gardener refuses these changes to machines that it updates in place.
            let is_kept = wanted.keeps() || !is_replaced;
            let image = gardener.machine_image.as_ref();
            let is_auto = gardener.maintenance.auto_update.machine_image_version && !wanted.keeps();
            let image = image.map(|image| {
                let running = &self.running;
                running.image(&group.name, image, is_kept, is_auto)
            });
            let (machine, volume) = if is_kept {
                (group.machine.type_, group.volume)
            } else {
                (wanted.machine.to_owned(), gardener.volume(wanted.volume))
            };
            Worker {
                name: group.name,
                machine: Machine {
                    type_: machine,
                    image,
                },
                update_strategy: group.update_strategy,
                minimum: size.minimum,
                maximum: size.maximum,
                max_surge,
                max_unavailable,
                volume,
                zones: group.zones,
                labels: wanted.labels.clone(),
                annotations: wanted
                    .keeps()
                    .then(|| KEEP_NODE.map(str::to_owned).into())
                    .into_iter()
                    .collect(),
                taints: wanted
                    .reserved_for
                    .into_iter()
                    .map(Taint::no_schedule)
                    .collect(),
                machine_controller_manager,
                system_components: wanted
                    .reserved_for
                    .map(|_| SystemComponents { allow: false }),
                provider_config: group.provider_config,
            }
        };
        Ok(groups.into_iter().zip(sizes).map(worker).collect())
    }

    /// The machines of this name that the Shoot has; none while there is no Shoot.
    ///
    /// # Errors
    /// The observed Object isn't one of a Shoot.
    pub fn last_size(&self, request: &Request, name: &str) -> Result<LastSize, Fatal> {
        let groups = self.created(request, name)?;
        let all = Size::sum(groups.iter().map(Group::size));
        let groups = groups.into_iter().map(|group| {
            let size = group.size();
            (group.name, size)
        });
        Ok(LastSize {
            groups: groups.collect(),
            all,
        })
    }

    /// The groups of this name that the Shoot was created with; none while there is no Shoot, or if Gardener refuses to create it. A Shoot that was handed over to the cluster may have others than were composed before it was observed.
    fn created(&self, request: &Request, name: &str) -> Result<Vec<Group>, Fatal> {
        let is_refused = || {
            let shoot: Observation<ShootStatus> = Observation::of(request.observed().get(SHOOT));
            shoot.problem.as_deref().is_some_and(refused::is_refusal)
        };
        let mut groups: Vec<Group> = if self.running.exists() {
            self.running.groups()?
        } else if is_refused() {
            Vec::new()
        } else {
            let shoot: Option<Specified<Spec>> = last_composed(request, SHOOT)?;
            shoot.map_or_else(Vec::new, |shoot| shoot.spec.provider.workers)
        };
        groups.retain(|group| is_of(&group.name, name));
        for config in groups
            .iter_mut()
            .filter_map(|group| group.provider_config.as_mut())
        {
            config.sort_all_objects();
        }
        Ok(groups)
    }
}

impl Workers<'_> {
    fn keeps(&self) -> bool {
        self.bare_metal.is_some_and(|metal| metal.keeps)
    }
}

impl GardenerPreset {
    /// The groups of machines that do not exist yet.
    fn groups(&self, wanted: &Workers<'_>) -> Vec<Group> {
        let update_strategy = match (self.update_strategy, wanted.bare_metal) {
            (_, Some(BareMetal { keeps: false, .. })) => UpdateStrategy::AutoRollingUpdate,
            (Some(strategy), _) => strategy,
            (None, Some(_)) => UpdateStrategy::ManualInPlaceUpdate,
            (None, None) => UpdateStrategy::AutoRollingUpdate,
        };
        let group = |name: String, zones: &[Zone<'_>]| {
            let machine_pool = wanted.bare_metal.and_then(|metal| metal.machine_pool);
            let zone = match zones {
                [zone] => Some(zone.name),
                _ => None,
            };
            let values = [("{machinePool}", machine_pool), ("{zone}", zone)];
            Group {
                name,
                machine: Machine {
                    type_: wanted.machine.to_owned(),
                    image: None,
                },
                volume: self.volume(wanted.volume),
                zones: zones.iter().map(|zone| zone.name.to_owned()).collect(),
                update_strategy,
                provider_config: self
                    .worker_config
                    .as_ref()
                    .map(|config| config.fill(&values)),
                minimum: 0,
                maximum: 0,
            }
        };
        match wanted.zones {
            [_, _, ..] if wanted.bare_metal.is_some() => {
                let most = usize::try_from(wanted.size.maximum).unwrap_or(usize::MAX);
                let zones = wanted.zones.iter().take(most);
                zones
                    .map(|zone| {
                        let name = format!("{}-{}", wanted.name, zone.label);
                        group(fitted(&name, LONGEST), &[*zone])
                    })
                    .collect()
            }
            zones => vec![group(wanted.name.to_owned(), zones)],
        }
    }

    /// A machine's system disk. The claim's size wins.
    fn volume(&self, size: Option<&str>) -> Option<Volume> {
        let preset = self.volume.as_ref();
        let size = size.or(preset.map(|preset| preset.size.as_str()))?;
        Some(Volume {
            type_: preset.and_then(|preset| preset.type_.clone()),
            size: size.to_owned(),
        })
    }
}

/// Whether a group of machines is the only one of a name, or the one of a zone.
fn is_of(group: &str, name: &str) -> bool {
    let zone = group.strip_prefix(name);
    zone.is_some_and(|zone| zone.is_empty() || zone.starts_with('-'))
        // Of a name that was too long, `fitted` leaves the beginning.
        || group.len() == LONGEST
            && group
                .split_once('-')
                .is_some_and(|(beginning, _)| beginning.len() == 2 && name.starts_with(beginning))
}
