//! The scripts of pods, with programs of OVN that only record how they are called.

#![cfg(test)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const RELAY: &str = include_str!("../src/daemon.sh");
const MEMBER: &str = include_str!("../src/member/member.sh");
const BACKUP: &str = include_str!("../src/backup.sh");

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

    /// Runs a script with its folders replaced, and returns what it said.
    fn run(&self, script: &str, mode: &str, variables: &[(&str, &str)]) -> String {
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
        String::from_utf8(output.stderr).unwrap()
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

/// The last transaction of a leader whose election timer should be 5000 milliseconds.
fn transaction_of_leader(name: &str, database: &str, status: &str) -> Value {
    let record = r#"[ "$2" != transact ] || printf %s "$4" > "$FOLDER/transaction.json""#;
    let pod = Pod::new(
        name,
        &[
            ("ovsdb-client", record),
            ("ovsdb-tool", "exit 1"),
            ("ovs-appctl", "exit 2"),
        ],
    );
    for (setting, value) in [
        ("replicas", "3"),
        ("election-timer", "5000"),
        ("inactivity-probe", "60000"),
    ] {
        fs::write(pod.0.join(setting), value).unwrap();
    }
    let service = format!("ovn-{database}");
    let member = format!("{service}-0");
    pod.run(
        &format!("{MEMBER}\nlead '{status}'"),
        "none",
        &[
            ("DATABASE", database),
            ("POD_NAME", member.as_str()),
            ("PROTOCOL", "tcp"),
            ("DOMAIN", service.as_str()),
            ("RAFT_PORT", "6643"),
        ],
    );
    pod.json("transaction.json")
}

#[test]
fn northbound_leader_tells_northd_when_to_probe() {
    let probe = json!(["map", [["northd_probe_interval", "60000"]]]);
    assert_eq!(
        transaction_of_leader("leader", "nb", "Election timer: 5000"),
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

/// Two servers, as `cluster/status` of the leader has them.
const SERVERS: &str = "Servers:
    5c1f (5c1f at tcp:ovn-sb-1.ovn-sb:6643) next_index=9 match_index=8 last msg 12 ms ago
    1a2b (1a2b at tcp:ovn-sb-0.ovn-sb:6643) (self) next_index=9 match_index=8";

#[test]
fn southbound_leader_lists_the_servers_of_the_cluster_where_the_list_differs() {
    let status = format!("Election timer: 5000\n{SERVERS}");
    let list = json!(["map", [["c5c3-members", "1a2b 5c1f"]]]);
    assert_eq!(
        transaction_of_leader("lists", "sb", &status),
        json!(["OVN_Southbound", {
            "op": "mutate",
            "table": "SB_Global",
            "where": [["external_ids", "excludes", list]],
            "mutations": [
                ["external_ids", "delete", ["set", ["c5c3-members"]]],
                ["external_ids", "insert", list],
            ],
        }])
    );
}

#[test]
fn leader_works_while_the_election_timer_changes() {
    let status = format!("Election timer: 1000 (changing to 2000)\n{SERVERS}");
    let transaction = transaction_of_leader("changes", "sb", &status);
    assert_eq!(transaction[1]["table"], "SB_Global");
}

/// Sixty looks of a member at its cluster. Each text has the tens of looks at which something is so.
#[derive(Default)]
struct Looks {
    /// The others have a majority.
    majority: &'static str,
    /// The member leads them. At all other looks it is disconnected.
    leads: &'static str,
    /// The others' list of servers has the member.
    listed: &'static str,
    /// The others' list of servers lacks the member. At all other looks they have no list.
    missing: &'static str,
}

impl Looks {
    /// How often the member looks until it deletes its database, none where it keeps it, and what it says.
    fn until_deletion(&self, name: &str) -> (Option<u32>, String) {
        let look = r#"
            looks=$(($(cat "$FOLDER/looks") + 1))
            echo "$looks" > "$FOLDER/looks"
            [ "$looks" -le 60 ]"#;
        let answer = r#"
            tens=$(($(cat "$FOLDER/looks") / 10))
            at() { case " $1 " in *" $tens "*) ;; *) return 1 ;; esac; }
            case "$2 $4" in
            'query ["_Server"'*) if at "$MAJORITY"; then echo OVN_Northbound; fi ;;
            'query ["OVN_Northbound"'*)
                keys='["neutron","1111"]'
                if at "$LISTED"; then keys='["c5c3-members","1111 2222 3333"],'$keys; fi
                if at "$MISSING"; then keys='["c5c3-members","2222 3333"],'$keys; fi
                echo '[{"rows":[{"external_ids":["map",['"$keys"']]}]}]'
                ;;
            esac"#;
        let status = r#"
            echo 'Server ID: 1111 (11112222-3333-4444-5555-666677778888)'
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
        let said = pod.run(
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
                ("MAJORITY", self.majority),
                ("LEADS", self.leads),
                ("LISTED", self.listed),
                ("MISSING", self.missing),
            ],
        );
        let looks = fs::read_to_string(pod.0.join("looks")).unwrap();
        let is_kept = pod.0.join("nb.db").exists();
        ((!is_kept).then(|| looks.trim().parse().unwrap()), said)
    }
}

const ALWAYS: &str = "0 1 2 3 4 5 6";

#[test]
fn member_deletes_its_database_after_a_minute_in_which_the_others_have_a_majority_without_it() {
    let removed = |name: &str, majority, leads| {
        let looks = Looks {
            majority,
            leads,
            missing: ALWAYS,
            ..Looks::default()
        };
        looks.until_deletion(name).0
    };
    assert_eq!(removed("removed", ALWAYS, ""), Some(12));
    assert_eq!(removed("cut-off", "3 4 5 6", ""), Some(41));
    assert_eq!(removed("flaps", "1 3 5", ""), None);
    assert_eq!(removed("led", ALWAYS, "1"), Some(31));
}

#[test]
fn member_that_others_list_keeps_its_database_and_says_once_which_port_to_check() {
    let looks = Looks {
        majority: ALWAYS,
        listed: ALWAYS,
        ..Looks::default()
    };
    let (deletion, said) = looks.until_deletion("listed");
    assert_eq!(deletion, None);
    let message = "is disconnected, and still a member: \
                   check that members reach each other at port 6643";
    assert_eq!(said, format!("member ovn-nb-0: {message}\n"));
}

#[test]
fn member_keeps_its_database_while_others_have_no_list_of_servers() {
    let looks = Looks {
        majority: ALWAYS,
        ..Looks::default()
    };
    let (deletion, said) = looks.until_deletion("no-list");
    assert_eq!(deletion, None);
    let message = "is disconnected and keeps its database: \
                   tcp:ovn-nb-1.ovn-nb:6641 has no list of the cluster's servers";
    assert_eq!(said, format!("member ovn-nb-0: {message}\n"));
}

#[test]
fn member_that_lists_lack_for_less_than_a_minute_keeps_its_database() {
    let looks = Looks {
        majority: ALWAYS,
        listed: "0 2 4 6",
        missing: "1 3 5",
        ..Looks::default()
    };
    assert_eq!(looks.until_deletion("old-list").0, None);
}

/// Takes backups in a folder with files, where ovsdb-client does this. Returns whether it succeeded, and the files that are left.
fn back_up(name: &str, client: &str, keep: &str, files: &[&str]) -> (bool, Vec<String>) {
    let pod = Pod::new(name, &[("ovsdb-client", client)]);
    let folder = pod.0.join("backups");
    fs::create_dir_all(&folder).unwrap();
    for file in files {
        fs::write(folder.join(file), "").unwrap();
    }
    let script = BACKUP.replace("/var/lib/ovn-backup", folder.to_str().unwrap());
    let path = format!("{}:{}", pod.0.display(), std::env::var("PATH").unwrap());
    let servers = [("NORTHBOUND", "tcp:nb:6641"), ("SOUTHBOUND", "tcp:sb:6642")];
    let status = Command::new("sh")
        .args(["-c", &script])
        .env("PATH", path)
        .env("PROTOCOL", "tcp")
        .env("KEEP", keep)
        .envs(servers)
        .status()
        .unwrap();
    let left = fs::read_dir(&folder).unwrap();
    let left = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.collect();
    left.sort();
    (status.success(), left)
}

const BACKUPS: [&str; 4] = [
    "nb-20260101T020000Z.db",
    "nb-20260102T020000Z.db",
    "sb-20260101T020000Z.db",
    "sb-20260102T020000Z.db",
];

#[test]
fn backup_deletes_the_oldest_of_each_database() {
    let (succeeded, left) = back_up("backup-keeps", "echo data", "2", &BACKUPS);
    assert!(succeeded);
    assert_eq!(left.len(), 4, "{left:?}");
    for kept in [BACKUPS[1], BACKUPS[3]] {
        assert!(left.iter().any(|file| file == kept), "{left:?}");
    }
}

/// On a full volume no backup succeeds, until someone lowers the number.
#[test]
fn backup_that_fails_leaves_no_part_and_keeps_no_more_than_it_is_told() {
    let (succeeded, left) = back_up("backup-fails", "echo part; exit 1", "1", &BACKUPS);
    assert!(!succeeded);
    assert_eq!(left, [BACKUPS[1], BACKUPS[3]]);
}
