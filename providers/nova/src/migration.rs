//! The SSH key of a cell, by which its hypervisors know each other when a server is resized or migrated. Pools of one cell have it in common,
//! because Nova may choose any host of the cell.

use std::collections::BTreeMap;

use c5c3_api::hypervisor::MIGRATION_KEY;
use provider_composer::{
    DesiredState, Generated, GeneratedValue, Lookup, Progress, Retention, SecretValues,
};
use provider_openstack::{Prerequisite, Service};

/// The key of the Secret, as in Secrets of the type `kubernetes.io/ssh-auth`.
const PRIVATE_KEY: &str = "ssh-privatekey";

/// Generates the key of a cell once, and returns it. While it can't be used, hypervisors keep the one of their Secret, which also has
/// credentials that rotate. Their first Secret waits for it: without it, each share would generate a key of its own.
///
/// # Errors
/// It is not generated yet, or can't be read.
pub fn resolve(
    service: &Service<'_>,
    cell: &str,
    published: &Lookup<SecretValues>,
    desired: &mut DesiredState,
) -> Prerequisite<Option<String>> {
    let name = service.named(&format!("{cell}-migration"));
    let generated = Generated {
        values: BTreeMap::from([(PRIVATE_KEY.to_owned(), GeneratedValue::PrivateKey)]),
        labels: service.identity(),
        // An earlier operator, which doesn't know it, leaves it as it is.
        retention: Retention::Forever,
        is_immutable: false,
    };
    desired.generate(service.namespace, &name, generated);
    let secret = service.secret(&name, "the SSH key of the cell's hypervisors");
    let key = secret.and_then(|secret| Ok(Some(secret.text(PRIVATE_KEY)?.to_owned())));
    let is_first = published.is_missing() && matches!(key, Err(Progress::Waiting { .. }));
    match key {
        Err(Progress::Waiting { .. } | Progress::Failed { .. }) if !is_first => {
            let published = published.as_ref().found();
            let key = published.and_then(|secret| secret.text(MIGRATION_KEY).ok());
            Ok(key.map(str::to_owned))
        }
        key => key,
    }
}
