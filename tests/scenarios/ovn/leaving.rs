//! Members leave while a client writes.

use lab::{Image, Result, ensure, eventually, minutes};
use serde_json::json;

use super::{Network, line};

/// Writes a switch after the other, and says when each was written: its number, and the milliseconds that it took.
const WRITER: &str = include_str!("writer.sh");

pub fn members_leave_while_a_client_writes() -> Result<()> {
    let image = Image::ovn()?;
    lab::on_a_bare_machine(async move |machine| {
        let network = Network::start(&machine, &image, json!({})).await?;
        network.is_ready().await?;
        network.has_members(&[0, 1, 2]).await?;
        let northbound = format!("NORTHBOUND={}", network.endpoint("northbound").await?);
        let writer = network.member("ovn-sb-0").await?;
        writer.run(&[
            "sh",
            "-c",
            &format!("({northbound}; {WRITER}) > /tmp/writes 2>&1 & echo started"),
        ])?;

        network.scale(5).await?;
        network.has_members(&[0, 1, 2, 3, 4]).await?;
        for _ in 0..2 {
            let leader = network.leader(&[0, 1, 2, 3, 4]).await?;
            let killed = "kill -9 $(pgrep -x ovsdb-server)";
            let killed = network.member(&leader).await?.run(&["sh", "-c", killed]);
            killed.map(drop)?;
            network.has_members(&[0, 1, 2, 3, 4]).await?;
        }
        network.scale(3).await?;
        network.has_members(&[0, 1, 2]).await?;

        writer.run(&["touch", "/tmp/stop"])?;
        let writes = eventually("the client has ended", minutes(3), async || {
            let writes = writer.run(&["cat", "/tmp/writes"])?;
            ensure!(writes.ends_with("done"), "it still writes");
            Ok(writes)
        })
        .await?;
        let took = writes
            .lines()
            .filter_map(|line| line.split_once(' ')?.1.parse::<u64>().ok());
        let took: Vec<u64> = took.collect();
        println!(
            "{} writes, the slowest took {} ms",
            took.len(),
            took.iter().max().copied().unwrap_or_default()
        );
        let listed =
            "ovn-nbctl --no-leader-only --bare --columns=name list Logical_Switch | grep -c .";
        let count = network
            .member("ovn-nb-1")
            .await?
            .run(&["sh", "-c", listed])?;
        ensure!(
            count == took.len().to_string(),
            "{count} of {} writes are left",
            took.len()
        );

        network.cloud.roles_suffice()
    })
}

impl Network {
    /// The pod of the northbound database's leader.
    async fn leader(&self, ordinals: &[u32]) -> Result<String> {
        eventually("there is a leader", minutes(3), async || {
            for ordinal in ordinals {
                let pod = format!("ovn-nb-{ordinal}");
                if line(&self.member(&pod).await?, "Role:")? == "Role: leader" {
                    return Ok(pod);
                }
            }
            lab::bail!("nobody leads")
        })
        .await
    }
}
