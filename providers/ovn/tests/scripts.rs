//! The scripts of pods, with programs of OVN that only record how they are called.

#![cfg(test)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const RELAY: &str = include_str!("../src/daemon.sh");
const MEMBER: &str = include_str!("../src/member/member.sh");

/// A folder instead of a pod's, with programs.
struct Pod(PathBuf);

impl Pod {
    fn new(name: &str, programs: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (program, text) in programs {
            install(&folder.join(program), &format!("#!/bin/sh\n{text}\n"));
        }
        Self(folder)
    }

    /// Runs a script with its folders replaced.
    fn run(&self, script: &str, mode: &str, variables: &[(&str, &str)]) {
        let folder = self.0.to_str().unwrap();
        let script = script
            .replace("/run/ovn", folder)
            .replace("/var/lib/ovn", folder)
            .replace("/etc/ovn/cluster", folder);
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-c", &script, "script", mode])
            .env("PATH", path)
            .env("FOLDER", folder)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.0.join(name)).unwrap()).unwrap()
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a program by a process of its own. One that this process writes may be busy (`ETXTBSY`): a process that another test starts at
/// that moment inherits the file, open for writing.
fn install(program: &Path, text: &str) {
    let mut process = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(program)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    assert!(process.wait().unwrap().success());
}

#[test]
fn relay_probes_its_clients_and_the_members_as_timers_say() {
    let pod = Pod::new("relay", &[("ovsdb-server", "")]);
    let members = "ssl:ovn-sb-0.ovn-sb:6642,ssl:ovn-sb-1.ovn-sb:6642";
    pod.run(
        RELAY,
        "relay",
        &[
            ("POD_IP", "192.0.2.1"),
            ("PROTOCOL", "ssl"),
            ("PORT", "6642"),
            ("SOUTHBOUND", members),
            ("INACTIVITY_PROBE", "60000"),
        ],
    );
    let probe = json!({ "inactivity-probe": 60000 });
    let configuration = pod.json("relay.json");
    assert_eq!(configuration["remotes"]["pssl:6642:0.0.0.0"], probe);
    let relayed = json!({ "service-model": "relay", "source": { members: probe } });
    assert_eq!(configuration["databases"]["OVN_Southbound"], relayed);
}

#[test]
fn northbound_leader_tells_northd_when_to_probe() {
    let record = r#"[ "$2" != transact ] || printf %s "$4" > "$FOLDER/transaction.json""#;
    let pod = Pod::new(
        "leader",
        &[("ovsdb-client", record), ("ovsdb-tool", "exit 1")],
    );
    for (setting, value) in [
        ("replicas", "3"),
        ("election-timer", "5000"),
        ("inactivity-probe", "60000"),
    ] {
        fs::write(pod.0.join(setting), value).unwrap();
    }
    pod.run(
        &format!("{MEMBER}\nlead 'Election timer: 5000'"),
        "none",
        &[
            ("DATABASE", "nb"),
            ("POD_NAME", "ovn-nb-0"),
            ("PROTOCOL", "tcp"),
            ("DOMAIN", "ovn-nb"),
            ("RAFT_PORT", "6643"),
        ],
    );
    let probe = json!(["map", [["northd_probe_interval", "60000"]]]);
    assert_eq!(
        pod.json("transaction.json"),
        json!(["OVN_Northbound", {
            "op": "mutate",
            "table": "NB_Global",
            "where": [["options", "excludes", probe]],
            "mutations": [
                ["options", "delete", ["set", ["northd_probe_interval"]]],
                ["options", "insert", probe],
            ],
        }])
    );
}

/// How often a member looks at its cluster until it deletes its database; none where it keeps it through sixty looks. Each text has the tens
/// of looks at which the others have a majority, and at which the member leads them. At all other looks it is disconnected.
fn looks_until_deletion(name: &str, majority: &str, leads: &str) -> Option<u32> {
    let look = r#"
        looks=$(($(cat "$FOLDER/looks") + 1))
        echo "$looks" > "$FOLDER/looks"
        [ "$looks" -le 60 ]"#;
    let answer = r#"
        case " $MAJORITY " in
        *" $(($(cat "$FOLDER/looks") / 10)) "*) echo OVN_Northbound ;;
        esac"#;
    let status = r#"
        case " $LEADS " in
        *" $(($(cat "$FOLDER/looks") / 10)) "*) printf 'Role: leader\nElection timer: 5000\n' ;;
        *) echo 'Status: disconnected from the cluster (election timeout)' ;;
        esac"#;
    let pod = Pod::new(
        name,
        &[
            ("sleep", look),
            ("getent", ""),
            ("ovsdb-client", answer),
            ("ovsdb-tool", "exit 1"),
            ("ovs-appctl", status),
        ],
    );
    for (file, text) in [
        ("looks", "0"),
        ("replicas", "3"),
        ("election-timer", "5000"),
        ("inactivity-probe", "60000"),
        ("nb.db", ""),
    ] {
        fs::write(pod.0.join(file), text).unwrap();
    }
    pod.run(
        &format!("{MEMBER}\ntend"),
        "none",
        &[
            ("DATABASE", "nb"),
            ("POD_NAME", "ovn-nb-0"),
            ("POD_IP", "192.0.2.1"),
            ("PROTOCOL", "tcp"),
            ("DOMAIN", "ovn-nb"),
            ("PORT", "6641"),
            ("RAFT_PORT", "6643"),
            ("MAJORITY", majority),
            ("LEADS", leads),
        ],
    );
    let looks = fs::read_to_string(pod.0.join("looks")).unwrap();
    let is_kept = pod.0.join("nb.db").exists();
    (!is_kept).then(|| looks.trim().parse().unwrap())
}

#[test]
fn member_deletes_its_database_after_a_minute_in_which_only_the_others_have_a_majority() {
    let always = "0 1 2 3 4 5 6";
    assert_eq!(looks_until_deletion("removed", always, ""), Some(12));
    assert_eq!(looks_until_deletion("cut-off", "3 4 5 6", ""), Some(41));
    assert_eq!(looks_until_deletion("flaps", "1 3 5", ""), None);
    assert_eq!(looks_until_deletion("led", always, "1"), Some(31));
}
