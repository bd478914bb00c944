//! The list of all operators, for whoever runs, plans or packages them.

use provider_cinder::Cinder;
use provider_composer::Operator;
use provider_glance::Glance;
use provider_hypervisor_pool::{HypervisorPool, HypervisorShare};
use provider_keystone::Keystone;
use provider_kubeconfig::ShootKubeconfig;
use provider_neutron::Neutron;
use provider_nova::Nova;
use provider_ovn::{OvnChassis, OvnCluster};
use provider_placement::Placement;
use provider_tempest::Tempest;

/// Every operator that there is.
pub fn operators() -> Vec<Box<dyn Operator>> {
    let mut all = control_plane_operators();
    all.push(Box::new(HypervisorPool));
    all.push(Box::new(HypervisorShare));
    all.push(Box::new(ShootKubeconfig));
    all
}

/// The operators of a cluster of control planes: the c5c3-operator's own, then one for each OpenStack service.
pub fn control_plane_operators() -> Vec<Box<dyn Operator>> {
    let services: [Box<dyn Operator>; 9] = [
        Box::new(Keystone),
        Box::new(Glance),
        Box::new(Placement),
        Box::new(Neutron),
        Box::new(Nova),
        Box::new(Cinder),
        Box::new(OvnCluster),
        Box::new(OvnChassis),
        Box::new(Tempest),
    ];
    let mut all = provider_control_plane::operators();
    all.extend(services);
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_operators_compose_the_same_kind() {
        let all = operators();
        let kinds: BTreeSet<_> = all.iter().map(|operator| operator.subject()).collect();
        assert_eq!(kinds.len(), all.len());
        let names: BTreeSet<_> = all.iter().map(|operator| operator.name()).collect();
        assert!(names.is_superset(&BTreeSet::from([
            "c5c3-operator",
            "keystone-operator",
            "glance-operator",
            "placement-operator",
            "neutron-operator",
            "nova-operator",
            "cinder-operator",
            "ovn-operator",
            "tempest-operator",
        ])));
    }
}
