//! The driver against a server that speaks OVSDB's protocol, in odd pieces.

#![cfg(test)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use provider_ovn::ovsdb::{Access, Answer, Chassis, Member, Query, Removal};
use provider_ovsdb_driver::Ovsdb;
use provider_runtime::{Driver, DriverError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

type Transactions = Arc<Mutex<Vec<Value>>>;

/// Serves a member that answers each transaction by its first table; notes the changes.
async fn member(leader: bool, index: i64, changes: Transactions) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let changes = Arc::clone(&changes);
            tokio::spawn(async move {
                let mut received = Vec::new();
                // A server asks whether a client is still there, at any time.
                let probe = json!({ "method": "echo", "params": [], "id": "echo" });
                stream
                    .write_all(probe.to_string().as_bytes())
                    .await
                    .unwrap();
                while stream
                    .read_buf(&mut received)
                    .await
                    .is_ok_and(|read| read > 0)
                {
                    let mut messages =
                        serde_json::Deserializer::from_slice(&received).into_iter::<Value>();
                    let complete: Vec<Value> = messages.by_ref().map_while(Result::ok).collect();
                    let read = messages.byte_offset();
                    received.drain(..read);
                    for message in complete
                        .iter()
                        .filter(|message| message["method"] == "transact")
                    {
                        let operation = &message["params"][1];
                        if operation["op"] == "delete" {
                            changes.lock().unwrap().push(message["params"].clone());
                        }
                        let answer = json!({ "result": results(operation, leader, index), "error": null, "id": message["id"] });
                        for piece in answer.to_string().as_bytes().chunks(7) {
                            stream.write_all(piece).await.unwrap();
                            stream.flush().await.unwrap();
                        }
                    }
                }
            });
        }
    });
    port
}

fn results(operation: &Value, leader: bool, index: i64) -> Value {
    match operation["table"].as_str() {
        Some("Database") => {
            json!([{ "rows": [{ "connected": true, "leader": leader, "index": index }] }])
        }
        Some("NB_Global") => json!([{ "rows": [{ "nb_cfg": 9, "sb_cfg": 7 }] }]),
        Some("SB_Global") => json!([
            { "rows": [{ "nb_cfg": 7 }] },
            { "rows": [
                { "name": "one", "hostname": "node-1", "other_config": ["map", [
                    ["ovn-bridge-mappings", "physnet1:br-ex"], ["ovn-cms-options", "enable-chassis-as-gw"],
                ]] },
                { "name": "two", "hostname": "node-2", "other_config": ["map", []] },
            ] },
            { "rows": [{ "name": "one", "nb_cfg": 7, "nb_cfg_timestamp": 1000 }] },
            { "rows": [{ "chassis_name": "one", "ip": "192.0.2.1" }] },
        ]),
        _ if operation["op"] == "delete" => json!([{ "count": 1 }, { "count": 1 }]),
        _ => json!([{ "error": "unknown table" }]),
    }
}

fn access(ports: &[(&str, u16)]) -> Access {
    let members = ports.iter();
    let members = members.map(|(pod, port)| ((*pod).to_owned(), ("127.0.0.1".to_owned(), *port)));
    Access {
        database: "OVN_Southbound".to_owned(),
        members: members.collect(),
        tls: None,
    }
}

/// Binds a port, at which nobody listens: it refuses connections while the socket exists.
fn closed() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

fn query(access: Access) -> String {
    let chassis = access.database == "OVN_Southbound";
    serde_json::to_string(&Query { access, chassis }).unwrap()
}

#[tokio::test]
async fn members_and_nodes_are_read_though_a_member_does_not_answer() {
    let changes = Transactions::default();
    let (_socket, closed) = closed();
    let access = access(&[
        ("sb-0", member(false, 10, changes.clone()).await),
        ("sb-1", member(true, 12, changes).await),
        ("sb-2", closed),
    ]);
    let answer = Ovsdb.observe(&query(access)).await.unwrap();
    let answer: Answer = serde_json::from_value(answer).unwrap();
    let member = |leader, index| Member {
        connected: true,
        leader,
        index,
    };
    let one = Chassis {
        hostname: "node-1".to_owned(),
        address: Some("192.0.2.1".to_owned()),
        options: "enable-chassis-as-gw".to_owned(),
        mappings: "physnet1:br-ex".to_owned(),
        sequence: 7,
        timestamp: 1000,
    };
    let two = Chassis {
        hostname: "node-2".to_owned(),
        ..Chassis::default()
    };
    let expected = Answer {
        members: BTreeMap::from([
            ("sb-0".to_owned(), member(false, 10)),
            ("sb-1".to_owned(), member(true, 12)),
        ]),
        sequence: 7,
        behind: 0,
        chassis: BTreeMap::from([("one".to_owned(), one), ("two".to_owned(), two)]),
    };
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn northbound_database_says_how_far_behind_northd_is() {
    let mut access = access(&[("nb-0", member(true, 12, Transactions::default()).await)]);
    access.database = "OVN_Northbound".to_owned();
    let answer = Ovsdb.observe(&query(access)).await.unwrap();
    let answer: Answer = serde_json::from_value(answer).unwrap();
    assert_eq!((answer.behind, answer.chassis.len()), (2, 0));
}

#[tokio::test]
async fn node_is_removed_with_its_private_row_by_the_leader() {
    let (follower, leader) = (Transactions::default(), Transactions::default());
    let access = access(&[
        ("sb-0", member(false, 10, follower.clone()).await),
        ("sb-1", member(true, 12, leader.clone()).await),
    ]);
    let removal = Removal {
        access,
        system_id: "one".to_owned(),
    };
    let removal = serde_json::to_string(&removal).unwrap();
    Ovsdb.call(&removal).await.unwrap();
    let delete =
        |table| json!({ "op": "delete", "table": table, "where": [["name", "==", "one"]] });
    let expected = json!([
        "OVN_Southbound",
        delete("Chassis"),
        delete("Chassis_Private")
    ]);
    assert_eq!(*leader.lock().unwrap(), [expected]);
    assert!(follower.lock().unwrap().is_empty());
}

#[tokio::test]
async fn database_without_an_answer_is_unavailable() {
    let (_socket, closed) = closed();
    let access = access(&[("sb-0", closed)]);
    let failed = Ovsdb.observe(&query(access)).await;
    assert!(
        matches!(failed, Err(DriverError::Unavailable(_))),
        "{failed:?}"
    );
}
