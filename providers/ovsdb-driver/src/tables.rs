//! The tables that are read and changed: `_Server` (ovsdb-server(5)), and those of the northbound (ovn-nb(5)) and the southbound
//! database (ovn-sb(5)).

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

/// How many changes of the northbound database northd hasn't carried over; 0 where nothing has written to it yet. northd sets `sb_cfg` once
/// the southbound database has what `nb_cfg` counts.
pub(crate) async fn behind(connection: &mut Connection, database: &str) -> Result<i64, Error> {
    let select = select("NB_Global", json!([]), &["nb_cfg", "sb_cfg"]);
    let what = "the query how far northd is";
    let results = connection.transact(database, &[select], what).await?;
    let rows = rows(&results, 0).ok_or_else(|| connection.strange(what))?;
    let [nb, sb] = ["nb_cfg", "sb_cfg"].map(|column| {
        let number = rows.first().and_then(|row| row[column].as_i64());
        number.unwrap_or_default()
    });
    Ok(nb.saturating_sub(sb))
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
        select("Chassis", all(), &["name", "hostname", "other_config"]),
        select(
            "Chassis_Private",
            all(),
            &["name", "nb_cfg", "nb_cfg_timestamp"],
        ),
        select("Encap", all(), &["chassis_name", "ip"]),
    ];
    let what = "the query which nodes have registered";
    let results = connection.transact(database, &operations, what).await?;
    let tables = [0, 1, 2, 3].map(|table| rows(&results, table));
    let [Some(global), Some(chassis), Some(private), Some(encaps)] = tables else {
        return Err(connection.strange(what));
    };
    let number = |row: &Value, column: &str| row[column].as_i64().unwrap_or_default();
    answer.sequence = global.first().map_or(0, |row| number(row, "nb_cfg"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for row in chassis {
        let name = text(&row["name"]);
        let private = private.iter().find(|row| row["name"] == name);
        let encap = encaps.iter().find(|row| row["chassis_name"] == name);
        let number = |column: &str| private.map_or(0, |row| number(row, column));
        let chassis = Chassis {
            hostname: text(&row["hostname"]),
            address: encap.map(|encap| text(&encap["ip"])),
            options: text(value(&row["other_config"], "ovn-cms-options")),
            mappings: text(value(&row["other_config"], "ovn-bridge-mappings")),
            sequence: number("nb_cfg"),
            timestamp: number("nb_cfg_timestamp"),
        };
        answer.chassis.insert(name, chassis);
    }
    Ok(())
}

/// A value of a map, which OVSDB writes as `["map", [[key, value], ..]]` (RFC 7047, 5.1).
fn value<'a>(map: &'a Value, key: &str) -> &'a Value {
    let mut pairs = map[1].as_array().into_iter().flatten();
    let found = pairs.find(|pair| pair[0] == key);
    found.map_or(&Value::Null, |pair| &pair[1])
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
