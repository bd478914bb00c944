//! The kinds that this function composes, and the names that it gives them.

use c5c3_kinds::crossplane::{NAMESPACED_USAGE, USAGE};
use c5c3_kinds::provider_kubernetes::{NAMESPACED_OBJECT, OBJECT, ProviderConfig};
use c5c3_kinds::{ResourceKind, Spec};
use function_protocol::Document;

use super::usages;
use crate::composite::TypeMeta;
use crate::names::ACCESS;

/// Whether an observed resource can be one that was composed under this name.
///
/// A tenant of Crossplane 2 can refer to any resource of its namespace in `spec.crossplane.resourceRefs`, and annotate it with
/// any name. What exists counts as admitted by its pools, so only kinds count that no tenant may create or change
/// (docs/security.md), and Usages only under the names of Usages.
pub fn is_composed(name: &str, resource: &Document) -> bool {
    let Ok(TypeMeta { api_version, kind }) = resource.parse() else {
        return false;
    };
    let is_one_of = |kinds: &[ResourceKind]| kinds.iter().any(|of| of.is(api_version, kind));
    is_one_of(&[OBJECT, NAMESPACED_OBJECT])
        || usages::is_name(name) && is_one_of(&[USAGE, NAMESPACED_USAGE])
        || name == ACCESS && ProviderConfig::KIND.is(api_version, kind)
}
