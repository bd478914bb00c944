//! What Nova's operator runs in Nova's databases, with the Nova of a release.

use k8s_openapi::api::batch::v1::CronJob;
use lab::{Context, OpenStack, Result, ensure};
use provider_openstack::Release;
use serde_json::json;

use super::rendered::composed;

/// What maps a cell.
const CELL: &str = include_str!("../../../providers/nova/src/cell.py");
/// What maps a cell that is checked.
const ENTER: &str = include_str!("../../../providers/nova/src/enter.py");
/// What deletes a cell.
const DELETE: &str = include_str!("../../../providers/nova/src/delete.py");
/// What waits for nova-compute of all hosts.
const COMPUTES: &str = include_str!("../../../providers/nova/src/computes.py");
/// What runs them, and looks at the rows that they leave. It fails with the first case that fails.
const PROGRAM: &str = include_str!("nova.py");

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
    let programs = [CELL, ENTER, DELETE, COMPUTES, &archive];
    let passed: Vec<String> = openstack.run(PROGRAM, &programs)?;
    ensure!(!passed.is_empty(), "no case was run");
    Ok(())
}
