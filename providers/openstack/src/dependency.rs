//! The dependencies that a resource declares in `dependsOn`.

use c5c3_api::parts::Dependency;
use provider_composer::{Failure, Key, Lookup, ObservedState, Progress, Reason};
use serde_json::Value;

use crate::registry::dependency_kinds;
use crate::service::Service;

/// Returns the progress of a service's dependencies.
///
/// # Errors
/// The dependencies form a cycle, or one has another kind.
pub fn dependencies(service: &Service<'_>) -> Result<Progress, Failure> {
    let own = Key::new(service.definition.kind, service.namespace, service.name);
    let wanted = &service.common.depends_on;
    for dependency in wanted {
        let Some(first) = key(service.namespace, dependency) else {
            let kinds: Vec<_> = dependency_kinds().map(|kind| kind.kind).collect();
            let message = format!(
                "dependsOn names the kind {}, which nothing can wait for: name one of {}",
                dependency.kind,
                kinds.join(", ")
            );
            return Err(Failure::new(Reason::Invalid, message));
        };
        let mut path = vec![own.clone()];
        if leads_back(&first, &mut path, service.observed) {
            let path: Vec<String> = path.iter().map(ToString::to_string).collect();
            let message = format!(
                "dependsOn has a cycle, {}: remove one of these dependencies",
                path.join(" -> ")
            );
            return Err(Failure::new(Reason::DependencyCycle, message));
        }
    }
    let unready = wanted
        .iter()
        .find_map(|dependency| unready(service.namespace, dependency, service.observed));
    Ok(unready.unwrap_or(Progress::Ready))
}

/// Whether what is waited for waits for the first of the path. The path then leads there.
fn leads_back(key: &Key, path: &mut Vec<Key>, observed: &ObservedState<'_>) -> bool {
    let returns = path.first() == Some(key);
    let known = path.contains(key);
    path.push(key.clone());
    if returns {
        return true;
    }
    if !known && let Lookup::Found(object) = observed.object(key) {
        let namespace = key.namespace.as_deref().unwrap_or_default();
        let others = depends_on(&object).into_iter();
        for next in others.filter_map(|other| self::key(namespace, &other)) {
            if leads_back(&next, path, observed) {
                return true;
            }
        }
    }
    path.pop();
    false
}

fn depends_on(object: &Value) -> Vec<Dependency> {
    let written = object.pointer("/spec/dependsOn");
    written
        .and_then(|written| serde_json::from_value(written.clone()).ok())
        .unwrap_or_default()
}

fn unready(
    namespace: &str,
    dependency: &Dependency,
    observed: &ObservedState<'_>,
) -> Option<Progress> {
    let key = key(namespace, dependency)?;
    let reason = Reason::WaitingFor(key.kind.kind);
    match observed.condition(&key, &dependency.condition) {
        Lookup::Found(Some(condition)) if condition.status == "True" => None,
        Lookup::Found(_) => {
            let what = format!("waits for {key} to be {}", dependency.condition);
            Some(Progress::waiting(reason, what))
        }
        Lookup::Missing => Some(Progress::waiting(
            reason,
            format!("waits for {key}, which doesn't exist"),
        )),
        Lookup::Unknown(message) => Some(Progress::Unknown { message }),
    }
}

fn key(namespace: &str, dependency: &Dependency) -> Option<Key> {
    let kind = dependency_kinds().find(|known| known.kind == dependency.kind)?;
    Some(Key::new(kind, namespace, &dependency.name))
}
