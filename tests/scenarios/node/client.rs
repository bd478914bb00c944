//! The client of a cloud, in a pod.

use lab::{Cloud, Result};

/// Has the client do one of its tasks in a pod, and gives what it says.
///
/// # Errors
/// When the pod can't be had, or the client fails.
pub async fn does(cloud: &Cloud, task: &str) -> Result<String> {
    let job = include_str!("client.yaml")
        .replace("JOB", task)
        .replace("TASK", task)
        .replace("PLACE", "openstack");
    cloud.cluster.apply(&job).await?;
    cloud.says(task).await
}
