//! Every example, planned.

use std::path::PathBuf;

use c5c3_api::Generation;
use c5c3_plan::{Format, Manifest, Page, Plan, Settings, plan, read, stream, tree};
use rstest::rstest;

use crate::given::{
    assert_ready, assuming_ready, claim, files, planned, ready, ready_on_crossplane_2, root,
    settings,
};

const COMMAND: &str = "c5c3 plan";

const CLAIMS_AND_POOLS: [&str; 2] = ["examples/claims", "examples/pools"];

#[test]
fn the_first_command_says_what_is_missing_and_how_to_go_on() {
    let plan = planned(&["examples/claims/customer-a-prod.yaml"], &settings());
    assert_eq!(
        claim(&plan, "tenant-customer-a/customer-a-prod").phase(),
        "Pending"
    );
    let missing: Vec<String> = plan.missing.iter().map(|wanted| wanted.path()).collect();
    assert_eq!(
        missing,
        [
            "infrastructure/eu-de-1-control-plane",
            "infrastructure/hv-pool-a",
            "infrastructure/hv-pool-b",
            "infrastructure/st-pool-a",
        ]
    );
    insta::assert_snapshot!(tree(&plan, Page::PLAIN, COMMAND));
}

#[test]
fn with_the_pools_a_claim_is_composed_and_waits_for_its_operators() {
    let plan = planned(
        &["examples/claims/customer-a-prod.yaml", "examples/pools"],
        &settings(),
    );
    assert!(plan.missing.is_empty());
    let claim = claim(&plan, "tenant-customer-a/customer-a-prod");
    assert_eq!(claim.phase(), "Provisioning");
    let clusters: Vec<&str> = claim.clusters.keys().map(String::as_str).collect();
    assert_eq!(
        clusters,
        [
            "eu-de-1-control-plane",
            "hv-pool-a",
            "hv-pool-b",
            "st-pool-a"
        ]
    );
    insta::assert_snapshot!(tree(&plan, Page::PLAIN, COMMAND));
}

/// Objects that operators apply have snapshots of their own: here they their kinds are named.
#[test]
fn plan_for_tools_has_what_crossplane_and_operators_apply_and_the_claim() {
    let plan = ready(&["examples/claims/customer-b-staging.yaml"]);
    let stream = stream(&plan, Format::Yaml).unwrap();
    let documents = stream.split("---\n").map(|text| {
        let value = serde_saphyr::from_str::<serde_json::Value>(text).unwrap();
        let manifest = Manifest::try_from(value).unwrap();
        match manifest.group().ends_with("crossplane.io") || manifest.kind() == "OpenStackCluster" {
            true => text.to_owned(),
            false => format!("# {} {}\n", manifest.api_version(), manifest.kind()),
        }
    });
    let mut documents: Vec<String> = documents.collect();
    documents.dedup();
    insta::assert_snapshot!(documents.join("---\n"));
}

/// Everything under `examples`, each file alone and each folder as a whole.
#[rstest]
#[case::claims(&["examples/claims"])]
#[case::claims_and_pools(&CLAIMS_AND_POOLS)]
#[case::customer_a_prod(&["examples/claims/customer-a-prod.yaml"])]
#[case::customer_b_staging(&["examples/claims/customer-b-staging.yaml"])]
#[case::finance_prod(&["examples/claims/finance-prod.yaml"])]
#[case::internal_prod(&["examples/claims/internal-prod.yaml"])]
#[case::shared(&["examples/isolation/shared.yaml"])]
#[case::dedicated(&["examples/isolation/dedicated.yaml"])]
#[case::hybrid(&["examples/isolation/hybrid.yaml"])]
#[case::tiered(&["examples/isolation/tiered.yaml"])]
fn every_example_becomes_ready(
    #[case] paths: &[&str],
    #[values(Generation::V1, Generation::V2)] generation: Generation,
) {
    match generation {
        Generation::V1 => assert_ready(&ready(paths)),
        Generation::V2 => assert_ready(&planned(paths, &ready_on_crossplane_2())),
    }
}

#[test]
fn every_example_is_planned_above() {
    let source = include_str!("examples.rs");
    for folder in ["examples/claims", "examples/isolation"] {
        for entry in root(folder).read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                source.contains(&format!("{folder}/{name}")),
                "{folder}/{name}"
            );
        }
    }
}

#[rstest]
#[case::waiting(settings())]
#[case::ready(assuming_ready())]
fn a_plan_is_the_same_every_time_and_in_any_order(#[case] settings: Settings) {
    let mut paths: Vec<PathBuf> = CLAIMS_AND_POOLS
        .iter()
        .flat_map(|folder| root(folder).read_dir().unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let shown =
        |plan: &Plan| tree(plan, Page::PLAIN, COMMAND) + &stream(plan, Format::Yaml).unwrap();
    let again = |paths: &[PathBuf]| shown(&plan(&read(paths).unwrap(), &settings).unwrap());
    let first = match settings.assume_ready {
        true => shown(&ready(&CLAIMS_AND_POOLS)),
        false => again(&paths),
    };
    paths.rotate_left(4);
    assert_eq!(first, again(&paths));
    paths.reverse();
    assert_eq!(first, again(&paths));
}

#[test]
fn on_crossplane_2_everything_composed_is_in_the_namespace_of_the_tenant() {
    let plan = planned(
        &["examples/claims/customer-a-prod.yaml"],
        &ready_on_crossplane_2(),
    );
    let claim = claim(&plan, "tenant-customer-a/customer-a-prod");
    assert!(claim.composed.len() > 10);
    for composed in &claim.composed {
        assert_eq!(
            composed.namespace(),
            "tenant-customer-a",
            "{}",
            composed.title()
        );
    }
}

#[test]
fn composite_resources_may_be_given_in_place_of_claims() {
    let paths = [
        "examples/claims/customer-a-prod.yaml",
        "examples/render/pools-v1.yaml",
    ];
    assert!(files(&paths).skipped.is_empty());
    let plan = planned(&paths, &settings());
    assert!(plan.missing.is_empty(), "{:?}", plan.missing);
    let claim = claim(&plan, "tenant-customer-a/customer-a-prod");
    assert_eq!(claim.phase(), "Provisioning");
    assert!(
        claim.holds.contains(&"hv-pool-a".to_owned()),
        "{:?}",
        claim.holds
    );
}

/// The function names Secrets that operators compose, in crates that it doesn't know.
#[test]
fn secrets_that_travel_to_hypervisors_are_composed_by_operators() {
    let plan = ready(&["examples/claims/customer-b-staging.yaml"]);
    let secrets: Vec<_> = plan
        .applied
        .iter()
        .filter(|applied| applied.key.kind == "Secret" && applied.operator.is_some())
        .collect();
    let pushes = plan.applied.iter().filter(|applied| {
        applied.key.kind == "PushSecret" && applied.key.cluster == "eu-de-1-control-plane"
    });
    let mut sources = 0;
    for push in pushes {
        let name = push.manifest.text("/spec/selector/secret/name");
        let secret = secrets.iter().find(|secret| {
            (
                secret.key.cluster.as_str(),
                secret.key.namespace.as_str(),
                secret.key.name.as_str(),
            ) == ("eu-de-1-control-plane", push.key.namespace.as_str(), name)
        });
        let secret = secret.unwrap_or_else(|| panic!("no operator composes Secret {name}"));
        let pull = plan
            .applied
            .iter()
            .find(|applied| applied.key.kind == "ExternalSecret" && applied.key.name == name);
        let labels = &pull.unwrap().manifest.spec()["target"]["template"]["metadata"]["labels"];
        for (label, value) in labels.as_object().unwrap() {
            assert_eq!(secret.manifest.label(label), value, "{label} of {name}");
        }
        sources += 1;
    }
    assert_eq!(sources, 4);
}
