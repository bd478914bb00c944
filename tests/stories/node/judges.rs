//! What others hold against a cloud: the `openstack` client.

use lab::{Cloud, Result, ensure};

/// Has it judge the cloud in a pod.
///
/// # Errors
/// What it finds wrong, or that it didn't look.
pub async fn approve(cloud: &Cloud) -> Result<()> {
    cloud.cluster.apply(include_str!("judges.yaml")).await?;
    let services = says(cloud, "openstack").await?;
    ensure!(
        services.trim() == "identity image placement",
        "the client ends with {services}"
    );
    Ok(())
}

/// What a judge says in the end.
async fn says(cloud: &Cloud, judge: &str) -> Result<String> {
    let job = include_str!("judge.yaml").replace("JUDGE", judge);
    cloud.cluster.apply(&job).await?;
    cloud.says(judge).await
}
