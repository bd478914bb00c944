//! What K-ORC keeps in services other than Keystone: a volume type in Cinder for each storage pool, which selects its backend, flavors in
//! Nova, and images in Glance.
//!
//! K-ORC asks a service even to let a resource go, so the service and its endpoints stay until all objects are gone. Volume types and images
//! stay in Cinder and Glance: volumes and servers may have them. Flavors are deleted: servers keep a copy.

use c5c3_kinds::korc::{Endpoint, ExtraSpec, Flavor, Image, Made, Managed, Service, VolumeType};
use provider_composer::{DesiredState, Key, Progress, ResourceKind};
use provider_openstack::{CINDER, GLANCE, NOVA, ServiceDefinition};

use super::korc::Korc;
use super::{first_unready, images, traits};
use crate::Recipe;
use crate::graph::Node;
use crate::node_state::NodeStates;

/// The kinds that are composed here.
pub const KINDS: [ResourceKind; 3] = [VolumeType::KIND, Flavor::KIND, Image::KIND];

/// A kind of K-ORC, and the service that has its resources.
struct Offer {
    kind: ResourceKind,
    service: &'static ServiceDefinition,
}

const VOLUME_TYPES: Offer = Offer {
    kind: VolumeType::KIND,
    service: &CINDER,
};

const FLAVORS: Offer = Offer {
    kind: Flavor::KIND,
    service: &NOVA,
};

const IMAGES: Offer = Offer {
    kind: Image::KIND,
    service: &GLANCE,
};

/// Composes volume types, flavors and images once their services are ready, and from then on.
pub fn compose(recipe: &Recipe<'_>, states: &NodeStates, desired: &mut DesiredState) {
    let types = recipe.storage_clusters().iter().map(|pool| {
        let type_ = VolumeType {
            description: format!("Volumes in storage pool {pool}"),
            extra_specs: vec![ExtraSpec {
                name: "volume_backend_name",
                value: pool.clone(),
            }],
            is_public: true,
        };
        (pool.as_str(), type_)
    });
    let types = VOLUME_TYPES.compose(types, Made::detached, recipe, states, desired);
    if let Some(progress) = types {
        desired.conditions.note("VolumeTypesReady", &progress);
    }
    let flavors = recipe.spec().bootstrap.flavors.iter().map(|flavor| {
        let resource = Flavor {
            vcpus: flavor.vcpus,
            ram: flavor.ram,
            disk: flavor.disk,
            is_public: flavor.public,
        };
        (flavor.name.as_str(), resource)
    });
    let flavors = FLAVORS.compose(flavors, |made| made, recipe, states, desired);
    if let Some(progress) = flavors {
        let required = traits::require(recipe, states, desired);
        let progress = first_unready([progress, required]);
        desired.conditions.set("FlavorsReady", &progress);
    }
    let may_create = IMAGES.may_create(recipe, states, desired);
    images::compose(recipe, may_create, desired);
}

/// The services in which K-ORC may still have something.
pub fn remain(recipe: &Recipe<'_>) -> Vec<Node> {
    let remaining = [VOLUME_TYPES, FLAVORS, IMAGES];
    let remaining = remaining.iter().filter(|offer| offer.remains(recipe));
    remaining.map(|offer| offer.service.node).collect()
}

impl Offer {
    /// Composes all of a kind. Returns how far they are, or nothing where none is wanted.
    fn compose<'a, R: Managed>(
        &self,
        wanted: impl Iterator<Item = (&'a str, R)>,
        options: impl Fn(Made<R>) -> Made<R>,
        recipe: &Recipe<'_>,
        states: &NodeStates,
        desired: &mut DesiredState,
    ) -> Option<Progress> {
        let may_create = self.may_create(recipe, states, desired)?;
        let mut korc = Korc::new(recipe, desired);
        let cloud = korc.services();
        let mut all = Vec::new();
        for (name, resource) in wanted {
            let body = options(Made::new(&cloud, resource));
            all.push(korc.want(name, &body, may_create).progress);
        }
        (!all.is_empty()).then(|| first_unready(all))
    }

    /// Returns whether new objects may be created: whether the service is ready. None if the service or K-ORC is disabled, and nothing is
    /// composed: what exists is kept then, with what K-ORC needs to delete it.
    fn may_create(
        &self,
        recipe: &Recipe<'_>,
        states: &NodeStates,
        desired: &mut DesiredState,
    ) -> Option<bool> {
        let runs = recipe.graph.contains(self.service.node);
        if !runs || !recipe.korc.enabled {
            if runs && let Ok(objects) = recipe.composed([self.kind]) {
                desired.kept.extend(objects);
            } else if self.remains(recipe) {
                self.keep_service(recipe, desired);
            }
            return None;
        }
        let service = states.get(&self.service.node).map(|state| &state.progress);
        Some(service.is_some_and(Progress::is_ready))
    }

    /// Keeps what K-ORC lets resources go by.
    fn keep_service(&self, recipe: &Recipe<'_>, desired: &mut DesiredState) {
        let namespace = recipe.namespace();
        let endpoints = ["public", "internal"].map(|interface| {
            Key::of::<Made<Endpoint>>(namespace, &format!("{}-{interface}", self.service.name))
        });
        let service = Key::of::<Made<Service>>(namespace, self.service.name);
        let node = self.service.node.step().keys(namespace);
        desired.kept.extend(node.chain(endpoints).chain([service]));
    }

    /// Whether K-ORC may still have an object.
    fn remains(&self, recipe: &Recipe<'_>) -> bool {
        let objects = recipe.composed([self.kind]);
        objects.map_or(true, |objects| !objects.is_empty())
    }
}
