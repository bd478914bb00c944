//! Tasks of a tenant or of an administrator: Jobs that run a script with a clouds.yaml.

use lab::{Cloud, Context, Kind, Result, kind, minutes, scaled};
use serde::de::DeserializeOwned;

const JOB: Kind = kind("batch/v1", "Job");
const POD: Kind = kind("v1", "Pod");

/// How many lines are read to find the last complete one.
const LAST: i64 = 3;

/// The modules in which the tasks of a tenant are, each with its text.
pub const MODULES: [(&str, &str); 4] = [
    ("apis", include_str!("apis.py")),
    ("blockstorage", include_str!("blockstorage.py")),
    ("vnc", include_str!("vnc.py")),
    ("tenant", include_str!("tenant.py")),
];

/// Gives pods the modules in which the tasks of a tenant are.
pub async fn give_modules(cloud: &Cloud) -> Result<()> {
    for (module, text) in MODULES {
        cloud.give(module, &format!("{module}.py"), text).await?;
    }
    Ok(())
}

/// Starts a task of a script with the clouds.yaml of a Secret.
pub async fn starts(cloud: &Cloud, script: &str, clouds: &str, task: &str) -> Result<()> {
    let manifest = include_str!("tenant.yaml")
        .replace("SCRIPT", script)
        .replace("TASK", task)
        .replace("CLOUDS", clouds)
        .replace("PLACE", cloud.namespace())
        .replace("SECONDS", &patience());
    cloud.cluster.apply(&manifest).await.map(drop)
}

/// How many seconds a task waits for each thing.
pub fn patience() -> String {
    scaled(minutes(5)).as_secs().to_string()
}

/// Waits for the end of a task, and returns what it printed. It can be run again.
pub async fn ended(cloud: &Cloud, task: &str) -> Result<String> {
    let said = cloud.says(task).await?;
    let job = format!("{}/{task}", cloud.namespace());
    cloud.cluster.delete(JOB, &job).await?;
    Ok(said)
}

/// What a task that still runs has printed until now, a JSON object on each line.
pub async fn printed<T: DeserializeOwned>(cloud: &Cloud, task: &str) -> Result<Vec<T>> {
    let pod = pod(cloud, task).await?;
    objects(&pod, &cloud.node.logs(&pod).await?)
}

/// The last object that a task that still runs has printed, if any. Of a task that prints for long, all of them take longer to read.
pub async fn last_printed<T: DeserializeOwned>(cloud: &Cloud, task: &str) -> Result<Option<T>> {
    let pod = pod(cloud, task).await?;
    let mut last = objects(&pod, &cloud.node.last_logs(&pod, LAST).await?)?;
    Ok(last.pop())
}

/// The pod of a task, `namespace/name`.
pub async fn pod(cloud: &Cloud, task: &str) -> Result<String> {
    let pods = cloud.cluster.list(POD, &format!("job-name={task}")).await?;
    let mut pods = pods
        .iter()
        .filter(|pod| pod.metadata.namespace.as_deref() == Some(cloud.namespace()));
    let pod = pods.next().and_then(|pod| pod.metadata.name.as_deref());
    let pod = pod.with_context(|| format!("{task} has no pod"))?;
    Ok(format!("{}/{pod}", cloud.namespace()))
}

/// The JSON objects in the lines that a pod has printed.
fn objects<T: DeserializeOwned>(pod: &str, printed: &str) -> Result<Vec<T>> {
    // The last line may not be complete yet.
    let lines = printed.split_inclusive('\n');
    let lines = lines.filter(|line| line.starts_with('{') && line.ends_with('\n'));
    let objects =
        lines.map(|line| serde_json::from_str(line).with_context(|| format!("{pod}: {line}")));
    objects.collect()
}
