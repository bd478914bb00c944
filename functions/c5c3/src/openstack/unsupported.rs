//! Services that a claim may enable and that this version doesn't deploy.

use c5c3_api::OpenStackClusterSpec;

/// Returns a sentence about the enabled services that no operator deploys, for the claim's owner. Everything else is
/// deployed.
pub fn unsupported(spec: &OpenStackClusterSpec) -> Option<String> {
    let services = &spec.services;
    let enabled: Vec<&str> = [("octavia", services.octavia), ("manila", services.manila)]
        .into_iter()
        .filter_map(|(service, enabled)| enabled.then_some(service))
        .collect();
    let fields: Vec<String> = enabled
        .iter()
        .map(|service| format!("spec.services.{service}"))
        .collect();
    (!enabled.is_empty()).then(|| {
        format!(
            "this version does not deploy {}: set {} to false; all other services are deployed",
            enabled.join(" and "),
            fields.join(" and ")
        )
    })
}
