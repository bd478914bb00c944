//! Acceptance tests of a cloud: the `openstack` client, and Tempest's tests of Keystone and Glance.

use lab::{Cloud, Context, Result, ensure};

/// So many of Tempest's tests pass; fewer, and something was left out.
const PASSED: usize = 23;

/// Runs each of them in a pod.
///
/// # Errors
/// When one fails, or ran fewer tests than it has.
pub async fn passes(cloud: &Cloud) -> Result<()> {
    cloud.cluster.apply(include_str!("acceptance.yaml")).await?;
    let services = says(cloud, "openstack").await?;
    ensure!(
        services.trim() == "identity image placement",
        "the client ends with {services}"
    );
    let said = says(cloud, "tempest").await?;
    let (passed, failed) = (count(&said, "Passed")?, count(&said, "Failed")?);
    ensure!(
        passed >= PASSED && failed == 0,
        "of Tempest's tests {passed} passed and {failed} failed:\n{said}"
    );
    Ok(())
}

/// What one of them prints at its end.
async fn says(cloud: &Cloud, test: &str) -> Result<String> {
    let job = include_str!("acceptance-job.yaml").replace("TEST", test);
    cloud.cluster.apply(&job).await?;
    cloud.says(test).await
}

/// How many tests went so, by Tempest's summary: ` - Passed: 17`.
fn count(said: &str, how: &str) -> Result<usize> {
    let prefix = format!("- {how}: ");
    let counted = said
        .lines()
        .find_map(|line| line.trim().strip_prefix(&prefix));
    let counted = counted.with_context(|| format!("Tempest counts none as {how}:\n{said}"))?;
    Ok(counted.trim().parse()?)
}
