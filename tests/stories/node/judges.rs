//! What others hold against a cloud: the `openstack` client, and Tempest's tests of Keystone and Glance.

use lab::{Cloud, Context, Result, ensure};

/// So many of Tempest's tests pass; fewer, and something was left out.
const PASSED: usize = 23;

/// Has each of them judge the cloud in a pod.
///
/// # Errors
/// What they find wrong, or that they didn't look.
pub async fn approve(cloud: &Cloud) -> Result<()> {
    cloud.cluster.apply(include_str!("judges.yaml")).await?;
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

/// What one of them says in the end.
async fn says(cloud: &Cloud, judge: &str) -> Result<String> {
    let job = include_str!("judge.yaml").replace("JUDGE", judge);
    cloud.cluster.apply(&job).await?;
    cloud.says(judge).await
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
