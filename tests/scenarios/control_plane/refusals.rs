//! What can't be: the condition says what to do, and what exists stays.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;
use lab::{
    Machine, Result, condition, ensure, eventually, find_condition, is, minutes, never_until,
    seconds,
};
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use super::simulated::{Simulation, kind_of};
use super::site::{CONTROL_PLANE, SECRET, Site, credential, small};

/// Fine when each mistake is reported in the condition Ready, and undone by the fix alone.
pub async fn are_said(machine: Arc<Machine>) -> Result<()> {
    let site = Site::open(&machine).await?;
    let simulation = Simulation {
        keystone: None,
        infrastructure_runs: false,
        held: BTreeSet::from([("elder".to_owned(), Node::Keystone)]),
    };

    site.control_plane("release", with("openStackRelease", json!("2019.1")))
        .await?;
    says(&site, &simulation, "release/release", &["2019.1", "2025.2"]).await?;

    let disabled = json!({ "keystone": { "enabled": false } });
    site.control_plane("nobody", with("services", disabled))
        .await?;
    says(&site, &simulation, "nobody/nobody", &["services.keystone"]).await?;

    let mut own = small();
    own["korc"] = json!({ "enabled": false });
    site.control_plane("secrets", own).await?;
    says(
        &site,
        &simulation,
        "secrets/secrets",
        &["keystone-credentials"],
    )
    .await?;
    let broken = credential("first line\nsecond line");
    for name in ["glance", "placement"] {
        let name = format!("{name}-keystone-credentials");
        site.secret("secrets", &name, broken.clone()).await?;
    }
    says(
        &site,
        &simulation,
        "secrets/secrets",
        &["glance-keystone-credentials", "line"],
    )
    .await?;

    a_name_is_taken(&site, &simulation).await?;
    the_younger_is_refused(&site, &simulation).await?;
    nothing_goes_for_want_of_a_right(&site, &simulation).await
}

/// A spec with one field as given.
fn with(field: &str, value: Value) -> Value {
    let mut spec = small();
    spec[field] = value;
    spec
}

/// Waits until Ready is False and its message has all these words.
async fn says(site: &Site, simulation: &Simulation, name: &str, words: &[&str]) -> Result<()> {
    eventually(&format!("{name} says {words:?}"), minutes(2), async || {
        simulation.step(&site.cluster).await?;
        let control_plane = site.cluster.get(CONTROL_PLANE, name).await?;
        ensure!(
            condition(&control_plane, "Ready") == Some("False"),
            "Ready isn't False"
        );
        let ready = find_condition(&control_plane, "Ready");
        let message = ready.unwrap_or(&Value::Null)["message"].to_string();
        ensure!(
            words.iter().all(|word| message.contains(word)),
            "it says {message}"
        );
        ensure!(
            !message.contains("second line"),
            "it contains a secret: {message}"
        );
        Ok(())
    })
    .await
}

/// An object of somebody else by a name that ours would have stays as it is, and is named.
async fn a_name_is_taken(site: &Site, simulation: &Simulation) -> Result<()> {
    site.namespace("taken").await?;
    let theirs = "
apiVersion: v1
kind: Service
metadata: {name: openstack-memcached, namespace: taken, labels: {whose: theirs}}
spec: {ports: [{port: 80}]}
";
    site.cluster.apply(theirs).await?;
    site.control_plane("taken", small()).await?;
    says(site, simulation, "taken/taken", &["openstack-memcached"]).await?;
    let service = lab::kind("v1", "Service");
    let left = site
        .cluster
        .get(service, "taken/openstack-memcached")
        .await?;
    ensure!(
        left.labels().len() == 1 && left.data["spec"]["ports"][0]["port"] == 80,
        "somebody else's Service was changed: {left:?}"
    );
    site.cluster
        .delete(service, "taken/openstack-memcached")
        .await?;
    eventually("the fix alone brings it on", minutes(2), async || {
        simulation.step(&site.cluster).await?;
        is(
            &site.cluster.get(CONTROL_PLANE, "taken/taken").await?,
            "InfrastructureReady",
        )
    })
    .await
}

/// Two control planes in one namespace: the younger is refused, the elder goes on.
async fn the_younger_is_refused(site: &Site, simulation: &Simulation) -> Result<()> {
    site.control_plane("elder", small()).await?;
    eventually("the elder is under way", minutes(2), async || {
        simulation.step(&site.cluster).await?;
        is(
            &site.cluster.get(CONTROL_PLANE, "elder/elder").await?,
            "InfrastructureReady",
        )
    })
    .await?;
    // Ages are in whole seconds.
    tokio::time::sleep(seconds(1)).await;
    let younger = json!({
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "ControlPlane",
        "metadata": { "name": "younger", "namespace": "elder" },
        "spec": small(),
    });
    site.cluster.apply(&younger.to_string()).await?;
    says(site, simulation, "elder/younger", &["elder"]).await?;
    is(
        &site.cluster.get(CONTROL_PLANE, "elder/elder").await?,
        "InfrastructureReady",
    )
}

/// The operator may no longer read a kind: nothing is deleted for it.
async fn nothing_goes_for_want_of_a_right(site: &Site, simulation: &Simulation) -> Result<()> {
    let roles = lab::kind("rbac.authorization.k8s.io/v1", "ClusterRole");
    let role = site.cluster.get(roles, "c5c3-operator").await?;
    let mut rules = role.data["rules"].clone();
    for rule in rules.as_array_mut().into_iter().flatten() {
        if rule["apiGroups"][0] == "k8s.mariadb.com" {
            rule["apiGroups"][0] = json!("nothing.example.org");
        }
    }
    site.cluster
        .edit(roles, "c5c3-operator", json!({ "rules": rules }))
        .await?;
    site.operator.kill()?;
    site.operator.launch()?;
    eventually("it says what it can't read", minutes(2), async || {
        let Err(unready) = site.operator.ready().await else {
            lab::bail!("it is ready")
        };
        let said = unready.to_string();
        ensure!(said.contains("not allowed to read mariadbs"), "{said}");
        Ok(())
    })
    .await?;
    let Some(mariadb) = kind_of(Node::MariaDb.step()) else {
        lab::bail!("MariaDB has no kind")
    };
    let before = site.cluster.list(mariadb, "").await?.len();
    let secrets = site.cluster.list(SECRET, "").await?.len();
    ensure!(
        before > 0 && secrets > 0,
        "there is nothing that could be lost"
    );
    never_until("nothing is deleted", changes(site), async || {
        simulation.step(&site.cluster).await?;
        ensure!(
            site.cluster.list(mariadb, "").await?.len() == before,
            "a MariaDB went"
        );
        ensure!(
            site.cluster.list(SECRET, "").await?.len() >= secrets,
            "a Secret went"
        );
        Ok(())
    })
    .await?;
    site.cluster
        .edit(
            roles,
            "c5c3-operator",
            json!({ "rules": role.data["rules"] }),
        )
        .await?;
    eventually("it goes on once it may", minutes(3), async || {
        simulation.step(&site.cluster).await?;
        is(
            &site.cluster.get(CONTROL_PLANE, "elder/elder").await?,
            "InfrastructureReady",
        )
    })
    .await
}

/// Changes the elder, and waits until the operator has reconciled that, several times: what it would delete is being deleted once it
/// has reconciled a change, and gone once it has reconciled the next.
async fn changes(site: &Site) -> Result<()> {
    for memory in ["96Mi", "128Mi", "96Mi", "128Mi"] {
        let memory = json!({ "infrastructure": { "memcached": { "memory": memory } } });
        site.reconciled("elder", memory).await?;
    }
    Ok(())
}
