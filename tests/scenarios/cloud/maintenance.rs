//! What an administrator does with the databases of Nova and OVN: repairs, deletes a cell, and archives rows.

use std::collections::BTreeSet;

use lab::{Cloud, Context, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::{Value, json};

use super::backup::asked;

const CRON_JOB: Kind = kind("batch/v1", "CronJob");
const DATABASE: Kind = kind("k8s.mariadb.com/v1alpha1", "Database");
const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");
const NEUTRON: Kind = kind("neutron.openstack.c5c3.io/v1alpha1", "Neutron");
const NOVA: Kind = kind("nova.openstack.c5c3.io/v1alpha1", "Nova");

const NOVA_NAME: &str = "openstack/nova";
const NEUTRON_NAME: &str = "openstack/neutron";

/// Counts the servers in the first cell's database, those in its archive, and those of all cells in Nova's API database.
const SERVERS: &str = "SELECT (SELECT COUNT(*) FROM nova.instances), (SELECT COUNT(*) FROM nova.shadow_instances), \
     (SELECT COUNT(*) FROM nova_api.instance_mappings)";

/// Does each once, after three servers were deleted.
pub async fn all(cloud: &Cloud) -> Result<()> {
    repairs_the_northbound_database(cloud).await?;
    deletes_a_cell(cloud).await?;
    archives_rows(cloud).await
}

/// A port that the northbound database has lost returns, and no other one comes or goes.
async fn repairs_the_northbound_database(cloud: &Cloud) -> Result<()> {
    let member = format!("{}/ovn-nb-0", cloud.namespace());
    let member = cloud.node.container(&member).await?;
    let ports = |condition: &[&str]| -> Result<BTreeSet<String>> {
        let find = [
            "ovn-nbctl",
            "--timeout=30",
            "--bare",
            "--columns=name",
            "find",
            "Logical_Switch_Port",
        ];
        let found = member.run(&[&find[..], condition].concat())?;
        let names = found.lines().filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    };
    let before = ports(&[])?;
    // Each network has one, for the metadata API.
    let lost = ports(&["type=localport"])?;
    let lost = lost
        .first()
        .context("no network has a port of the metadata API")?;
    member.run(&["ovn-nbctl", "--timeout=30", "lsp-del", lost])?;
    let asks = json!({ "neutron.openstack.c5c3.io/repair-ovn": "1" });
    let asks = json!({ "metadata": { "annotations": asks } });
    cloud.cluster.edit(NEUTRON, NEUTRON_NAME, asks).await?;
    let what = "OVN's northbound database is repaired";
    eventually(what, minutes(5), async || {
        let neutron = cloud.cluster.get(NEUTRON, NEUTRON_NAME).await?;
        is(&neutron, "OVNRepaired")
    })
    .await?;
    let after = ports(&[])?;
    ensure!(
        after == before,
        "{lost} was lost of {before:?}, and there are {after:?}"
    );
    Ok(())
}

/// A cell is deleted with the record of a deleted server. Its database stays, and so do all rows of the other cell.
async fn deletes_a_cell(cloud: &Cloud) -> Result<()> {
    has_cells(cloud, &["cell1", "cell2"]).await?;
    // A share can't change its cell, so the new cell has no host, and gets the record of a server that the other one had.
    let moves = "UPDATE nova_api.instance_mappings SET cell_id = (SELECT id FROM nova_api.cell_mappings WHERE name = 'cell2') \
         ORDER BY id LIMIT 1";
    asked(cloud, moves).await?;
    has_cells(cloud, &["cell1"]).await?;
    // Only once mariadb-operator has let the object go, it is certain that it doesn't drop the database.
    let objects = [
        (DEPLOYMENT, "openstack/nova-cell2-conductor"),
        (DATABASE, "openstack/nova-cell2"),
    ];
    eventually("the cell's objects are deleted", minutes(2), async || {
        for (kind, name) in objects {
            cloud.cluster.gone(kind, name).await?;
        }
        Ok(())
    })
    .await?;
    let left = "SELECT GROUP_CONCAT(name ORDER BY name) FROM nova_api.cell_mappings; SHOW DATABASES LIKE 'nova_cell2'";
    let left = asked(cloud, left).await?;
    ensure!(left == "cell0,cell1\nnova_cell2", "cells: {left}");
    let servers = asked(cloud, SERVERS).await?;
    ensure!(servers == "3\t0\t2", "servers: {servers}");
    Ok(())
}

/// Gives Nova these cells, of which a ControlPlane itself wants the first alone, and waits until it has them and no others.
async fn has_cells(cloud: &Cloud, names: &[&str]) -> Result<()> {
    let wanted = names.iter().map(|name| json!({ "name": name }));
    let ready = names.iter();
    let ready = ready.map(|name| json!({ "name": name, "status": "Ready" }));
    let (wanted, ready) = (Value::from_iter(wanted), Value::from_iter(ready));
    let change = json!({ "spec": { "cells": wanted } });
    cloud.cluster.edit(NOVA, NOVA_NAME, change).await?;
    let what = format!("Nova has the cells {names:?}");
    eventually(&what, minutes(8), async || {
        let nova = cloud.cluster.get(NOVA, NOVA_NAME).await?;
        let cells = &nova.data["status"]["cells"];
        ensure!(*cells == ready, "they are {cells}");
        is(&nova, "Ready")
    })
    .await
}

/// Rows of servers that were deleted 60 days ago are archived, and those of 200 days ago are purged.
async fn archives_rows(cloud: &Cloud) -> Result<()> {
    let ages = "UPDATE nova.instances SET deleted_at = UTC_TIMESTAMP() - INTERVAL 60 DAY; \
         UPDATE nova.instances SET deleted_at = UTC_TIMESTAMP() - INTERVAL 200 DAY ORDER BY id LIMIT 1";
    asked(cloud, ages).await?;
    let archive = cloud
        .cluster
        .get(CRON_JOB, "openstack/nova-archive")
        .await?;
    cloud.run_now(&archive, "nova-archive-now").await?;
    cloud.says("nova-archive-now").await?;
    let servers = asked(cloud, SERVERS).await?;
    ensure!(servers == "0\t2\t0", "servers: {servers}");
    eventually("Nova reports the Job", minutes(2), async || {
        let nova = cloud.cluster.get(NOVA, NOVA_NAME).await?;
        is(&nova, "DeletedRowsPurged")
    })
    .await
}
