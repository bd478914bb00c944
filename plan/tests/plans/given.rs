//! What tests plan, and what they look at.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use c5c3_api::Generation;
use c5c3_plan::{Compositions, Error, Files, Plan, Planned, Settings, plan, read};
use jiff::Timestamp;
use provider_composer_testing::Shared;
use tempfile::TempDir;

/// A claim with few services, in pools that are assumed to exist.
pub const CLAIM: &str = "
apiVersion: c5c3.io/v1alpha1
kind: OpenStackCluster
metadata: {name: cloud, namespace: tenant}
spec:
  region: eu-de-1
  size: small
  hypervisorClusters: [hv]
  storageClusters: [st]
  services: {nova: false, neutron: false, cinder: false}
";

/// A path of the repository.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Files of the repository, read.
pub fn files(paths: &[&str]) -> Files {
    let paths: Vec<PathBuf> = paths.iter().map(|path| root(path)).collect();
    read(&paths).unwrap()
}

pub fn settings() -> Settings {
    Settings {
        generation: Generation::V1,
        compositions: Compositions::built_in().unwrap(),
        composition: None,
        assume_ready: false,
        present: BTreeMap::new(),
        now: Timestamp::constant(1_769_904_000, 0),
    }
}

pub fn assuming_ready() -> Settings {
    Settings {
        assume_ready: true,
        ..settings()
    }
}

pub fn ready_on_crossplane_2() -> Settings {
    Settings {
        generation: Generation::V2,
        ..assuming_ready()
    }
}

/// Settings of a site that adds this to the Composition's input of control planes.
pub fn site(added: &str) -> Settings {
    let folder = TempDir::new().unwrap();
    for file in fs::read_dir(root("compositions/input")).unwrap() {
        let file = file.unwrap();
        let mut input = fs::read_to_string(file.path()).unwrap();
        if input.contains("kind: OpenStackPresets") {
            input += added;
        }
        fs::write(folder.path().join(file.file_name()), input).unwrap();
    }
    Settings {
        compositions: Compositions::read(folder.path()).unwrap(),
        ..assuming_ready()
    }
}

/// The plan of files of the repository.
pub fn planned(paths: &[&str], settings: &Settings) -> Plan {
    plan(&files(paths), settings).unwrap()
}

/// The plan of files of the repository if everything is ready. Tests of the same files share it.
pub fn ready(paths: &[&str]) -> Arc<Plan> {
    static READY: Shared<Arc<Plan>> = Shared::empty();
    READY.get(paths.join(" "), || {
        Arc::new(planned(paths, &assuming_ready()))
    })
}

/// The plan of a claim with a Composition, on Crossplane 2, if everything is ready. Tests of the same claim share it.
pub fn ready_with(composition: &str, claim: &str) -> Arc<Plan> {
    static READY: Shared<Arc<Plan>> = Shared::empty();
    READY.get(composition.to_owned() + claim, || {
        let settings = Settings {
            composition: Some(composition.to_owned()),
            ..ready_on_crossplane_2()
        };
        Arc::new(written(claim, &settings).unwrap())
    })
}

/// Checks that there are claims, and that every one becomes Ready.
pub fn assert_ready(plan: &Plan) {
    assert!(!plan.planned.is_empty());
    let waits = |planned: &&Planned| !planned.is_ready() || planned.phase() != "Ready";
    let waiting: Vec<String> = plan
        .planned
        .iter()
        .filter(waits)
        .map(|planned| format!("{}: {:?}", planned.claim.title(), planned.conditions))
        .collect();
    assert!(waiting.is_empty(), "{waiting:#?}");
}

/// The plan of a text.
pub fn written(text: &str, settings: &Settings) -> Result<Plan, Error> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("given.yaml");
    fs::write(&path, text).unwrap();
    plan(&read(&[path])?, settings)
}

/// What comes of a claim.
pub fn claim<'a>(plan: &'a Plan, path: &str) -> &'a Planned {
    let mut planned = plan.planned.iter();
    planned
        .find(|planned| planned.claim.path() == path)
        .unwrap_or_else(|| panic!("{path} isn't planned"))
}

/// Status and reason of a claim's condition.
pub fn condition<'a>(planned: &'a Planned, type_: &str) -> (&'a str, &'a str) {
    let mut conditions = planned.conditions.iter();
    let found = conditions.find(|condition| condition.type_ == type_);
    let found = found.unwrap_or_else(|| panic!("{type_} isn't there: {:?}", planned.conditions));
    (&found.status, &found.reason)
}
