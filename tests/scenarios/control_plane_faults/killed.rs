//! Killed after every single write, in turn: a new process ends where the first one would have.

use std::collections::BTreeMap;
use std::sync::Arc;

use lab::{
    Build, Cluster, Gate, Machine, Replicas, Request, Result, Site, ensure, eventually, minutes,
    seconds, throughout,
};
use serde_json::json;

use super::outcome::Outcome;
use super::small;
use crate::every_part;

const OPERATOR: &str = "c5c3-operator";
const ACCOUNT: &str = "system:serviceaccount:default:c5c3-operator";

/// Creates a namespace with a ControlPlane of every service, with certificates of its own authority.
async fn make(site: &Site, name: &str) -> Result<()> {
    every_part::create(site, name, json!({ "issuerRef": { "name": "public" } })).await
}

/// Runs it.
pub async fn after_each_write(machine: Arc<Machine>) -> Result<()> {
    let site = Site::open(&machine, Build::Debug).await?;
    site.cluster.install_cert_manager().await?;
    let account = site.cluster.account(OPERATOR).await?;
    let undisturbed = undisturbed(&site, &account).await?;
    ensure!(
        undisturbed.passwords.len() > 4,
        "hardly any password: {:?}",
        undisturbed.passwords.keys()
    );

    let mut outcomes = BTreeMap::new();
    for write in 1.. {
        let namespace = format!("killed-{write:03}");
        match killed(&site, &account, &namespace, write, &undisturbed).await? {
            Some(outcome) => outcomes.insert(namespace.clone(), outcome),
            None => break,
        };
        small::forget(&site, &namespace).await?;
    }
    println!("killed after each of {} writes", outcomes.len());
    ensure!(
        outcomes.len() > undisturbed.objects.len(),
        "killed {} times only",
        outcomes.len()
    );
    let requests = site.cluster.audit()?;
    for (namespace, outcome) in &outcomes {
        made_once(&requests, namespace, outcome)?;
    }
    Ok(())
}

/// What comes of a ControlPlane whose operator nobody disturbs.
async fn undisturbed(site: &Site, account: &Cluster) -> Result<Outcome> {
    let namespace = "undisturbed";
    let gate = Gate::open(&site.machine, account).await?;
    make(site, namespace).await?;
    site.start(OPERATOR, gate.cluster(), Replicas::One)?;
    small::is_ready(site, namespace).await?;
    eventually("it rests", minutes(2), async || {
        let writes = gate.writes();
        throughout("it rests", seconds(2), async || {
            ensure!(gate.writes() == writes, "it writes");
            Ok(())
        })
        .await
    })
    .await?;
    println!("{} writes undisturbed", gate.writes());
    site.machine.kill(OPERATOR)?;
    Outcome::of(&site.cluster, namespace).await
}

/// What comes of one whose operator is killed after so many writes; none: it was ready before.
async fn killed(
    site: &Site,
    account: &Cluster,
    namespace: &str,
    writes: usize,
    undisturbed: &Outcome,
) -> Result<Option<Outcome>> {
    make(site, namespace).await?;
    let gate = Gate::shut_after(&site.machine, account, writes).await?;
    site.start(OPERATOR, gate.cluster(), Replicas::One)?;
    let was_killed = tokio::select! {
        () = gate.shut() => true,
        ready = small::is_ready(site, namespace) => ready.map(|()| false)?,
    };
    site.machine.kill(OPERATOR)?;
    drop(gate);
    if !was_killed {
        return Ok(None);
    }
    let before = Outcome::of(&site.cluster, namespace).await?.passwords;
    site.start(OPERATOR, account, Replicas::One)?;
    let what = format!("{namespace} is as if nothing had been");
    let outcome = eventually(&what, minutes(3), async || {
        site.machine.check(OPERATOR)?;
        let outcome = Outcome::of(&site.cluster, namespace).await?;
        outcome.is_as(undisturbed)?;
        Ok(outcome)
    })
    .await?;
    site.machine.kill(OPERATOR)?;
    for (password, value) in &before {
        ensure!(
            outcome.passwords.get(password) == Some(value),
            "{password:?} is another one now"
        );
    }
    Ok(Some(outcome))
}

/// Every generated Secret was written exactly once: the garbage collector took some away afterwards, our operator none.
fn made_once(requests: &[Request], namespace: &str, outcome: &Outcome) -> Result<()> {
    for (secret, _) in outcome.passwords.keys() {
        let name = format!("{namespace}/{secret}");
        let writes: Vec<_> = requests
            .iter()
            .filter(|request| request.user == ACCOUNT && request.code < 300)
            .filter(|request| {
                request.writes() && request.resource == "secrets" && request.name == name
            })
            .map(|request| request.verb.as_str())
            .collect();
        ensure!(writes == ["create"], "{name} was written by {writes:?}");
    }
    Ok(())
}
