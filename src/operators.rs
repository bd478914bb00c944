//! The operators that this program runs, by their names on the command line.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use provider_composer::Operator;
use provider_operators::operators;
use provider_runtime::Driver;

/// The operators of these names; none given: all.
///
/// # Errors
/// No operator has the name.
pub fn chosen(names: &[String]) -> Result<Vec<Box<dyn Operator>>> {
    let all = operators();
    let known: BTreeSet<&str> = all.iter().map(|operator| short(operator.name())).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(name.as_str())) {
        let known: Vec<&str> = known.into_iter().collect();
        bail!(
            "there is no operator {unknown}; there are: {}",
            known.join(", ")
        );
    }
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|other| other == name);
    Ok(all
        .into_iter()
        .filter(|operator| is_chosen(short(operator.name())))
        .collect())
}

/// The drivers of the external systems that operators use.
pub fn drivers() -> Vec<Box<dyn Driver>> {
    vec![
        Box::new(provider_gardener_driver::Gardener),
        Box::new(provider_openstack_driver::Keystone::default()),
        Box::new(provider_openstack_driver::Neutron::default()),
        Box::new(provider_openstack_driver::Nova::default()),
        Box::new(provider_openstack_driver::Flavors::default()),
        Box::new(provider_openstack_driver::RabbitMq),
        Box::new(provider_ovsdb_driver::Ovsdb),
    ]
}

/// `keystone`, of the keystone-operator.
fn short(name: &str) -> &str {
    name.strip_suffix("-operator").unwrap_or(name)
}
