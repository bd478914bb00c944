//! The claims of the repository, planned with its clusters and pools.

use std::collections::BTreeSet;

use c5c3_api::Generation;
use c5c3_plan::{Applied, Plan, Settings};

use super::repository::{site, text};
use crate::given::{assert_ready, assuming_ready, planned};

fn plan_of(generation: Generation, paths: &[&str]) -> Plan {
    let settings = Settings {
        generation,
        ..assuming_ready()
    };
    planned(paths, &settings)
}

/// Nothing is made up, and every claim becomes Ready.
fn assert_complete(plan: &Plan) {
    assert!(plan.assumed.is_empty(), "{:?}", plan.assumed);
    assert_ready(plan);
}

/// Claims by kind, namespace and name.
fn titles(plan: &Plan) -> BTreeSet<String> {
    let claims = plan.planned.iter();
    claims
        .map(|planned| format!("{} {}", planned.claim.kind(), planned.claim.path()))
        .collect()
}

#[test]
fn gitops_claims_and_pools_are_all_planned_and_become_ready() {
    let plan = plan_of(Generation::V2, &["examples/gitops"]);
    assert_complete(&plan);
    let mut given = BTreeSet::new();
    for overlay in ["management", "staging"] {
        for applied in site(overlay) {
            for object in &applied.objects {
                let kind = text(&object["kind"]);
                let is_claim = kind == "OpenStackCluster"
                    || text(&object["apiVersion"]).starts_with("crossplane.c5c3.io/");
                let metadata = &object["metadata"];
                if is_claim {
                    let path = [&metadata["namespace"], &metadata["name"]]
                        .map(text)
                        .join("/");
                    given.insert(format!("{kind} {path}"));
                }
            }
        }
    }
    assert_eq!(titles(&plan), given);
    assert!(!plan.has_failed());
    assert_eq!(plan.resources.len(), 1, "the ControlPlane without a claim");
}

/// One claim of each tenant: more take longer, and find no more.
#[test]
fn gitops_claims_become_ready_with_crossplane_1_too() {
    let paths = [
        "examples/gitops/infrastructure",
        "examples/gitops/tenants/customer-a/openstack-clusters/prod.yaml",
        "examples/gitops/tenants/customer-b/openstack-clusters/staging.yaml",
        "examples/gitops/tenants/internal/claims/us.yaml",
        "examples/gitops/tenants/staging/qa.yaml",
    ];
    let plan = plan_of(Generation::V1, &paths);
    assert_complete(&plan);
    assert!(plan.planned.len() > paths.len());
}

/// Gardener's names of Shoots are shorter than those of clusters.
#[test]
fn gitops_kubeconfigs_are_those_of_the_shoots_that_claims_become() {
    let plan = plan_of(Generation::V2, &["examples/gitops/infrastructure"]);
    let is_shoot = |applied: &&Applied| applied.key.kind == "Shoot";
    let shoots: BTreeSet<String> = plan
        .applied
        .iter()
        .filter(is_shoot)
        .map(|shoot| shoot.manifest.path())
        .collect();
    for namespace in ["crossplane-system", "flux-system"] {
        let mut requested = BTreeSet::new();
        for overlay in ["management", "staging"] {
            for applied in site(overlay) {
                for object in &applied.objects {
                    if object["kind"] == "ShootKubeconfig"
                        && object["metadata"]["namespace"] == namespace
                    {
                        let shoot = &object["spec"]["shoot"];
                        requested.insert([&shoot["namespace"], &shoot["name"]].map(text).join("/"));
                    }
                }
            }
        }
        assert_eq!(requested, shoots, "{namespace}");
    }
}
