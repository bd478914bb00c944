//! The kinds that this function composes, and the names that it gives them.

use function_protocol::Document;

use super::{object_api_version, usages};
use crate::composite::{Scope, TypeMeta};
use crate::manifest::kubernetes::PROVIDER_CONFIG;
use crate::names::ACCESS;

/// Whether an observed resource can be one that was composed under this name.
///
/// A tenant of Crossplane 2 can refer to any resource of its namespace in `spec.crossplane.resourceRefs`, and annotate it with
/// any name. What exists counts as admitted by its pools, so only kinds count that no tenant may create (docs/security.md), and
/// Usages only under the names of Usages.
pub fn is_composed(name: &str, resource: &Document) -> bool {
    let Ok(TypeMeta { api_version, kind }) = resource.parse() else {
        return false;
    };
    let mut scopes = [Scope::Cluster, Scope::Namespaced].into_iter();
    match kind {
        "Object" => scopes.any(|scope| api_version == object_api_version(scope)),
        "Usage" => {
            usages::sides(name).is_some()
                && scopes.any(|scope| api_version == usages::api_version(scope))
        }
        _ => name == ACCESS && (api_version, kind) == PROVIDER_CONFIG,
    }
}
