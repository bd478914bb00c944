//! How a tenant reaches its control plane.

use c5c3_plan::{Page, tree};

use crate::given::{CLAIM, claim, condition, site, written};

/// What a site adds to the Composition's input.
const SITE: &str = "
exposure: {domain: cloud.example.com, gateway: {name: public, namespace: gateways}}
tenantAccess: {secretStore: {name: tenants, kind: ClusterSecretStore}}
";

#[test]
fn endpoints_and_the_tenants_secret_are_shown() {
    let plan = written(CLAIM, &site(SITE)).unwrap();
    let planned = claim(&plan, "tenant/cloud");
    assert_eq!(planned.phase(), "Ready", "{:?}", planned.conditions);
    assert_eq!(condition(planned, "AccessOffered"), ("True", "Offered"));
    assert_eq!(
        planned.claim.status()["endpoints"]["keystone"],
        "https://keystone.cloud.cloud.example.com"
    );
    insta::assert_snapshot!(tree(&plan, Page::PLAIN, "c5c3 plan"));
}

#[test]
fn apis_behind_ingresses_are_exposed() {
    let ingresses = "exposure: {domain: cloud.example.com, ingress: {className: nginx}}";
    let plan = written(CLAIM, &site(ingresses)).unwrap();
    let planned = claim(&plan, "tenant/cloud");
    assert_eq!(condition(planned, "Exposed"), ("True", "Ready"));
    assert_eq!(
        planned.claim.status()["endpoints"]["keystone"],
        "https://keystone.cloud.cloud.example.com"
    );
}
