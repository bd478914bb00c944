//! Traits that flavors require of hosts. K-ORC 2.6 has no field for extra specs
//! (<https://github.com/k-orc/openstack-resource-controller/blob/v2.6.0/api/v1alpha1/flavor_types.go>), so the operator sets them in Nova
//! once K-ORC has created a flavor. Extra specs that an administrator adds stay.

use std::collections::BTreeMap;

use c5c3_kinds::korc::{Flavor, Made};
use provider_composer::{DesiredState, ExternalRequest, ObservedState, Progress, Reason};
use provider_openstack::NOVA;

use super::first_unready;
use super::korc::Korc;
use crate::Recipe;
use crate::credentials::flavors::{Access, Call, Query, SYSTEM};
use crate::graph::Node;
use crate::node_state::NodeStates;

/// The value of an extra spec that makes the scheduler look for hosts with the trait alone
/// (<https://docs.openstack.org/nova/latest/configuration/extra-specs.html>).
const REQUIRED: &str = "required";

/// Extra specs: their values by their names.
type Specs = BTreeMap<String, String>;

/// Lets flavors require their traits. Returns how far that is; K-ORC says of flavors that don't exist yet what they wait for.
pub(super) fn require(
    recipe: &Recipe<'_>,
    states: &NodeStates,
    desired: &mut DesiredState,
) -> Progress {
    let flavors = recipe.spec().bootstrap.flavors.iter();
    let wanted = flavors.filter(|flavor| !flavor.traits.is_empty());
    let wanted: Vec<(&str, Specs)> = wanted
        .map(|flavor| (flavor.name.as_str(), specs(&flavor.traits)))
        .collect();
    if wanted.is_empty() {
        return Progress::Ready;
    }
    let nova = states.get(&Node::Nova);
    if !nova.is_some_and(|state| state.progress.is_ready()) {
        return waiting("waits for Nova".to_owned());
    }
    let korc = Korc::new(recipe, desired);
    let access = match korc.access() {
        Ok(keystone) => Access {
            keystone,
            url: recipe.endpoint(&NOVA),
        },
        Err(progress) => return progress,
    };
    let mut all = Vec::new();
    for (name, mut specs) in wanted {
        let Some(flavor) = korc.id::<Made<Flavor>>(name) else {
            continue;
        };
        match found(&access, &flavor, recipe.observed) {
            Ok(has) => specs.retain(|spec, value| has.get(spec) != Some(&*value)),
            Err(progress) => {
                all.push(progress);
                continue;
            }
        }
        if !specs.is_empty() {
            all.push(waiting(format!(
                "waits for Nova to let flavor {name} require its traits: until then, its servers may be on hosts without them"
            )));
            let access = access.clone();
            let call = Call {
                access,
                flavor,
                specs,
            };
            korc.desired.call(ExternalRequest::new(SYSTEM, &call));
        }
    }
    first_unready(all)
}

/// Reads the extra specs of a flavor.
fn found(access: &Access, flavor: &str, observed: &ObservedState<'_>) -> Result<Specs, Progress> {
    let query = Query {
        access: access.clone(),
        flavor: flavor.to_owned(),
    };
    let response = observed.external(ExternalRequest::new(SYSTEM, &query));
    let specs = response.parsed(|_| "Nova's extra specs of a flavor aren't valid".to_owned());
    specs.or_default()
}

/// The extra specs by which a flavor requires traits.
fn specs(traits: &[String]) -> Specs {
    let specs = traits.iter();
    let specs = specs.map(|name| (format!("trait:{name}"), REQUIRED.to_owned()));
    specs.collect()
}

fn waiting(message: String) -> Progress {
    Progress::waiting(Reason::WaitingFor(Node::Nova.step().word), message)
}
