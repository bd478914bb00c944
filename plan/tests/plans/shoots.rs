//! What a cluster that exists can become, given its Shoot as Gardener has it.

use c5c3_plan::{Applied, Page, Plan, tree};
use serde_json::{Value, json};

use crate::given::{claim, root, settings, written};

const POOL: &str = "infrastructure/hv-pool-a";

/// The plan of the example's pool with other numbers of machines, beside this Shoot.
fn plan_of(workers: u32, shoot: Option<&Value>) -> Plan {
    let file = std::fs::read_to_string(root("examples/pools/hv-pool-a.yaml")).unwrap();
    let pool = file.replace("workers: 50", &format!("workers: {workers}"));
    let shoot = shoot.map(Value::to_string).unwrap_or_default();
    written(&format!("{pool}\n---\n{shoot}"), &settings()).unwrap()
}

fn shoot(plan: &Plan) -> Value {
    let is_shoot = |applied: &&Applied| applied.key.kind == "Shoot";
    let shoot = plan.applied.iter().find(is_shoot).unwrap();
    shoot.manifest.value().clone()
}

#[test]
fn pending_update_in_place_keeps_the_machines_and_shoot_ready_says_so() {
    let mut running = shoot(&plan_of(50, None));
    let workers = running["spec"]["provider"]["workers"].clone();
    running["status"] = json!({
        "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "done"},
    });
    let scaled = plan_of(60, Some(&running));
    assert_eq!(
        shoot(&scaled)["spec"]["provider"]["workers"][0]["minimum"],
        60
    );

    running["status"]["inPlaceUpdates"] =
        json!({"pendingWorkerUpdates": {"manualInPlaceUpdate": ["hypervisor"]}});
    let pending = plan_of(60, Some(&running));
    assert_eq!(shoot(&pending)["spec"]["provider"]["workers"], workers);
    let conditions = &claim(&pending, POOL).conditions;
    let ready = conditions.iter().find(|known| known.type_ == "ShootReady");
    assert_eq!(
        ready.unwrap().message,
        "updates in place of the machines of hypervisor are pending, and Gardener changes neither their number nor what they run until \
         all are updated: drain their nodes and label them node.machine.sapcloud.io/selected-for-update=true"
    );
}

#[test]
fn forced_update_in_place_changes_the_machines() {
    let mut running = shoot(&plan_of(50, None));
    running["metadata"]["annotations"]["gardener.cloud/operation"] = json!("force-in-place-update");
    running["status"] = json!({
        "lastOperation": {"type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "done"},
        "inPlaceUpdates": {"pendingWorkerUpdates": {"manualInPlaceUpdate": ["hypervisor"]}},
    });
    let forced = plan_of(60, Some(&running));
    assert_eq!(
        shoot(&forced)["spec"]["provider"]["workers"][0]["minimum"],
        60
    );
    let conditions = &claim(&forced, POOL).conditions;
    let ready = conditions.iter().find(|known| known.type_ == "ShootReady");
    assert_eq!(ready.unwrap().message, "");
}

#[test]
fn shoot_of_no_cluster_is_reported() {
    let mut other = shoot(&plan_of(50, None));
    other["metadata"]["name"] = json!("other");
    let plan = plan_of(50, Some(&other));
    let unused: Vec<String> = plan
        .unused_shoots
        .iter()
        .map(|key| key.name.clone())
        .collect();
    assert_eq!(unused, ["other"]);
    let expected = "
Not used, since no cluster of these files has this name
└─ Shoot garden-c5c3/other
";
    let shown = tree(&plan, Page::PLAIN, "c5c3 plan");
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn running_version_is_not_lowered_to_the_default_of_the_composition() {
    let mut running = shoot(&plan_of(50, None));
    running["spec"]["kubernetes"]["version"] = json!("1.36.1");
    // Crossplane's UID of the claim, which no file has.
    running["metadata"]["labels"]["c5c3.io/claim-uid"] =
        json!("3f2b8a0e-6d1c-4a55-9a35-0c1f5b1f7a11");
    let version = &shoot(&plan_of(50, Some(&running)))["spec"]["kubernetes"]["version"];
    assert_eq!(*version, "1.36.1");
}
