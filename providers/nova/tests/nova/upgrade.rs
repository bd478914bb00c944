//! The end of an upgrade, in which hypervisors run the release last.

use c5c3_api::nova::NovaSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Reason};
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::{NOVA, add_cell2, change, given, job, jobs, printed, running};

/// The Deployments that call nova-compute.
const CALLERS: [&str; 4] = [
    "nova",
    "nova-cell1-conductor",
    "nova-conductor",
    "nova-scheduler",
];

/// Nova during an upgrade, with the Job that waits for nova-compute of all hosts.
fn waiting_for_computes() -> (Cluster, String) {
    let mut cluster = running();
    let found = upgrade(&mut cluster);
    (cluster, found)
}

/// Begins an upgrade, up to the Job that waits for nova-compute of all hosts.
fn upgrade(cluster: &mut Cluster) -> String {
    change(cluster, |spec| spec["release"] = json!("2026.1"));
    let found = run(cluster, "computes");
    cluster.settle(&NOVA, "nova");
    found
}

/// Reconciles until there is a Job of this task, which then runs.
fn run(cluster: &mut Cluster, task: &str) -> String {
    let found = (0..30).find_map(|_| {
        cluster.compose(&NOVA, "nova").unwrap();
        let found = job(cluster, task);
        if found.is_empty() {
            cluster.simulate();
        }
        Some(found).filter(|found| !found.is_empty())
    });
    let found = found.unwrap();
    cluster.change::<Job>(&found, |job| job["status"] = json!({ "ready": 1 }));
    found
}

fn release(cluster: &Cluster) -> Value {
    let nova = cluster.get::<Custom<NovaSpec>>("nova").unwrap();
    nova["status"]["release"].clone()
}

/// The Deployments whose pods were started again at the end of an upgrade to 2026.1.
fn started_again(cluster: &Cluster) -> Vec<&str> {
    let all = cluster.all::<Deployment>().into_iter();
    let annotation = |deployment: &Value| {
        deployment["spec"]["template"]["metadata"]["annotations"]["c5c3.io/peers"].clone()
    };
    let started = all.filter(|(_, deployment)| annotation(deployment) == "2026.1");
    started.map(|(name, _)| name).collect()
}

fn migrates_online(cluster: &Cluster) -> bool {
    let jobs = jobs(cluster);
    jobs.iter().any(|(task, _)| task.ends_with("-online"))
}

#[test]
fn release_is_complete_once_all_computes_run_it_and_their_callers_have_started_again() {
    let (mut cluster, waits) = waiting_for_computes();
    let told = cluster.value("nova-cell1-compute", "release");
    assert_eq!(told.as_deref(), Some("2026.1"));
    assert_eq!(release(&cluster), "2025.2");
    assert!(!migrates_online(&cluster));
    assert!(started_again(&cluster).is_empty());
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "ComputesUpgraded");
    assert_eq!((&*status, &*reason), ("False", "WaitingForCompute"));
    assert!(
        message.starts_with("waits until nova-compute of all hosts runs 2026.1: "),
        "{message}"
    );

    cluster.finish_job(&waits, "Complete");
    cluster.compose(&NOVA, "nova").unwrap();
    assert_eq!(started_again(&cluster), CALLERS);
    assert!(!migrates_online(&cluster), "the new pods don't run yet");
    cluster.settle(&NOVA, "nova");
    assert_eq!(release(&cluster), "2026.1");
    assert!(migrates_online(&cluster));

    // The Job is gone, and no pod is replaced for that.
    assert_eq!(job(&cluster, "computes"), "");
    assert_eq!(started_again(&cluster), CALLERS);
}

#[test]
fn pods_are_started_again_by_nothing_but_an_upgrade() {
    let mut cluster = given();
    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    cluster.settle(&NOVA, "nova");
    assert!(started_again(&cluster).is_empty());
    assert_eq!(job(&cluster, "computes"), "");
}

/// Its conductor would keep what it took nova-compute for, and its database wouldn't be migrated.
#[test]
fn release_is_not_complete_while_the_database_of_a_cell_is_not_known() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    let waits = upgrade(&mut cluster);
    cluster.delete::<Secret>("nova-cell2-db-credentials");
    cluster.finish_job(&waits, "Complete");
    cluster.settle(&NOVA, "nova");
    assert_eq!(release(&cluster), "2025.2");
    assert!(!migrates_online(&cluster));
    assert!(!started_again(&cluster).contains(&"nova-cell2-conductor"));

    cluster.secret("nova-cell2-db-credentials", &[("password", "db2-s3cret")]);
    cluster.settle(&NOVA, "nova");
    assert_eq!(release(&cluster), "2026.1");
    assert!(started_again(&cluster).contains(&"nova-cell2-conductor"));
}

#[test]
fn computes_that_stay_older_fail_nothing() {
    let (mut cluster, waits) = waiting_for_computes();
    cluster.finish_job(&waits, "Failed");
    cluster.settle(&NOVA, "nova");
    let (status, reason, message) = cluster.condition(&NOVA, "nova", "ComputesUpgraded");
    assert_eq!((&*status, &*reason), ("False", "WaitingForCompute"));
    assert!(
        message.contains("often hosts stay older for six hours")
            && message.contains("it is tried again at"),
        "{message}"
    );
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    assert_eq!(release(&cluster), "2025.2");
}

#[test]
fn computes_upgraded_names_cells_whose_hypervisors_have_not_been_told() {
    let ceph = [
        ("userID", "prod-nova"),
        ("keyring", "[client.prod-nova]\n\tkey = AQ==\n"),
        ("ceph.conf", "[global]\nmon_host = 192.0.2.1\n"),
    ];
    let mut cluster = given();
    cluster.secret("ceph", &ceph);
    change(&mut cluster, |spec| {
        spec["ephemeral"] =
            json!({ "pool": "prod-ephemeral", "cephSecretRef": { "name": "ceph" } });
    });
    cluster.settle(&NOVA, "nova");
    let told = |cluster: &Cluster| cluster.value("nova-cell1-compute", "release").unwrap();
    assert_eq!(told(&cluster), "2025.2");

    cluster.delete::<Secret>("ceph");
    upgrade(&mut cluster);
    assert_eq!(told(&cluster), "2025.2");
    let (_, _, message) = cluster.condition(&NOVA, "nova", "ComputesUpgraded");
    let untold = ". Hypervisors of these cells haven't been told to run 2026.1: cell1 (waits for Secret ceph with Ceph's \
                  configuration and key)";
    assert!(message.ends_with(untold), "{message}");

    cluster.secret("ceph", &ceph);
    cluster.settle(&NOVA, "nova");
    assert_eq!(told(&cluster), "2026.1");
    let (_, _, message) = cluster.condition(&NOVA, "nova", "ComputesUpgraded");
    assert!(!message.contains("haven't been told"), "{message}");
}

/// Nova counts its hosts as long as it isn't deleted.
#[test]
fn computes_upgraded_names_a_removed_cell_that_is_not_deleted_yet() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    change(&mut cluster, |spec| {
        spec["release"] = json!("2026.1");
        spec["cells"] = json!([{ "name": "cell1" }]);
    });
    let delete = run(&mut cluster, "cell-delete");
    upgrade(&mut cluster);
    let nova = cluster.get::<Custom<NovaSpec>>("nova").unwrap();
    assert_eq!(nova["status"]["cells"][0]["name"], "cell1");
    let (_, _, message) = cluster.condition(&NOVA, "nova", "ComputesUpgraded");
    let untold = format!(
        ". Hypervisors of these cells haven't been told to run 2026.1: cell2 (waits for Job {delete}, which runs)"
    );
    assert!(message.ends_with(&untold), "{message}");
}

#[test]
fn release_is_not_taken_back_from_hypervisors() {
    let (mut cluster, _) = waiting_for_computes();
    change(&mut cluster, |spec| spec["release"] = json!("2025.2"));
    let Err(failure) = cluster.compose(&NOVA, "nova") else {
        panic!("conductors would be older than nova-compute");
    };
    assert_eq!(failure.reason(), Reason::TooLateToGoBack);
    let told = cluster.value("nova-cell1-compute", "release");
    assert_eq!(told.as_deref(), Some("2026.1"));
}

#[test]
fn release_is_taken_back_before_hypervisors_are_told_to_run_it() {
    let mut cluster = running();
    let before = cluster.get::<Deployment>("nova").unwrap()["spec"].clone();
    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    for _ in 0..3 {
        cluster.compose(&NOVA, "nova").unwrap();
        cluster.simulate();
    }
    let image = |cluster: &Cluster| {
        let conductor = cluster.get::<Deployment>("nova-conductor").unwrap();
        conductor["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    let new = image(&cluster);
    change(&mut cluster, |spec| spec["release"] = json!("2025.2"));
    cluster.settle(&NOVA, "nova");
    assert_ne!(image(&cluster), new);
    assert_eq!(cluster.get::<Deployment>("nova").unwrap()["spec"], before);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

/// Stands for Nova: hosts have the versions of the first list, after a pause those of the next.
const FAKE: &str = r#"
import contextlib

class Record:
    def __init__(self, host, version, forced_down=False):
        self.host, self.version, self.forced_down = host, version, forced_down

READ = [
    {"cell0": [], "cell1": [Record("b", 69), Record("c", 70)], "cell2": [Record("a", 68), Record("gone", 60, True)]},
    {"cell0": [], "cell1": [Record("b", 70), Record("c", 70)], "cell2": [Record("a", 68), Record("gone", 60, True)]},
    {"cell0": [], "cell1": [Record("b", 70), Record("c", 71)], "cell2": [Record("a", 70), Record("gone", 60, True)]},
]

@contextlib.contextmanager
def target_cell(_, cell):
    yield cell

def pause(_):
    del READ[0]

def get_by_binary(cell, binary, include_disabled):
    assert binary == "nova-compute" and include_disabled
    return READ[0][cell]

service = module("nova.objects.service", SERVICE_VERSION=70)
objects = module(
    "nova.objects",
    service=service,
    register_all=lambda: None,
    CellMappingList=types.SimpleNamespace(get_all=lambda _: list(READ[0])),
    ServiceList=types.SimpleNamespace(get_by_binary=get_by_binary),
)
config = module("nova.config", parse_args=lambda words: print(words[-1]))
context = module("nova.context", get_admin_context=lambda: None, target_cell=target_cell)
module("nova", config=config, context=context, objects=objects)
import time
time.sleep = pause
"#;

#[test]
fn program_waits_for_hosts_that_are_older_and_names_them() {
    let (cluster, waits) = waiting_for_computes();
    let jobs = cluster.all::<Job>();
    let pod = &jobs[waits.as_str()]["spec"]["template"]["spec"];
    let command = pod["containers"][0]["command"].as_array().unwrap();
    let words: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
    let [python, option, script, file] = words[..] else {
        panic!("{words:?}");
    };
    assert_eq!(option, "-c");
    assert_eq!(
        printed(python, FAKE, script, &[file]),
        "/etc/nova/config/nova.conf\nolder than this release: a, b\nolder than this release: a\n"
    );
}
