//! A service of several components, with two databases and two message buses.

use std::collections::BTreeMap;

use c5c3_api::neutron::NeutronSpec;
use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::Certificate;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::Custom;
use provider_openstack_fixtures::{Cluster, Complete, NAMESPACE, shown};
use serde_json::{Value, json};

const NEUTRON: Complete = Complete;

/// The service with external message buses.
fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    for part in ["neutron", "neutron-cell1"] {
        cluster.secret(
            &format!("{part}-db-credentials"),
            &[("password", "db-s3cret")],
        );
        let bus = [("password", "bus-s3cret"), ("host", "bus.example.com")];
        cluster.secret(&format!("{part}-rabbitmq-credentials"), &bus);
    }
    let neutron = json!({
        "apiVersion": "neutron.openstack.c5c3.io/v1alpha1",
        "kind": "Neutron",
        "metadata": { "name": "neutron", "namespace": "openstack" },
        "spec": { "release": "2025.1", "ovn": {}, "tls": { "issuerRef": { "name": "ca" } } },
    });
    cluster.put_document::<Custom<NeutronSpec>>(&neutron.to_string());
    cluster
}

fn running() -> Cluster {
    let mut cluster = given();
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(
        cluster.condition(&NEUTRON, "neutron", "Ready"),
        ("True".to_owned(), "Ready".to_owned(), String::new())
    );
    cluster
}

/// The tag of each Deployment's image.
fn tags(cluster: &Cluster) -> BTreeMap<String, String> {
    let all = cluster.all::<Deployment>().into_iter();
    all.map(|(name, deployment)| {
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        let tag = image.as_str().and_then(|image| image.rsplit(':').next());
        (name.to_owned(), tag.unwrap_or_default().to_owned())
    })
    .collect()
}

fn upgrade(cluster: &mut Cluster) {
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["spec"]["release"] = json!("2025.2");
    });
}

fn tasks(cluster: &Cluster) -> Vec<String> {
    let jobs = cluster.all::<Job>().into_values();
    let task = |job: &Value| {
        job["metadata"]["labels"]["c5c3.io/task"]
            .as_str()
            .map(str::to_owned)
    };
    let mut tasks: Vec<String> = jobs.filter_map(task).collect();
    tasks.sort();
    tasks
}

#[test]
fn service_of_several_components_is_composed() {
    let mut cluster = given();
    let answer = cluster.settle(&NEUTRON, "neutron");
    insta::assert_yaml_snapshot!(shown(&answer));
}

#[test]
fn public_endpoint_is_reported_while_it_answers() {
    let mut cluster = given();
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["spec"]["expose"] =
            json!({ "hostname": "network.example.com", "gateway": { "name": "public" } });
    });
    let reported = |cluster: &mut Cluster| {
        let answer = cluster.compose(&NEUTRON, "neutron").unwrap();
        answer.status["publicEndpoint"].clone()
    };
    assert_eq!(reported(&mut cluster), Value::Null, "no pods");
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(
        reported(&mut cluster),
        Value::Null,
        "the Gateway hasn't accepted the route"
    );
    cluster.accept_route("neutron");
    assert_eq!(
        reported(&mut cluster),
        Value::Null,
        "the Gateway doesn't exist any more"
    );
    cluster.put_gateway(NAMESPACE, "public");
    let public = json!("https://network.example.com");
    assert_eq!(reported(&mut cluster), public);
    upgrade(&mut cluster);
    assert_eq!(
        reported(&mut cluster),
        public,
        "pods of the older release answer"
    );
    cluster.change::<Deployment>("neutron", |deployment| {
        deployment["status"]["readyReplicas"] = json!(0);
    });
    assert_eq!(reported(&mut cluster), Value::Null, "no pod is ready");
}

#[test]
fn public_endpoint_behind_an_ingress_is_reported_once_a_controller_serves_it() {
    let mut cluster = given();
    cluster.change::<Custom<NeutronSpec>>("neutron", |neutron| {
        neutron["spec"]["expose"] = json!({ "hostname": "network.example.com", "ingress": {} });
    });
    let answer = cluster.settle(&NEUTRON, "neutron");
    assert_eq!(answer.status["publicEndpoint"], Value::Null);
    cluster.serve_ingress("neutron");
    let answer = cluster.settle(&NEUTRON, "neutron");
    assert_eq!(
        answer.status["publicEndpoint"],
        "https://network.example.com"
    );
}

#[test]
fn proxy_that_takes_no_connections_is_unready_but_not_restarted() {
    let cluster = running();
    let proxy = cluster.get::<Deployment>("neutron-console").unwrap();
    let proxy = &proxy["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        proxy["readinessProbe"]["tcpSocket"],
        json!({ "port": 6080 })
    );
    assert!(proxy["livenessProbe"].is_null(), "{proxy}");
}

#[test]
fn pod_is_unready_after_half_a_minute_and_commands_ask_half_as_often_as_requests() {
    let cluster = running();
    let mut periods = BTreeMap::new();
    for (name, deployment) in cluster.all::<Deployment>() {
        let probe = &deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"];
        let period = probe["periodSeconds"].as_u64().unwrap();
        let failures = probe["failureThreshold"].as_u64().unwrap();
        assert_eq!(period * failures, 30, "{name}");
        periods.insert(probe.get("exec").is_some(), period);
    }
    assert_eq!(periods, BTreeMap::from([(false, 5), (true, 10)]));
}

#[test]
fn api_whose_workers_are_all_busy_is_unready_but_alive() {
    let cluster = running();
    let api = cluster.get::<Deployment>("neutron").unwrap();
    let api = &api["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(api["readinessProbe"]["httpGet"]["path"], "/ready");
    assert_eq!(
        api["livenessProbe"],
        json!({ "tcpSocket": { "port": 9696 }, "periodSeconds": 15, "timeoutSeconds": 5, "failureThreshold": 6 })
    );
    let command = api["command"].as_array().unwrap();
    assert!(
        command
            .windows(2)
            .any(|pair| pair == [json!("--harakiri"), json!("300")]),
        "{command:?}"
    );
}

#[test]
fn tasks_run_after_those_that_they_name() {
    let mut cluster = given();
    for _ in 0..2 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
        if tasks(&cluster).is_empty() {
            cluster.simulate();
        }
    }
    assert_eq!(tasks(&cluster), ["cell-sync", "db-sync"]);
    cluster.simulate();
    cluster.compose(&NEUTRON, "neutron").unwrap();
    assert_eq!(tasks(&cluster), ["cell-map", "cell-sync", "db-sync"]);
    assert!(cluster.all::<Deployment>().is_empty());
}

#[test]
fn upgrade_rolls_the_conductor_before_the_components_that_follow_it() {
    let mut cluster = running();
    upgrade(&mut cluster);
    let mut seen = vec![tags(&cluster)];
    for _ in 0..12 {
        cluster.compose(&NEUTRON, "neutron").unwrap();
        let now = tags(&cluster);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        cluster.simulate();
    }
    let at = |conductor: &str, others: &str| {
        let tags = [
            ("neutron", others),
            ("neutron-cell1-conductor", conductor),
            ("neutron-console", others),
            ("neutron-scheduler", others),
        ];
        let tags = tags.map(|(name, tag)| (name.to_owned(), tag.to_owned()));
        BTreeMap::from(tags)
    };
    assert_eq!(
        seen,
        [
            at("26.0.6", "26.0.6"),
            at("27.0.4", "26.0.6"),
            at("27.0.4", "27.0.4"),
        ]
    );
}

#[test]
fn configuration_of_a_rolling_conductor_is_kept_until_its_pods_are_replaced() {
    let mut cluster = running();
    let files = |cluster: &Cluster| -> Vec<String> {
        let secrets = cluster.all::<Secret>().into_keys();
        let maps = cluster.all::<ConfigMap>().into_keys();
        let all = secrets.chain(maps).filter(|name| name.contains("-config-"));
        all.map(str::to_owned).collect()
    };
    let before = files(&cluster);
    // The conductor's Deployment reports pods of two revisions; the others are unchanged.
    cluster.secret(
        "neutron-cell1-db-credentials",
        &[("password", "another-s3cret")],
    );
    cluster.compose(&NEUTRON, "neutron").unwrap();
    cluster.compose(&NEUTRON, "neutron").unwrap();
    let during = files(&cluster);
    assert!(
        before.iter().all(|file| during.contains(file)),
        "{during:?}"
    );
    cluster.settle(&NEUTRON, "neutron");
    assert_eq!(files(&cluster).len(), before.len());
}

/// What cert-manager says of an issued certificate.
fn issued(renewal: &str, end: &str, conditions: &Value) -> Value {
    json!({ "renewalTime": renewal, "notAfter": end, "conditions": conditions })
}

/// The condition that certificates are renewed, where there is one.
fn renewed(cluster: &Cluster) -> Option<&Value> {
    let neutron = cluster.get::<Custom<NeutronSpec>>("neutron")?;
    let mut conditions = neutron["status"]["conditions"].as_array()?.iter();
    conditions.find(|condition| condition["type"] == "CertificatesRenewed")
}

/// Pods with an expired certificate are ready, since no probe verifies it.
#[test]
fn certificate_that_is_not_renewed_in_time_is_reported_before_it_expires() {
    let mut cluster = running();
    let set = |cluster: &mut Cluster, status: Value| {
        cluster.change::<Manifest<Certificate>>("neutron-console-tls", |certificate| {
            certificate["status"] = status;
        });
    };
    let refused = json!([
        { "type": "Ready", "status": "True" },
        { "type": "Issuing", "status": "False", "reason": "Failed", "message": "the issuer refused the name" },
    ]);
    let old = issued("2026-02-11T00:00:00Z", "2026-02-21T00:00:00Z", &refused);
    set(&mut cluster, old);
    let composed = cluster.compose(&NEUTRON, "neutron").unwrap();
    let overdue: Timestamp = "2026-02-16T00:00:00Z".parse().unwrap();
    let wakes = composed.desired.requeue_at;
    assert!(wakes.is_some_and(|at| at <= overdue), "{wakes:?}");
    assert_eq!(renewed(&cluster), None, "cert-manager tries again");

    cluster.wait_until(overdue);
    cluster.compose(&NEUTRON, "neutron").unwrap();
    let reported = renewed(&cluster).unwrap();
    let says = "Certificate neutron-console-tls was to be renewed at 2026-02-11T00:00:00Z, and clients refuse it from \
                2026-02-21T00:00:00Z on: the issuer refused the name; see `kubectl describe certificates -n openstack \
                neutron-console-tls`, and correct its issuer";
    assert_eq!(
        ["status", "reason", "message"].map(|field| &reported[field]),
        ["False", "CertificateNotRenewed", says]
    );
    assert_eq!(cluster.condition(&NEUTRON, "neutron", "Ready").0, "True");

    let ready = json!([{ "type": "Ready", "status": "True" }]);
    let new = issued("2026-02-26T00:00:00Z", "2026-03-08T00:00:00Z", &ready);
    set(&mut cluster, new);
    cluster.compose(&NEUTRON, "neutron").unwrap();
    assert_eq!(renewed(&cluster), None);
}
