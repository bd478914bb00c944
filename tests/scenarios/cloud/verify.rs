//! Tempest tests a claim before it is Ready, and the APIs of a control plane with servers.

use std::time::Instant;

use lab::claims::{OPENSTACK, Site};
use lab::{Cloud, Cluster, DynamicObject, Kind, Result, ensure, eventually, is, kind, minutes};
use serde_json::json;

use super::CONTROL_PLANE;

const TEMPEST: Kind = kind("tempest.openstack.c5c3.io/v1alpha1", "Tempest");
const POD: Kind = kind("v1", "Pod");

/// The pods of a Tempest's runs.
const RUNS: &str = "app.kubernetes.io/instance=tempest";
/// How lines of a run's log begin that each name a skipped test (run.py).
const SKIPPED: &str = "SKIPPED ";

/// Smoke tests of compute, networks, volumes, images and identity, for the Composition's input: about two dozen.
pub const TESTS: &str = concat!(
    r"(test_create_server\.ServersTestJSON|test_server_basic_ops|test_networks\.NetworksTest|test_routers\.RoutersTest",
    r"|test_floating_ips|test_volumes_get|BasicOperationsImagesTest|test_api_discovery|admin\.v3\.test_services)\..*smoke",
);

/// So many of them pass; fewer, and something was left out.
const PASSED: u64 = 20;

/// Waits until a claim is tested and Ready, and prints how long that took, and what was skipped. `tempest` is the Tempest of its control
/// plane.
pub async fn passes(
    site: &Site<'_>,
    claim: &str,
    cluster: &Cluster,
    tempest: &str,
) -> Result<DynamicObject> {
    site.phase(OPENSTACK, claim, "Verifying").await?;
    let started = Instant::now();
    let claim = site.phase(OPENSTACK, claim, "Ready").await?;
    let verified = &claim.data["status"]["verified"];
    let tempest = cluster.get(TEMPEST, tempest).await?;
    let status = &tempest.data["status"];
    println!(
        "the claim was tested for {} s, Tempest ran for {}: {verified}, skipped: {}",
        started.elapsed().as_secs(),
        status["lastDuration"],
        status["skipped"]
    );
    ensure!(
        verified["passed"].as_u64() >= Some(PASSED) && verified["failed"] == 0,
        "{verified}: {status}"
    );
    is(&claim, "TestsPassed")?;
    is(&tempest, "CleanedUp")?;
    Ok(claim)
}

/// Has Tempest run all its tests of servers and volumes, and prints how many passed, and which failed and were skipped.
pub async fn of_apis(cloud: &Cloud) -> Result<()> {
    let tests = json!({"concurrency": 2, "includeRegex": r"tempest\.api\.(compute|volume)\."});
    let wanted = json!({"spec": {"tempest": {"enabled": true, "suspend": true, "tests": tests}}});
    let control_plane = "openstack/production";
    cloud
        .cluster
        .edit(CONTROL_PLANE, control_plane, wanted)
        .await?;
    let tempest = eventually("Tempest has run", minutes(170), async || {
        let tempest = cloud.cluster.get(TEMPEST, "openstack/tempest").await?;
        let status = &tempest.data["status"];
        ensure!(status["lastRun"].is_string(), "{status}");
        Ok(tempest)
    })
    .await?;
    println!("Tempest's tests of APIs: {}", tempest.data["status"]);
    print_skipped(cloud).await?;
    is(&tempest, "CleanedUp")?;
    is(&tempest, "TestsPassed")
}

/// Prints which tests were skipped, and why: the status has only the first of them.
async fn print_skipped(cloud: &Cloud) -> Result<()> {
    for pod in cloud.cluster.list(POD, RUNS).await? {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        // Of one that failed there may be no log.
        if pod.data["status"]["phase"] == "Succeeded" {
            let log = cloud
                .node
                .logs(&format!("{}/{name}", cloud.namespace()))
                .await?;
            let skipped = log.lines().filter(|line| line.starts_with(SKIPPED));
            let skipped: Vec<&str> = skipped.collect();
            println!(
                "{} tests were skipped:\n{}",
                skipped.len(),
                skipped.join("\n")
            );
        }
    }
    Ok(())
}
