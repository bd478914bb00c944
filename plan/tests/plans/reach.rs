//! How a tenant reaches its control plane.

use std::fs;

use c5c3_plan::{Compositions, Page, Settings, tree};
use tempfile::TempDir;

use crate::given::{CLAIM, assuming_ready, claim, condition, root, written};

/// What a site adds to the Composition's input.
const SITE: &str = "
exposure: {domain: cloud.example.com, gateway: {name: public, namespace: gateways}}
tenantAccess: {secretStore: {name: tenants, kind: ClusterSecretStore}}
";

#[test]
fn endpoints_and_the_tenants_secret_are_shown() {
    let folder = TempDir::new().unwrap();
    for file in fs::read_dir(root("compositions/input")).unwrap() {
        let file = file.unwrap();
        let mut input = fs::read_to_string(file.path()).unwrap();
        if input.contains("kind: OpenStackPresets") {
            input += SITE;
        }
        fs::write(folder.path().join(file.file_name()), input).unwrap();
    }
    let settings = Settings {
        compositions: Compositions::read(folder.path()).unwrap(),
        ..assuming_ready()
    };
    let plan = written(CLAIM, &settings).unwrap();
    let planned = claim(&plan, "tenant/cloud");
    assert_eq!(planned.phase(), "Ready", "{:?}", planned.conditions);
    assert_eq!(condition(planned, "AccessOffered"), ("True", "Offered"));
    assert_eq!(
        planned.claim.status()["endpoints"]["keystone"],
        "https://keystone.cloud.cloud.example.com"
    );
    insta::assert_snapshot!(tree(&plan, Page::PLAIN, "c5c3 plan"));
}
