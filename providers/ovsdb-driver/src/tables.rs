//! The tables that are read and changed: `_Server` (ovsdb-server(5)) and those of the southbound database (ovn-sb(5)).

use provider_ovn::ovsdb::{Answer, Chassis, Member};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::error::Error;

/// What a member says of itself.
pub(crate) async fn member(connection: &mut Connection, database: &str) -> Result<Member, Error> {
    let columns = ["connected", "leader", "index"];
    let select = select("Database", json!([["name", "==", database]]), &columns);
    let what = "the query how the database is";
    let results = connection.transact("_Server", &[select], what).await?;
    let rows = rows(&results, 0).ok_or_else(|| connection.strange(what))?;
    let row = rows.first().ok_or_else(|| connection.strange(what))?;
    Ok(Member {
        connected: row["connected"] == true,
        leader: row["leader"] == true,
        // A member without an index has an empty set there.
        index: row["index"].as_i64().unwrap_or_default(),
    })
}

/// Adds the nodes that have registered.
pub(crate) async fn chassis(
    connection: &mut Connection,
    database: &str,
    answer: &mut Answer,
) -> Result<(), Error> {
    let all = || json!([]);
    let operations = [
        select("SB_Global", all(), &["nb_cfg"]),
        select("Chassis", all(), &["name"]),
        select(
            "Chassis_Private",
            all(),
            &["name", "nb_cfg", "nb_cfg_timestamp"],
        ),
    ];
    let what = "the query which nodes have registered";
    let results = connection.transact(database, &operations, what).await?;
    let tables = [0, 1, 2].map(|table| rows(&results, table));
    let [Some(global), Some(chassis), Some(private)] = tables else {
        return Err(connection.strange(what));
    };
    let number = |row: &Value, column: &str| row[column].as_i64().unwrap_or_default();
    answer.sequence = global.first().map_or(0, |row| number(row, "nb_cfg"));
    for name in chassis.iter().filter_map(|row| row["name"].as_str()) {
        let row = private.iter().find(|row| row["name"] == name);
        let chassis = row.map(|row| Chassis {
            sequence: number(row, "nb_cfg"),
            timestamp: number(row, "nb_cfg_timestamp"),
        });
        let chassis = chassis.unwrap_or_default();
        answer.chassis.insert(name.to_owned(), chassis);
    }
    Ok(())
}

/// Removes a node. What refers to it, ports that are bound there for instance, loses the reference.
pub(crate) async fn remove(
    connection: &mut Connection,
    database: &str,
    system_id: &str,
) -> Result<(), Error> {
    let operations = ["Chassis", "Chassis_Private"].map(
        |table| json!({ "op": "delete", "table": table, "where": [["name", "==", system_id]] }),
    );
    let what = "the removal of a node";
    connection.transact(database, &operations, what).await?;
    Ok(())
}

fn select(table: &str, condition: Value, columns: &[&str]) -> Value {
    json!({ "op": "select", "table": table, "where": condition, "columns": columns })
}

fn rows(results: &[Value], table: usize) -> Option<&Vec<Value>> {
    results.get(table)?["rows"].as_array()
}
