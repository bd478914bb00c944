//! The operators' runtime on a real API server: what it writes, what it leaves alone, and what it survives.

mod carried;
mod trial;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use lab::{
    Cluster, Etcd, Kind, Machine, Program, Result, bail, condition, ensure, eventually, is, kind,
    minutes, seconds, throughout,
};
use provider_runtime::{Driver, DriverError, Leadership};
use serde_json::{Value, json};

use carried::{Running, asked, prepare, quiet, writes};
use trial::{ordered, trial};

const TRIAL: Kind = kind("c5c3.io/v1alpha1", "SecretAggregate");
const CONFIG_MAP: Kind = kind("v1", "ConfigMap");
const SECRET: Kind = kind("v1", "Secret");
const DEPLOYMENT: Kind = kind("apps/v1", "Deployment");
const EVENT: Kind = kind("events.k8s.io/v1", "Event");
const LATE: Kind = kind("lab.c5c3.io/v1", "Late");

const MANIFEST: &str = "\
apiVersion: c5c3.io/v1alpha1
kind: SecretAggregate
metadata: {name: one, namespace: default}
spec:
  sources: [{secretRef: {name: first}}, {secretRef: {name: second}}]
  target: {name: made}
";

#[test]
fn what_is_wanted_is_made_and_kept_so() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let running =
            Running::start(&machine, &account, trial(), Vec::new(), Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        ready(&cluster, "one").await?;
        annotate(&cluster, "one", json!({"deployment": "yes"})).await?;
        eventually("the Deployment is there", minutes(1), async || {
            cluster.get(DEPLOYMENT, "default/deployed").await.map(drop)
        })
        .await?;

        nothing_to_do_asks_for_nothing(&cluster, &running).await?;
        edits_are_undone(&cluster).await?;
        what_is_wanted_no_more_goes(&cluster).await?;
        what_is_not_ours_stays(&cluster).await?;
        a_generated_secret_never_changes(&cluster).await?;
        failures_are_said(&cluster).await?;
        deletion_reaches_other_namespaces(&cluster).await?;
        running.stop().await
    })
}

async fn nothing_to_do_asks_for_nothing(cluster: &Cluster, running: &Running) -> Result<()> {
    let before = quiet(cluster, "trial").await?;
    let turns = running.metric("operator_reconciles_total", "").await?;
    for round in 0..3 {
        annotate(cluster, "one", json!({"note": round.to_string()})).await?;
        eventually("it was composed again", seconds(10), async || {
            let now = running.metric("operator_reconciles_total", "").await?;
            ensure!(now > turns + f64::from(round), "{now} turns");
            Ok(())
        })
        .await?;
    }
    ensure!(
        asked(cluster, "trial")?.len() == before,
        "asked for {:?}",
        &asked(cluster, "trial")?[before..]
    );
    ensure!(
        writes(cluster, "trial", "deployments", "default/deployed")? == 1,
        "the Deployment was written again"
    );
    Ok(())
}

async fn edits_are_undone(cluster: &Cluster) -> Result<()> {
    for change in [
        json!({"data": {"key": "defaced"}}),
        json!({"data": {"key": null}}),
        json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}}),
        json!({"metadata": {"labels": {"c5c3.io/owner-name": null, "c5c3.io/owner-kind": null}}}),
    ] {
        cluster
            .edit(CONFIG_MAP, "default/first", change.clone())
            .await?;
        eventually(&format!("{change} is undone"), seconds(20), async || {
            let map = cluster.get(CONFIG_MAP, "default/first").await?;
            let labels = map.metadata.labels.clone().unwrap_or_default();
            ensure!(
                map.data["data"]["key"] == "value",
                "data: {}",
                map.data["data"]
            );
            ensure!(
                labels["app.kubernetes.io/managed-by"] == "trial-operator",
                "{labels:?}"
            );
            ensure!(labels.contains_key("c5c3.io/owner-name"), "{labels:?}");
            Ok(())
        })
        .await?;
    }
    cluster
        .edit(
            CONFIG_MAP,
            "default/first",
            json!({"data": {"theirs": "stays"}}),
        )
        .await?;
    cluster
        .edit(
            DEPLOYMENT,
            "default/deployed",
            json!({"spec": {"replicas": 5}}),
        )
        .await?;
    eventually("the replicas are as wanted", seconds(20), async || {
        let deployment = cluster.get(DEPLOYMENT, "default/deployed").await?;
        ensure!(
            deployment.data["spec"]["replicas"] == 1,
            "{}",
            deployment.data["spec"]["replicas"]
        );
        Ok(())
    })
    .await?;
    cluster.delete(CONFIG_MAP, "default/second").await?;
    eventually("the ConfigMap is back", seconds(20), async || {
        cluster.get(CONFIG_MAP, "default/second").await.map(drop)
    })
    .await?;
    let map = cluster.get(CONFIG_MAP, "default/first").await?;
    ensure!(
        map.data["data"]["theirs"] == "stays",
        "what others added is gone"
    );
    Ok(())
}

async fn what_is_wanted_no_more_goes(cluster: &Cluster) -> Result<()> {
    annotate(
        cluster,
        "one",
        json!({"extra": "field", "for-a-while": "yes", "elsewhere": "kube-public"}),
    )
    .await?;
    eventually("more is there", seconds(20), async || {
        let map = cluster.get(CONFIG_MAP, "default/first").await?;
        ensure!(map.data["data"]["extra"] == "field", "{}", map.data["data"]);
        cluster.get(CONFIG_MAP, "kube-public/there").await?;
        cluster.get(SECRET, "default/brief").await.map(drop)
    })
    .await?;
    annotate(
        cluster,
        "one",
        json!({"extra": null, "for-a-while": null, "elsewhere": null, "deployment": null}),
    )
    .await?;
    eventually("it is gone again", seconds(20), async || {
        let map = cluster.get(CONFIG_MAP, "default/first").await?;
        ensure!(map.data["data"]["extra"].is_null(), "{}", map.data["data"]);
        cluster.gone(CONFIG_MAP, "kube-public/there").await?;
        cluster.gone(DEPLOYMENT, "default/deployed").await?;
        cluster.gone(SECRET, "default/brief").await
    })
    .await?;
    cluster.get(CONFIG_MAP, "default/first").await?;
    cluster.get(SECRET, "default/made").await.map(drop)
}

async fn what_is_not_ours_stays(cluster: &Cluster) -> Result<()> {
    cluster
        .apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: default}, data: {key: theirs}}")
        .await?;
    cluster
        .apply(
            &MANIFEST
                .replace("name: one", "name: two")
                .replace("name: first", "name: theirs")
                .replace("second", "other")
                .replace("made", "made-two"),
        )
        .await?;
    eventually("the taken name is said", seconds(20), async || {
        let two = cluster.get(TRIAL, "default/two").await?;
        let ready = said(&two.data, "Ready")?;
        ensure!(ready["reason"] == "NameTaken", "{ready}");
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(message.contains("ConfigMap theirs"), "{message}");
        cluster.get(CONFIG_MAP, "default/other").await.map(drop)
    })
    .await?;
    let theirs = cluster.get(CONFIG_MAP, "default/theirs").await?;
    ensure!(
        theirs.data["data"]["key"] == "theirs" && theirs.metadata.labels.is_none(),
        "it was touched"
    );
    cluster.delete(CONFIG_MAP, "default/theirs").await?;
    ready(cluster, "two").await
}

async fn a_generated_secret_never_changes(cluster: &Cluster) -> Result<()> {
    let before = cluster.get(SECRET, "default/made").await?.data["data"].clone();
    ensure!(
        before["password"]
            .as_str()
            .is_some_and(|password| password.len() > 40),
        "no password"
    );
    cluster
        .edit(
            SECRET,
            "default/made",
            json!({"stringData": {"password": "chosen"}}),
        )
        .await?;
    annotate(cluster, "one", json!({"note": "again"})).await?;
    quiet(cluster, "trial").await?;
    let after = cluster.get(SECRET, "default/made").await?.data["data"].clone();
    ensure!(
        after["password"] == "Y2hvc2Vu",
        "the password somebody chose is gone"
    );
    ensure!(
        writes(cluster, "trial", "secrets", "default/made")? == 1,
        "the Secret was written again"
    );
    Ok(())
}

async fn failures_are_said(cluster: &Cluster) -> Result<()> {
    annotate(cluster, "one", json!({"fails": "on purpose"})).await?;
    eventually("the failure is said, once", seconds(20), async || {
        let one = cluster.get(TRIAL, "default/one").await?;
        let ready = said(&one.data, "Ready")?;
        ensure!(ready["reason"] == "Invalid", "{ready}");
        let events = cluster.list(EVENT, "").await?;
        let told = events
            .iter()
            .filter(|event| event.data["reason"] == "Invalid")
            .count();
        ensure!(told == 1, "{told} events");
        Ok(())
    })
    .await?;
    let since =
        said(&cluster.get(TRIAL, "default/one").await?.data, "Ready")?["lastTransitionTime"]
            .clone();
    throughout("it stays so", seconds(3), async || {
        cluster.get(CONFIG_MAP, "default/first").await?;
        let one = cluster.get(TRIAL, "default/one").await?;
        ensure!(
            said(&one.data, "Ready")?["lastTransitionTime"] == since,
            "it flaps"
        );
        Ok(())
    })
    .await?;
    annotate(cluster, "one", json!({"fails": null})).await?;
    ready(cluster, "one").await
}

async fn deletion_reaches_other_namespaces(cluster: &Cluster) -> Result<()> {
    annotate(cluster, "one", json!({"elsewhere": "kube-public"})).await?;
    eventually("it is there", seconds(20), async || {
        cluster.get(CONFIG_MAP, "kube-public/there").await.map(drop)
    })
    .await?;
    cluster.delete(TRIAL, "default/one").await?;
    eventually("all but the password is gone", seconds(30), async || {
        cluster.gone(TRIAL, "default/one").await?;
        cluster.gone(CONFIG_MAP, "kube-public/there").await?;
        cluster.gone(CONFIG_MAP, "default/first").await
    })
    .await?;
    cluster.get(SECRET, "default/made").await.map(drop)
}

#[test]
fn parts_go_in_their_order() -> Result<()> {
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
        eventually("the second is going", seconds(20), async || {
            let second = cluster.get(CONFIG_MAP, "default/second").await?;
            ensure!(
                second.metadata.deletion_timestamp.is_some(),
                "nobody deletes it"
            );
            Ok(())
        })
        .await?;
        throughout("the first waits", seconds(3), async || {
            cluster.get(TRIAL, "default/one").await?;
            let first = cluster.get(CONFIG_MAP, "default/first").await?;
            ensure!(
                first.metadata.deletion_timestamp.is_none(),
                "it went too early"
            );
            Ok(())
        })
        .await?;
        cluster
            .edit(
                CONFIG_MAP,
                "default/second",
                json!({"metadata": {"finalizers": null}}),
            )
            .await?;
        eventually("all is gone", seconds(20), async || {
            cluster.gone(CONFIG_MAP, "default/first").await?;
            cluster.gone(TRIAL, "default/one").await
        })
        .await?;
        cluster.get(SECRET, "default/made").await?;
        running.stop().await
    })
}

#[test]
fn what_is_not_there_or_not_allowed_is_said_and_deletes_nothing() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let running =
            Running::start(&machine, &account, trial(), Vec::new(), Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        annotate(
            &cluster,
            "one",
            json!({"late": "hello", "deployment": "yes"}),
        )
        .await?;
        eventually("the missing kind is said", seconds(20), async || {
            let one = cluster.get(TRIAL, "default/one").await?;
            let ready = said(&one.data, "Ready")?;
            let message = ready["message"].as_str().unwrap_or_default();
            ensure!(
                ready["reason"] == "NotApplied" && message.contains("lates.lab.c5c3.io"),
                "{ready}"
            );
            cluster.get(CONFIG_MAP, "default/first").await.map(drop)
        })
        .await?;
        cluster.apply(LATE_DEFINITION).await?;
        eventually("it goes on by itself", seconds(40), async || {
            cluster.get(LATE, "default/late").await?;
            is(&cluster.get(TRIAL, "default/one").await?, "Ready")
        })
        .await?;

        not_allowed(&cluster).await?;
        restarted(&machine, &cluster).await?;
        running.stop().await
    })
}

/// The right to read ConfigMaps and Deployments is taken away while one of each is wanted no more.
async fn not_allowed(cluster: &Cluster) -> Result<()> {
    cluster
        .delete(
            kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
            "trial",
        )
        .await?;
    cluster.apply(LESS_RIGHTS).await?;
    // Watches go on with the rights that they began with: the next one is refused.
    cluster
        .edit(
            kind("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            "lates.lab.c5c3.io",
            json!({"metadata": {"annotations": {"note": "x"}}}),
        )
        .await?;
    annotate(cluster, "one", json!({"deployment": null})).await?;
    eventually("what is not allowed is said", seconds(30), async || {
        let one = cluster.get(TRIAL, "default/one").await?;
        let failed = said(&one.data, "Ready");
        let deployment = cluster.get(DEPLOYMENT, "default/deployed").await?;
        ensure!(
            deployment.metadata.deletion_timestamp.is_none(),
            "it was deleted"
        );
        failed.map(drop)
    })
    .await?;
    cluster.get(CONFIG_MAP, "default/first").await?;
    prepare(cluster, "trial").await?;
    eventually("the Deployment goes when it may", seconds(60), async || {
        cluster.gone(DEPLOYMENT, "default/deployed").await?;
        is(&cluster.get(TRIAL, "default/one").await?, "Ready")
    })
    .await
}

/// An API server that is killed and started again is nothing to tell anybody.
async fn restarted(machine: &Machine, cluster: &Cluster) -> Result<()> {
    let since =
        said(&cluster.get(TRIAL, "default/one").await?.data, "Ready")?["lastTransitionTime"]
            .clone();
    let name = format!("kube-apiserver-{}", cluster.name());
    let Some(process) = machine.running().get(&name).copied() else {
        bail!("no {name} runs")
    };
    let line = std::fs::read(format!("/proc/{process}/cmdline"))?;
    let line = String::from_utf8(line)?;
    let mut words = line.split_terminator('\0');
    let mut program = Program::new(words.next().unwrap_or_default());
    for word in words {
        program = program.arg(word);
    }
    machine.kill(&name)?;
    machine.start(&name, &program)?;
    eventually("the API server is back", minutes(2), async || {
        cluster.get(CONFIG_MAP, "default/first").await.map(drop)
    })
    .await?;
    deface(cluster).await?;
    eventually("the operator is back too", minutes(1), async || {
        undone(cluster).await
    })
    .await?;
    let ready = said(&cluster.get(TRIAL, "default/one").await?.data, "Ready")?;
    ensure!(
        ready["status"] == "True" && ready["lastTransitionTime"] == since,
        "{ready}"
    );
    Ok(())
}

#[test]
fn of_two_replicas_one_writes() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, one) = cluster(&machine, "one").await?;
        let two = prepare(&cluster, "two").await?;
        let elected = || Leadership::Elected {
            namespace: Some("default".to_owned()),
        };
        let first = Running::start(&machine, &one, trial(), Vec::new(), elected()).await?;
        cluster.apply(MANIFEST).await?;
        ready(&cluster, "one").await?;
        let second = Running::start(&machine, &two, trial(), Vec::new(), elected()).await?;
        deface(&cluster).await?;
        eventually("the edit is undone", seconds(20), async || {
            undone(&cluster).await
        })
        .await?;
        let written = |account| -> Result<usize> {
            Ok(asked(&cluster, account)?
                .iter()
                .filter(|request| request.writes())
                .count())
        };
        ensure!(written("two")? == 0, "both write");

        // Killed: nobody gives the Lease back.
        drop(first);
        let before = written("one")?;
        deface(&cluster).await?;
        eventually("the other one leads", minutes(1), async || {
            undone(&cluster).await
        })
        .await?;
        ensure!(
            written("two")? == 1 && written("one")? == before,
            "it wrote {} times",
            written("two")?
        );

        // Stopped: the Lease is free at once.
        let third = Running::start(&machine, &one, trial(), Vec::new(), elected()).await?;
        second.stop().await?;
        deface(&cluster).await?;
        eventually("the third one leads", seconds(8), async || {
            undone(&cluster).await
        })
        .await?;
        third.stop().await
    })
}

/// Somebody edits what the operator made.
async fn deface(cluster: &Cluster) -> Result<()> {
    let edit = json!({"data": {"key": "defaced"}});
    cluster
        .edit(CONFIG_MAP, "default/first", edit)
        .await
        .map(drop)
}

async fn undone(cluster: &Cluster) -> Result<()> {
    let map = cluster.get(CONFIG_MAP, "default/first").await?;
    ensure!(
        map.data["data"]["key"] == "value",
        "data: {}",
        map.data["data"]
    );
    Ok(())
}

/// A system outside Kubernetes that has something done after the first call.
#[derive(Clone, Default)]
struct Done(Arc<(AtomicUsize, AtomicUsize)>);

impl Driver for Done {
    fn system(&self) -> &'static str {
        "trial"
    }

    fn observe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        let (asked, called) = &*self.0;
        let asked = asked.fetch_add(1, Ordering::Relaxed);
        let is_done = called.load(Ordering::Relaxed) > 0;
        async move {
            match (asked, is_done) {
                (0, _) => Err(DriverError::Unavailable("trial is asleep".to_owned())),
                (_, true) => Ok(json!("done")),
                (_, false) => Ok(json!("to do")),
            }
        }
        .boxed()
    }

    fn call<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        self.0.1.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }.boxed()
    }
}

#[test]
fn systems_outside_are_asked_and_called() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let system = Done::default();
        let drivers: Vec<Box<dyn Driver>> = vec![Box::new(system.clone())];
        let running =
            Running::start(&machine, &account, trial(), drivers, Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        annotate(&cluster, "one", json!({"asks": "whether"})).await?;
        eventually("trial is done", seconds(20), async || {
            let one = cluster.get(TRIAL, "default/one").await?;
            ensure!(
                condition(&one, "TrialReady") == Some("True"),
                "{}",
                one.data["status"]
            );
            Ok(())
        })
        .await?;
        quiet(&cluster, "trial").await?;
        let (asked, called) = &*system.0;
        ensure!(
            called.load(Ordering::Relaxed) == 1,
            "called {called:?} times"
        );
        ensure!(asked.load(Ordering::Relaxed) == 3, "asked {asked:?} times");
        running.stop().await
    })
}

async fn cluster(machine: &Arc<Machine>, account: &str) -> Result<(Cluster, Cluster)> {
    let etcd = Etcd::start(machine)?;
    let cluster = Cluster::start(machine, &etcd, "control-plane").await?;
    let account = prepare(&cluster, account).await?;
    Ok((cluster, account))
}

async fn ready(cluster: &Cluster, name: &str) -> Result<()> {
    eventually(&format!("{name} is Ready"), minutes(1), async || {
        is(
            &cluster.get(TRIAL, &format!("default/{name}")).await?,
            "Ready",
        )
    })
    .await
}

async fn annotate(cluster: &Cluster, name: &str, annotations: Value) -> Result<()> {
    let change = json!({ "metadata": { "annotations": annotations } });
    cluster
        .edit(TRIAL, &format!("default/{name}"), change)
        .await
        .map(drop)
}

/// What a resource says under one type of condition.
fn said(object: &Value, type_: &str) -> Result<Value> {
    let conditions = object["status"]["conditions"].as_array();
    match conditions
        .into_iter()
        .flatten()
        .find(|said| said["type"] == type_)
    {
        Some(said) => Ok(said.clone()),
        None => bail!("nothing is said of {type_}"),
    }
}

const LATE_DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lates.lab.c5c3.io}
spec:
  group: lab.c5c3.io
  scope: Namespaced
  names: {kind: Late, plural: lates, singular: late}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {text: {type: string}}}
";

/// All that is needed, but nothing of Deployments.
const LESS_RIGHTS: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: less}
rules:
  - {apiGroups: [c5c3.io], resources: [secretaggregates, secretaggregates/status], verbs: [get, list, watch, patch, update]}
  - {apiGroups: ['', lab.c5c3.io], resources: [configmaps, secrets, lates], verbs: [get, list, watch, patch, create]}
  - {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: less}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: less}
subjects: [{kind: ServiceAccount, name: trial, namespace: default}]
";
