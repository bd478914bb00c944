//! What Nova's operator runs in Nova's databases, with the Nova of a release.

use k8s_openapi::api::batch::v1::CronJob;
use lab::{Context, OpenStack, Result, ensure};
use provider_openstack::Release;
use serde_json::json;

use super::rendered::composed;

/// What maps a cell, or deletes its mapping.
const CELL: &str = include_str!("../../../providers/nova/src/cell.py");
/// What maps a cell that is checked.
const ENTER: &str = include_str!("../../../providers/nova/src/enter.py");
/// What waits for nova-compute of all hosts.
const COMPUTES: &str = include_str!("../../../providers/nova/src/computes.py");
/// What runs them, and looks at the rows that they leave.
const PROGRAM: &str = include_str!("nova.py");
/// What the program prints when all went well.
const PASSED: [&str; 10] = [
    "cell0_follows_its_database",
    "cell_is_mapped_where_its_database_is_empty_or_has_no_tables_yet",
    "mapped_cell_follows_its_message_bus_whatever_its_database_has",
    "cell_with_servers_of_a_former_cell_is_mapped_only_where_it_is_continued",
    "cell_with_compute_services_that_are_down_is_refused",
    "hosts_that_are_older_are_named_until_they_have_the_release",
    "rows_are_archived_and_purged_by_when_they_were_deleted",
    "archive_fails_where_the_api_database_has_no_tables",
    "cell_with_hosts_or_servers_is_not_deleted",
    "cell_whose_servers_are_deleted_is_deleted_with_what_is_known_of_them",
];

/// The script of the CronJob that archives and purges deleted rows.
fn archive(release: Release) -> Result<String> {
    let nova = json!({
        "kind": "Nova",
        "metadata": { "name": "nova" },
        "spec": {
            "tls": { "enabled": false },
            "cells": [{ "name": "cell1" }],
            "deletedRows": { "archiveAfterDays": 30, "purgeAfterDays": 90 },
        },
    });
    let (_, cluster) = composed(&nova, release).context("Nova can't be composed")?;
    let job = cluster.get::<CronJob>("nova-archive");
    let pod = job.map(|job| &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]);
    let script = pod.and_then(|pod| pod["containers"][0]["command"][2].as_str());
    script
        .map(str::to_owned)
        .context("there is no nova-archive with a script")
}

/// Runs all cases with the Nova of a release.
pub fn programs(year: u16, half: u8) -> Result<()> {
    let openstack = OpenStack::of(Release::new(year, half))?;
    let archive = archive(openstack.release)?;
    let passed: Vec<String> = openstack.run(PROGRAM, &[CELL, ENTER, COMPUTES, &archive])?;
    ensure!(passed == PASSED, "{passed:?}");
    Ok(())
}
