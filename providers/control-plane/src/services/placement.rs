//! Placement of a control plane.

use c5c3_api::placement::PlacementSpec;
use provider_composer::{Custom, DesiredState};
use provider_openstack::PLACEMENT;
use provider_openstack::table::Tags;

use crate::graph::Node;
use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Wants Placement.
    pub(super) fn placement(&self, tags: &Tags, desired: &mut DesiredState) {
        let (step, said) = (Node::Placement.step(), &self.services.placement);
        let spec = PlacementSpec {
            api: said.api.clone(),
            database: self.database(&PLACEMENT),
            keystone: self.keystone_access(step),
            common: self.common(step, &PLACEMENT, tags, &said.overrides),
        };
        desired.apply(self.namespace(), step.name, &Custom::wanted(spec));
    }
}
