//! Who may consume a pool, what its file says of it, and which Composition counts.

use c5c3_api::{Condition, Generation};
use c5c3_plan::{Compositions, Manifest, Settings, State};
use rstest::rstest;

use crate::given::{assuming_ready, claim, condition, ready, root, settings, written};

/// Pools of one region, and a claim that names them.
fn site(pool_status: &str, claims: &[&str]) -> String {
    let pools = format!(
        "
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {{name: eu-de-1-control-plane, namespace: infrastructure}}
spec: {{region: eu-de-1}}
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: HypervisorCluster
metadata: {{name: hv, namespace: infrastructure}}
spec: {{region: eu-de-1, name: hv, sharing: {{mode: Dedicated}}}}
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: StorageCluster
metadata: {{name: st, namespace: infrastructure}}
spec: {{region: eu-de-1, name: st}}
{pool_status}
"
    );
    let claims = claims.iter().map(|namespace| {
        format!(
            "
---
apiVersion: c5c3.io/v1alpha1
kind: OpenStackCluster
metadata: {{name: {namespace}-cloud, namespace: {namespace}}}
spec: {{region: eu-de-1, size: small, hypervisorClusters: [hv], storageClusters: [st]}}
"
        )
    });
    pools + &claims.collect::<String>()
}

#[test]
fn a_dedicated_pool_serves_the_first_claim_and_refuses_the_second() {
    let plan = written(&site("", &["one", "two"]), &assuming_ready()).unwrap();
    assert!(claim(&plan, "one/one-cloud").is_ready());
    let second = claim(&plan, "two/two-cloud");
    assert_eq!(second.phase(), "Pending");
    assert_eq!(condition(second, "PoolsReady"), ("False", "PoolDedicated"));
    assert!(second.clusters.is_empty(), "{:?}", second.clusters);
}

#[test]
fn who_has_a_dedicated_pool_keeps_it_whatever_the_names() {
    let site = site("", &["one", "two"]).replace(
        "mode: Dedicated}}",
        "mode: Dedicated}}\nstatus: {phase: Ready, consumers: [{name: two-cloud, namespace: two}]}",
    );
    for settings in [settings(), assuming_ready()] {
        let plan = written(&site, &settings).unwrap();
        let first = claim(&plan, "one/one-cloud");
        assert_eq!(condition(first, "PoolsReady"), ("False", "PoolDedicated"));
        assert!(!claim(&plan, "two/two-cloud").clusters.is_empty());
    }
}

#[test]
fn a_pool_comes_up_unless_its_file_says_otherwise() {
    let phase = |status: &str| {
        let plan = written(&site(status, &["one"]), &settings()).unwrap();
        let pool = claim(&plan, "infrastructure/st");
        (
            pool.phase().to_owned(),
            claim(&plan, "one/one-cloud").phase().to_owned(),
        )
    };
    let both = |pool: &str, claim: &str| (pool.to_owned(), claim.to_owned());
    assert_eq!(phase(""), both("Ready", "Provisioning"));
    assert_eq!(
        phase("status: {phase: Expanding}"),
        both("Expanding", "Provisioning")
    );
    assert_eq!(
        phase("status: {phase: Provisioning}"),
        both("Provisioning", "Pending")
    );
    assert_eq!(
        phase("status: {phase: Ready, health: HEALTH_ERR}"),
        both("Ready", "Pending")
    );
}

#[test]
fn assuming_that_all_is_ready_overrules_what_files_say() {
    let site = site("status: {phase: Failed, health: HEALTH_ERR}", &["one"]);
    let plan = written(&site, &assuming_ready()).unwrap();
    assert_eq!(claim(&plan, "infrastructure/st").phase(), "Ready");
    assert!(claim(&plan, "one/one-cloud").is_ready());
}

#[test]
fn what_waits_says_for_whom() {
    let plan = written(&site("", &["one"]), &settings()).unwrap();
    let claim = claim(&plan, "one/one-cloud");
    let state = |cluster: &str, kind: &str| {
        let mut objects = claim.clusters[cluster].iter();
        objects.find(|object| object.kind == kind).unwrap().state
    };
    assert_eq!(state("eu-de-1-control-plane", "Namespace"), State::Ready);
    assert_eq!(
        state("eu-de-1-control-plane", "ControlPlane"),
        State::Waiting(Some("c5c3-operator"))
    );
    assert_eq!(state("st", "CephBlockPool"), State::Waiting(Some("Rook")));
    assert_eq!(
        state("hv", "HypervisorShare"),
        State::Waiting(Some("hypervisor-pool"))
    );
}

#[test]
fn a_claim_of_the_same_name_is_refused_and_the_elder_is_served() {
    let site = site("", &["one", "two"])
        .replace("two-cloud, namespace: two", "one-cloud, namespace: two")
        .replace(", sharing: {mode: Dedicated}", "");
    let plan = written(&site, &assuming_ready()).unwrap();
    assert!(claim(&plan, "one/one-cloud").is_ready());
    let second = claim(&plan, "two/one-cloud");
    assert_eq!(second.phase(), "Failed");
    assert_eq!(condition(second, "Accepted"), ("False", "NameTaken"));

    let elder = site.replace(
        "namespace: two}",
        "namespace: two, creationTimestamp: '2020-01-01T00:00:00Z'}",
    );
    let plan = written(&elder, &assuming_ready()).unwrap();
    assert!(claim(&plan, "two/one-cloud").is_ready());
    assert_eq!(claim(&plan, "one/one-cloud").phase(), "Failed");
}

#[rstest]
#[case::storage_on_crossplane_1(
    Generation::V1,
    ["HypervisorCluster", "StorageCluster"],
    "175aa4dd-0364-fb9b-15e9-f2d8ae062c4c"
)]
#[case::hypervisors_on_crossplane_1(
    Generation::V1,
    ["StorageCluster", "HypervisorCluster"],
    "d8be0346-e1c2-faee-1432-59ed809ead35"
)]
#[case::control_planes_on_crossplane_1(
    Generation::V1,
    ["HypervisorCluster", "ControlPlaneCluster"],
    "cc1811e0-3336-74db-5ac3-906031976a68"
)]
#[case::storage_on_crossplane_2(
    Generation::V2,
    ["HypervisorCluster", "StorageCluster"],
    "0cd0d73b-4ddd-3318-dfae-3bbc70651f18"
)]
#[case::hypervisors_on_crossplane_2(
    Generation::V2,
    ["StorageCluster", "HypervisorCluster"],
    "0add873f-86a8-9e4c-f624-77429ee9757e"
)]
#[case::control_planes_on_crossplane_2(
    Generation::V2,
    ["HypervisorCluster", "ControlPlaneCluster"],
    "0910f024-e76e-5bbd-23fc-29663a4d5d6c"
)]
fn cluster_of_the_same_name_is_refused_whatever_its_kind(
    #[case] generation: Generation,
    #[case] kinds: [&str; 2],
    #[case] uid: &str,
) {
    let created = [", creationTimestamp: '2020-01-01T00:00:00Z'", ""];
    let clusters = kinds.into_iter().zip(created).map(|(kind, created)| {
        let name = match kind {
            "ControlPlaneCluster" => "",
            _ => ", name: pool-1",
        };
        format!(
            "
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: {kind}
metadata: {{name: pool-1, namespace: infrastructure{created}}}
spec: {{region: eu-de-1{name}}}
"
        )
    });
    let settings = Settings {
        generation,
        ..settings()
    };
    let plan = written(&clusters.collect::<String>(), &settings).unwrap();
    let [elder, second] = kinds.map(|kind| {
        let mut planned = plan.planned.iter();
        planned
            .find(|planned| planned.claim.kind() == kind)
            .unwrap()
    });
    assert!(elder.is_ready(), "{:?}", elder.conditions);
    assert_eq!(second.phase(), "Failed");
    let mut conditions = second.conditions.iter();
    let accepted = conditions.find(|known| known.type_ == "Accepted").unwrap();
    let expected = Condition {
        type_: "Accepted".to_owned(),
        status: "False".to_owned(),
        reason: "NameTaken".to_owned(),
        message: format!(
            "Shoot pool-1 in cluster gardener exists and belongs to an earlier or another claim named infrastructure/pool-1; \
             choose another name, or have the platform team hand it over with the annotation c5c3.io/adopt-by: {uid}"
        ),
        ..Condition::default()
    };
    assert_eq!(*accepted, expected);
    let composed: Vec<&str> = second.composed.iter().map(Manifest::kind).collect();
    assert_eq!(composed, ["Object"]);
}

#[test]
fn deletion_goes_from_shares_to_the_namespace() {
    let plan = ready(&["examples/claims/internal-prod.yaml"]);
    let claim = claim(&plan, "tenant-internal/internal-prod");
    let step = |kind: &str| {
        let mut steps = claim.deletion.iter();
        steps
            .position(|step| step.iter().any(|object| object.kind == kind))
            .unwrap()
    };
    assert_eq!(step("HypervisorShare"), 0);
    assert_eq!(step("CephBlockPool"), 0);
    assert!(step("ControlPlane") > step("HypervisorShare"));
    assert!(step("CephClient") > step("ControlPlane"));
    let last = claim.deletion.last().unwrap();
    assert!(last.iter().any(|object| object.kind == "Namespace"));
    assert_eq!(
        claim.holds,
        [
            "eu-de-1-control-plane",
            "hv-pool-b",
            "st-pool-a",
            "st-pool-b"
        ]
    );
}

/// Replicas of a control plane's database, which the Composition decides.
fn database_replicas(settings: &Settings, text: &str) -> u64 {
    let plan = written(text, settings).unwrap();
    let claim = claim(&plan, "one/one-cloud");
    let manifests = claim
        .composed
        .iter()
        .map(|object| &object.spec()["forProvider"]["manifest"]);
    let mut control_planes = manifests.filter(|manifest| manifest["kind"] == "ControlPlane");
    let control_plane = control_planes.next().unwrap();
    control_plane["spec"]["infrastructure"]["mariadb"]["replicas"]
        .as_u64()
        .unwrap()
}

#[test]
fn the_composition_is_the_claims_choice_then_the_options_then_the_usual_one() {
    let large = site("", &["one"]).replace("size: small", "size: large");
    assert_eq!(database_replicas(&settings(), &large), 3);

    let option = Settings {
        composition: Some("openstack-development".to_owned()),
        ..settings()
    };
    assert_eq!(database_replicas(&option, &large), 1);

    let reference = "size: large, compositionRef: {name: openstack-production}";
    let chosen = large.replace("size: large", reference);
    assert_eq!(database_replicas(&option, &chosen), 3);

    let selector =
        "size: large, compositionSelector: {matchLabels: {c5c3.io/environment: staging}}";
    let selected = large.replace("size: large", selector);
    assert_eq!(database_replicas(&settings(), &selected), 1);
}

#[test]
fn compositions_of_a_folder_are_those_that_are_built_in() {
    let text = site("", &["one"]).replace("size: small", "size: large");
    for folder in ["compositions/input", "compositions/v1"] {
        let settings = Settings {
            compositions: Compositions::read(&root(folder)).unwrap(),
            ..settings()
        };
        assert_eq!(database_replicas(&settings, &text), 3);
    }
}
