//! Parts that need each other go in their order.

use lab::{Result, ensure, eventually, minutes};
use provider_runtime::Leadership;
use serde_json::json;

use super::carried::Running;
use super::trial::ordered;
use super::{CONFIG_MAP, MANIFEST, SECRET, TRIAL, cluster, ready};

pub fn parts_go_in_their_order() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let running =
            Running::start(&machine, &account, ordered(), Vec::new(), Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        ready(&cluster, "one").await?;
        // Somebody holds the second: the first has to wait for it.
        cluster
            .edit(
                CONFIG_MAP,
                "default/second",
                json!({"metadata": {"finalizers": ["lab.c5c3.io/held"]}}),
            )
            .await?;
        cluster.delete(TRIAL, "default/one").await?;
        eventually("the second is going", minutes(1), async || {
            let second = cluster.get(CONFIG_MAP, "default/second").await?;
            ensure!(
                second.metadata.deletion_timestamp.is_some(),
                "nobody deletes it"
            );
            Ok(())
        })
        .await?;
        for _ in 0..3 {
            running.again(&cluster, "one").await?;
            let first = cluster.get(CONFIG_MAP, "default/first").await?;
            ensure!(
                first.metadata.deletion_timestamp.is_none(),
                "it went too early"
            );
        }
        cluster
            .edit(
                CONFIG_MAP,
                "default/second",
                json!({"metadata": {"finalizers": null}}),
            )
            .await?;
        eventually("all is gone", minutes(1), async || {
            cluster.gone(CONFIG_MAP, "default/first").await?;
            cluster.gone(TRIAL, "default/one").await
        })
        .await?;
        cluster.get(SECRET, "default/made").await?;
        running.stop().await
    })
}
