//! One control plane: up, unmoved, changed by hand, and gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;
use lab::{
    Context, Keystone, Kind, Machine, Operator, Result, bail, ensure, eventually, is, kind,
    minutes, seconds,
};
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use super::simulated::{Simulation, kind_of};
use super::site::{CONTROL_PLANE, SECRET, Site, small};

const NAME: &str = "production";
const WHOLE: &str = "production/production";
const CLUSTER_ROLE: Kind = kind("rbac.authorization.k8s.io/v1", "ClusterRole");
const CLAIM: Kind = kind("v1", "PersistentVolumeClaim");
const KORC_USER: Kind = kind("openstack.k-orc.cloud/v1alpha1", "User");

/// Fine when it comes up beside real operators, costs nothing while nothing changes, undoes edits by hand, and goes in
/// the order in which its parts need each other.
pub async fn whole(machine: Arc<Machine>) -> Result<()> {
    let site = Site::open(&machine).await?;
    let cluster = &site.cluster;
    let (keystone, _mariadb, _rabbitmq, _k_orc) = tokio::try_join!(
        Keystone::start(&machine, "chosen-by-the-user"),
        Operator::mariadb(&machine, cluster),
        Operator::rabbitmq(&machine, cluster),
        Operator::k_orc(&machine, cluster),
    )?;
    let mut simulation = Simulation {
        keystone: Some(keystone.url()),
        infrastructure_runs: true,
        held: BTreeSet::from([(NAME.to_owned(), Node::Keystone)]),
    };
    site.namespace(NAME).await?;
    let admin = json!({ "username": "admin", "password": "chosen-by-the-user" });
    site.secret(NAME, "keystone-admin-credentials", admin)
        .await?;
    let mut spec = small();
    spec["backup"] = json!({ "schedule": "0 2 * * *", "storage": { "size": "1Gi" } });
    site.control_plane(NAME, spec).await?;

    waits_for_keystone(&site, &simulation).await?;
    simulation.held.clear();
    becomes_ready(&site, &simulation).await?;
    let admin = cluster
        .get(SECRET, "production/keystone-admin-credentials")
        .await?;
    ensure!(
        admin.data["data"]["password"] == "Y2hvc2VuLWJ5LXRoZS11c2Vy",
        "the password that the user chose is another now"
    );
    stays_as_it_is(&site).await?;
    undoes_an_edit(&site, &simulation).await?;
    let passwords = passwords(&site).await?;
    ensure!(!passwords.is_empty(), "no password was made");
    goes_in_order(&site, &simulation).await?;
    ensure!(
        self::passwords(&site).await? == passwords,
        "a password went with the control plane, and with it what it unlocks"
    );
    cluster
        .get(CLAIM, "production/openstack-db-backup")
        .await
        .context("the volume of the backups went with the control plane")?;
    site.cluster.allowed_all(&Operator::user("c5c3"))?;
    the_role_has_no_more_than_it_needs(&site).await
}

/// Nothing of the catalogue, and no service, is made before Keystone is ready.
async fn waits_for_keystone(site: &Site, simulation: &Simulation) -> Result<()> {
    let cluster = &site.cluster;
    eventually("it waits for Keystone", minutes(3), async || {
        site.operator.check()?;
        simulation.step(cluster).await?;
        let control_plane = cluster.get(CONTROL_PLANE, WHOLE).await?;
        is(&control_plane, "InfrastructureReady")?;
        let ready = lab::condition(&control_plane, "KeystoneReady");
        ensure!(ready == Some("False"), "KeystoneReady is {ready:?}");
        Ok(())
    })
    .await?;
    for node in [
        Node::Glance,
        Node::Placement,
        Node::Nova,
        Node::Neutron,
        Node::Cinder,
    ] {
        if let Some(kind) = kind_of(node.step()) {
            let early = cluster.list(kind, "").await?;
            ensure!(
                early.is_empty(),
                "{} is made before Keystone is ready",
                kind.kind
            );
        }
    }
    ensure!(
        cluster.list(KORC_USER, "").await?.is_empty(),
        "a User is made before Keystone is ready"
    );
    Ok(())
}

async fn becomes_ready(site: &Site, simulation: &Simulation) -> Result<()> {
    eventually("the control plane is Ready", minutes(5), async || {
        site.operator.check()?;
        simulation.step(&site.cluster).await?;
        is(&site.cluster.get(CONTROL_PLANE, WHOLE).await?, "Ready")
    })
    .await
}

/// While nothing changes, nothing is written and nothing is read.
async fn stays_as_it_is(site: &Site) -> Result<()> {
    eventually("it comes to rest", minutes(2), async || {
        let (before, _) = requests(site)?;
        tokio::time::sleep(seconds(5)).await;
        let (after, _) = requests(site)?;
        ensure!(before == after, "{} requests in a moment", after - before);
        Ok(())
    })
    .await?;
    let asked = eventually("nothing changes for a while", minutes(3), async || {
        let (before, changes) = requests(site)?;
        tokio::time::sleep(seconds(15)).await;
        let (after, changed) = requests(site)?;
        // What others still say of their objects is reconciled.
        ensure!(
            after == before || changed == changes,
            "{} requests after {} changes of others",
            after - before,
            changed - changes
        );
        Ok(after - before)
    })
    .await?;
    ensure!(asked == 0, "{asked} requests though nothing changed");
    Ok(())
}

/// How often our operator has asked for objects, and others have changed them; Leases and the ends of watches apart.
fn requests(site: &Site) -> Result<(usize, usize)> {
    let mut requests = site.cluster.audit()?;
    requests.retain(|request| request.resource != "leases" && request.verb != "watch");
    let operator = Operator::user("c5c3");
    let (ours, others): (Vec<_>, Vec<_>) = requests
        .into_iter()
        .partition(|request| request.user == operator);
    let changes = others.iter().filter(|request| request.writes());
    Ok((ours.len(), changes.count()))
}

async fn undoes_an_edit(site: &Site, simulation: &Simulation) -> Result<()> {
    let Some(glance) = kind_of(Node::Glance.step()) else {
        bail!("Glance has no kind")
    };
    let name = "production/glance";
    site.cluster
        .edit(glance, name, json!({ "spec": { "replicas": 7 } }))
        .await?;
    eventually("the edit is undone", minutes(1), async || {
        simulation.step(&site.cluster).await?;
        let glance = site.cluster.get(glance, name).await?;
        ensure!(
            glance.data["spec"]["replicas"] == 1,
            "replicas: {}",
            glance.data["spec"]["replicas"]
        );
        Ok(())
    })
    .await?;
    becomes_ready(site, simulation).await
}

/// The values of generated Secrets, by name.
async fn passwords(site: &Site) -> Result<Vec<(String, Value)>> {
    let secrets = site
        .cluster
        .list(SECRET, "c5c3.io/owner-kind=ControlPlane")
        .await?;
    let generated = secrets.into_iter().filter(|secret| {
        let name = secret.name_any();
        name.ends_with("-db-credentials")
            || name.ends_with("-rabbitmq-credentials")
            || name.ends_with("-root")
    });
    Ok(generated
        .map(|secret| (secret.name_any(), secret.data["data"].clone()))
        .collect())
}

async fn goes_in_order(site: &Site, simulation: &Simulation) -> Result<()> {
    let cluster = &site.cluster;
    let before = site.written()?.len();
    cluster.delete(CONTROL_PLANE, WHOLE).await?;
    eventually("the control plane is gone", minutes(3), async || {
        site.operator.check()?;
        simulation.step(cluster).await?;
        cluster.gone(CONTROL_PLANE, WHOLE).await
    })
    .await?;
    let written = site.written()?;
    let deleted: Vec<&str> = written[before..]
        .iter()
        .filter(|(verb, _, _)| verb == "delete")
        .map(|(_, resource, _)| resource.as_str())
        .collect();
    let first = |resource: &str| deleted.iter().position(|other| *other == resource);
    for (sooner, later) in [
        ("tempests", "novas"),
        ("cortexes", "novas"),
        ("novas", "placements"),
        ("novas", "glances"),
        ("glances", "applicationcredentials"),
        ("applicationcredentials", "keystones"),
        ("services", "keystones"),
        ("keystones", "mariadbs"),
        ("cinders", "rabbitmqclusters"),
    ] {
        ensure!(
            first(sooner).is_some() && first(sooner) < first(later),
            "{sooner} don't go before {later}: {deleted:?}"
        );
    }
    Ok(())
}

/// Every right of the operator's role was used, but for reading one object at a time, and what only another kind of
/// control plane needs.
async fn the_role_has_no_more_than_it_needs(site: &Site) -> Result<()> {
    // A watch is audited once it has ended.
    site.operator.stop()?;
    eventually(
        "the role has no more than it needs",
        minutes(1),
        async || {
            let unused = unused(site).await?;
            ensure!(unused.is_empty(), "rights that nothing needed: {unused:?}");
            Ok(())
        },
    )
    .await
}

/// The rights that the operator had and never used.
async fn unused(site: &Site) -> Result<Vec<String>> {
    let operator = Operator::user("c5c3");
    let mut used: BTreeSet<(String, String, String)> = BTreeSet::new();
    for request in site.cluster.audit()? {
        if request.user != operator {
            continue;
        }
        // To apply what doesn't exist yet takes the right to create it.
        if request.verb == "patch" && request.code == 201 {
            used.insert((
                request.group.clone(),
                request.resource.clone(),
                "create".to_owned(),
            ));
        }
        used.insert((request.group, request.resource, request.verb));
    }
    let role = site.cluster.get(CLUSTER_ROLE, "c5c3-operator").await?;
    let texts = |rule: &Value, field: &str| -> Vec<String> {
        let texts = rule[field].as_array().into_iter().flatten();
        texts
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect()
    };
    let mut unused = Vec::new();
    for rule in role.data["rules"].as_array().into_iter().flatten() {
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                for verb in texts(rule, "verbs") {
                    ensure!(
                        ![&group, &resource, &verb]
                            .iter()
                            .any(|text| text.contains('*')),
                        "the role has a wildcard: {rule}"
                    );
                    let right = (group.clone(), resource.clone(), verb.clone());
                    if !used.contains(&right) {
                        unused.push(format!("{verb} {resource}.{group}"));
                    }
                }
            }
        }
    }
    let rare = |right: &String| {
        // One object at a time only where a cache lags; finalizers only where the API server insists; ServiceMonitors only with Prometheus' operator; External Secrets
        // only with a store; cert-manager only with TLS; an event again only where it was recorded before; Valkey only for services that use it; flavors and images only with a Nova and a Glance that K-ORC reaches; what this control plane has none of.
        right.starts_with("get ")
            || right.contains("/finalizers")
            || right == "patch events.events.k8s.io"
            || right.contains("servicemonitors")
            || right.contains("external-secrets.io")
            || right.contains("cert-manager.io")
            || right.contains("secretaggregates")
            || right.contains("credentialrotations")
            || right.contains("valkeys")
            || right.contains("flavors")
            || right.contains("images")
    };
    unused.retain(|right| !rare(right));
    Ok(unused)
}
