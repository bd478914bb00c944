//! Servers that move between hosts without running: the key of a share, and the agent that has it.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Pod, Secret};
use provider_composer::Key;
use provider_composer_testing::Cluster;
use serde_json::{Value, json};

use crate::fixture::*;
use crate::nova::started;

fn secret_key() -> Key {
    Key::of::<Secret>("agents-prod", "nova-migration")
}

fn pod(cluster: &Cluster, agent: &str) -> Value {
    let set = cluster.get(&Key::of::<DaemonSet>("agents-prod", agent));
    set.unwrap()["spec"]["template"]["spec"].clone()
}

/// Puts the configuration of Nova with an SSH key of the cell, in Base64; an earlier nova-operator publishes none.
fn put_cell_key(cluster: &mut Cluster, key: Option<&str>) {
    let mut data = json!({ "nova.conf": "c2VjcmV0", "release": "MjAyNS4y" });
    if let Some(key) = key {
        data["migration.key"] = json!(key);
    }
    let labels = json!({ "c5c3.io/agents": "nova", "c5c3.io/cell": "cell1" });
    put_secret(cluster, "nova-cell1-compute", labels, data);
}

/// Puts a Secret that isn't of the cell, such as that of a share from before cells had keys.
fn put_own_secret(cluster: &mut Cluster, data: &Value) {
    let secret = json!({ "data": data });
    put::<Secret>(cluster, "agents-prod", "nova-migration", &secret);
}

/// The key that hosts have, and whether the share says that it is the cell's.
fn key_of_hosts(cluster: &Cluster) -> (Value, Value) {
    let key = cluster.get(&secret_key()).unwrap()["data"]["ssh-privatekey"].clone();
    let share = cluster.get(&share_key("prod")).unwrap();
    (key, share["status"]["cellKey"].clone())
}

/// So servers move between the pools of a cell.
#[test]
fn hosts_have_the_key_of_their_cell_and_follow_it() {
    let mut cluster = settled();
    assert_eq!(key_of_hosts(&cluster), (json!("a2V5"), json!(true)));
    let configuration = Key::of::<Secret>("agents-prod", "nova");
    let files = cluster.get(&configuration).unwrap()["data"].clone();
    assert_eq!(files, json!({ "nova.conf": "c2VjcmV0" }));
    let pods = |cluster: &Cluster| ["nova-compute", "nova-migration"].map(|set| pod(cluster, set));
    let before = pods(&cluster);

    put_cell_key(&mut cluster, Some("bmV4dA=="));
    settle(&mut cluster, "prod");
    assert_eq!(key_of_hosts(&cluster), (json!("bmV4dA=="), json!(true)));
    assert_eq!(pods(&cluster), before, "they read it again");

    put_cell_key(&mut cluster, None);
    settle(&mut cluster, "prod");
    assert_eq!(key_of_hosts(&cluster), (json!("bmV4dA=="), json!(true)));
    delete_nova(&mut cluster);
    settle(&mut cluster, "prod");
    assert_eq!(key_of_hosts(&cluster), (json!("bmV4dA=="), json!(true)));
}

/// Another key would fail moves that are under way.
#[test]
fn hosts_with_a_key_of_their_own_keep_it_until_its_secret_is_deleted() {
    let mut cluster = settled();
    put_own_secret(&mut cluster, &json!({ "ssh-privatekey": "b3du" }));
    let composed = settle(&mut cluster, "prod");
    assert!(composed.desired.wants(&secret_key()));
    assert_eq!(key_of_hosts(&cluster), (json!("b3du"), json!(false)));
    put_cell_key(&mut cluster, Some("bmV4dA=="));
    settle(&mut cluster, "prod");
    assert_eq!(key_of_hosts(&cluster), (json!("b3du"), json!(false)));
    cluster.delete(&secret_key());
    settle(&mut cluster, "prod");
    assert_eq!(key_of_hosts(&cluster), (json!("bmV4dA=="), json!(true)));
}

#[test]
fn hosts_wait_for_the_key_of_their_cell_and_the_share_says_where_it_comes_from() {
    let mut cluster = cluster();
    put_cell_key(&mut cluster, None);
    settle(&mut cluster, "prod");
    assert_eq!(cluster.get(&secret_key()), None);
    assert_eq!(
        condition(&cluster, "prod", "MigrationReady").join(": "),
        "False: WaitingForConfiguration: waits for the SSH key of Nova's cell, migration.key in the Secret with Nova's configuration: if it \
         has none, upgrade the nova-operator, and where you copy the Secret yourself, copy it again"
    );
    put_cell_key(&mut cluster, Some("a2V5"));
    settle(&mut cluster, "prod");
    assert_eq!(key_of_hosts(&cluster), (json!("a2V5"), json!(true)));
}

#[test]
fn secret_without_a_key_is_named_and_stays() {
    let (mut cluster, _) = started();
    run_agents(&mut cluster, "prod");
    settle(&mut cluster, "prod");
    assert_eq!(condition(&cluster, "prod", "MigrationReady")[0], "True");
    put_own_secret(&mut cluster, &json!({ "a": "YQ==" }));
    settle(&mut cluster, "prod");
    assert_eq!(
        condition(&cluster, "prod", "MigrationReady").join(": "),
        "False: InvalidSecret: the Secret nova-migration of the namespace agents-prod has no private key in its key ssh-privatekey: delete the Secret, and \
         the operator creates it anew"
    );
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    assert_eq!(
        cluster.get(&secret_key()).unwrap()["data"],
        json!({ "a": "YQ==" })
    );
}

/// Nodes keep the image that they have of a tag, so that an image with OpenSSH needs another tag.
#[test]
fn nodes_whose_image_has_no_ssh_server_are_named_with_what_to_do() {
    let (mut cluster, _) = started();
    run_agents(&mut cluster, "prod");
    cluster.set_status(
        &Key::of::<DaemonSet>("agents-prod", "nova-migration"),
        json!({
            "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 0,
            "currentNumberScheduled": 2, "numberMisscheduled": 0,
        }),
    );
    let ended = |message: Value| {
        let agent = json!({
            "name": "nova-migration", "image": "", "imageID": "", "ready": false, "restartCount": 3,
            "state": { "waiting": { "reason": "CrashLoopBackOff" } },
            "lastState": { "terminated": { "exitCode": 1, "message": message } },
        });
        json!({ "conditions": [{ "type": "Ready", "status": "False" }], "containerStatuses": [agent] })
    };
    let key = |node: &str| Key::of::<Pod>("agents-prod", &format!("nova-migration-{node}"));
    let without = "the image of Nova lacks /usr/sbin/sshd\n";
    cluster.set_status(&key("node-a"), ended(json!(without)));
    cluster.set_status(&key("node-b"), ended(json!(without)));
    settle(&mut cluster, "prod");
    let [status, reason, message] = condition(&cluster, "prod", "MigrationReady");
    assert_eq!([&*status, &*reason], ["False", "RequirementMissing"]);
    assert_eq!(
        message,
        "node-a, node-b: the image of Nova lacks /usr/sbin/sshd"
    );
    assert_eq!(condition(&cluster, "prod", "Ready")[0], "True");
    for node in ["node-a", "node-b"] {
        cluster.set_status(&key(node), ended(Value::Null));
    }
    settle(&mut cluster, "prod");
    let [_, reason, message] = condition(&cluster, "prod", "MigrationReady");
    assert_eq!(reason, "Starting");
    assert!(message.contains("0 of 2 are ready"), "{message}");
}

/// Whoever has the key must not reach servers on the node: the process is no administrator, and sees of the node what it needs.
#[test]
fn ssh_server_has_no_rights_on_its_node() {
    let cluster = settled();
    let pod = pod(&cluster, "nova-migration");
    let container = &pod["containers"][0];
    assert_eq!(
        container["securityContext"],
        json!({
            "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "readOnlyRootFilesystem": true,
            "runAsUser": 42424, "runAsGroup": 42424, "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" },
        })
    );
    let volumes = pod["volumes"].as_array().unwrap().iter();
    let paths: Vec<&Value> = volumes
        .filter_map(|volume| volume.pointer("/hostPath/path"))
        .collect();
    assert_eq!(paths, ["/var/lib/nova"]);
    assert_eq!(pod.get("hostPID"), None);
}

/// A nova-compute that is replaced may fail the servers that it is building, and one that waits for the key builds none.
#[test]
fn nova_compute_neither_waits_for_the_key_nor_restarts_for_it() {
    let mut cluster = settled();
    let before = pod(&cluster, "nova-compute");
    let volumes = before["volumes"].as_array().unwrap();
    let key = volumes.iter().find(|volume| volume["name"] == "migration");
    // OpenSSH refuses a key of the user's that others may read: 0400.
    let secret = json!({ "secretName": "nova-migration", "optional": true, "defaultMode": 256 });
    assert_eq!(key.unwrap()["secret"], secret);
    cluster.delete(&secret_key());
    settle(&mut cluster, "prod");
    assert_eq!(pod(&cluster, "nova-compute"), before);
}
