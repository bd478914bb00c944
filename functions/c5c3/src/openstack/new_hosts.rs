//! New hosts, which take no servers before they are in the aggregate of their share: Nova disables their compute services when they register,
//! and the hypervisor-pool-operator enables them.

use c5c3_api::Condition;
use c5c3_api::control_plane::Overrides;

use super::Recipe;
use crate::observed::condition;

/// Section and name of Nova's option that new compute services are enabled.
const OPTION: (&str, &str) = ("DEFAULT", "enable_new_services");
/// Its value where they aren't.
const DISABLED: &str = "false";

/// The share's condition about new compute services. An operator that reports it in every reconcile enables them, and lets a share that
/// wasn't Ready wait for Nova.
const ENABLED: &str = "ComputeServicesEnabled";
/// A condition that earlier operators report too.
const LEASED: &str = "NodesLeased";

/// Returns whether the operator of a share enables new compute services, as the share's conditions tell. None if they tell nothing, or if
/// Nova doesn't answer it: it may never have reached the Nova of a share that an earlier operator called Ready.
pub fn enables(conditions: &[Condition]) -> Option<bool> {
    match condition(conditions, ENABLED) {
        Some(said) if said.status == "Unknown" => None,
        Some(_) => Some(true),
        None => condition(conditions, LEASED).map(|_| false),
    }
}

impl Recipe<'_> {
    /// Lets Nova disable new compute services where the operators of all shares enable them, unless the Composition's input sets the option.
    /// While that isn't known of a share, as of a new one, the option stays as it is: each change restarts Nova. `enabling` is what
    /// [`enables`] returned of each share.
    pub fn disable_new_services(&self, enabling: &[Option<bool>], nova: &mut Overrides) {
        let (section, option) = OPTION;
        if nova
            .given_options()
            .any(|given| (given.section, given.name) == OPTION)
        {
            return;
        }
        let is_disabled = match (enabling.contains(&Some(false)), enabling.contains(&None)) {
            (true, _) => false,
            (false, true) => self.existing.nova_option(OPTION) == Some(DISABLED),
            (false, false) => !enabling.is_empty(),
        };
        if is_disabled {
            let options = nova.extra_config.0.entry(section.to_owned()).or_default();
            options.insert(option.to_owned(), DISABLED.to_owned());
        }
    }
}
