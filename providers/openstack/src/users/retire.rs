//! How users leave that others replace.

use std::collections::BTreeSet;

use c5c3_api::credential_rotation::RotationType;
use c5c3_api::parts;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{DesiredState, Key, Lookup, Progress, Resource, label_pairs};

use super::{kinds, number_of};
use crate::rotations::Rotations;
use crate::service::Service;

/// Keeps the users that pods and agents may need, and reports all. Unless it is `settled` that pods have the newest ones, and `agents` on
/// hypervisors wait for nothing, all are kept; and then those that a rotation still names. The others are deleted.
pub(crate) fn retire(
    service: &Service<'_>,
    type_: RotationType,
    settled: bool,
    agents: Option<&Progress>,
    desired: &mut DesiredState,
) -> Option<parts::Users> {
    let suffixes = match type_ {
        RotationType::MessagingUser => service.definition.buses,
        _ => service.definition.databases,
    };
    if suffixes.is_empty() {
        return None;
    }
    let [user, _] = kinds(type_);
    let composed = desired.objects.keys().filter(|key| key.kind == user);
    let composed: BTreeSet<u32> = composed.map(|key| number_of(&key.name)).collect();
    let newest = composed.last().copied();
    let is_named = || {
        let rotations = Rotations::of(service.observed, service.namespace, service.name, type_);
        rotations.map_or(true, |rotations| {
            rotations.named().any(|number| Some(number) < newest)
        })
    };
    let all_have = settled && agents.is_none();
    // A database or bus that was added after a rotation has a first user, which isn't one that another replaces.
    let mut numbers: BTreeSet<u32> = match all_have {
        true => newest.into_iter().collect(),
        false => composed,
    };
    let mut is_known = true;
    if !all_have || is_named() {
        let labels = service.labels();
        for kind in kinds(type_) {
            let found = match service.keys(kind, &label_pairs(&labels)) {
                Lookup::Found(found) => found,
                Lookup::Missing => Vec::new(),
                Lookup::Unknown(_) => {
                    is_known = false;
                    continue;
                }
            };
            for key in found {
                if !all_have || !desired.objects.contains_key(&key) {
                    numbers.insert(number_of(&key.name));
                }
                desired.keep(key);
            }
        }
        let secrets = secrets_of_kept(service, type_, is_known, desired);
        desired.kept.extend(secrets);
    }
    // A rotation ends once its user is in use and no other is left, which is unknown while one can't be read. Agents have the only user that
    // there is.
    let is_in_use = settled && is_known && (agents.is_none() || numbers.len() == 1);
    let newest = newest.filter(|_| is_in_use);
    (!numbers.is_empty()).then(|| parts::Users {
        numbers: numbers.into_iter().collect(),
        in_use: newest,
    })
}

/// The Secrets of users that are kept and not composed, for instance those of a cell that is being removed: the operator of MariaDB or
/// RabbitMQ reads them again. Where it isn't known which those are, all whose name is that of a later user's Secret.
fn secrets_of_kept(
    service: &Service<'_>,
    type_: RotationType,
    is_known: bool,
    desired: &DesiredState,
) -> Vec<Key> {
    let [kind, _] = kinds(type_);
    let secret = match type_ {
        RotationType::MessagingUser => "/spec/importCredentialsSecret/name",
        _ => "/spec/passwordSecretKeyRef/name",
    };
    let kept = desired.kept.iter().filter(|key| key.kind == kind);
    let kept = kept.filter(|key| !desired.objects.contains_key(*key));
    let users: Lookup<Vec<_>> = kept.map(|key| service.observed.object(key)).collect();
    match users {
        Lookup::Found(users) if is_known => {
            let names = users
                .iter()
                .filter_map(|user| user.pointer(secret)?.as_str());
            names
                .map(|name| Key::of::<Secret>(service.namespace, name))
                .collect()
        }
        _ => {
            let all = service.keys(Secret::KIND, &[]).found();
            let mut all = all.unwrap_or_default();
            all.retain(|key| number_of(&key.name) > 1);
            all
        }
    }
}
