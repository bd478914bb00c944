//! A Nova from its resource to running pods, in a small cluster in memory.

#![cfg(test)]

mod agents;
mod archive;
mod cells;
mod consoles;
mod entry;
mod ephemeral;
mod hypervisors;
mod metrics;
mod parts;
mod removal;
mod trust;
mod upgrade;

use std::process::Command;

use c5c3_api::nova::NovaSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, SecretValues};
use provider_nova::Nova;
use provider_openstack::compute_configuration;
use provider_openstack_fixtures::{Cluster, assert_recovers, documents, shown};
use serde_json::{Value, json};

const NOVA: Nova = Nova;

/// Python that creates modules which stand for those of Nova.
const MODULE: &str = r#"
import sys, types

def module(name, **content):
    made = types.ModuleType(name)
    made.__dict__.update(content)
    sys.modules[name] = made
    return made
"#;

/// What a program in Python prints with modules that stand for Nova's, of which `fake` creates all.
fn printed(python: &str, fake: &str, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(python)
        .args(["-c", &format!("{MODULE}{fake}\n{program}")])
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Nova with message buses that are run externally, and all that it waits for.
fn given() -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.keystone(true);
    for database in ["nova", "nova-api", "nova-cell0"] {
        cluster.secret(
            &format!("{database}-db-credentials"),
            &[("password", "db-s3cret")],
        );
    }
    for bus in ["nova", "nova-cell1"] {
        cluster.secret(
            &format!("{bus}-rabbitmq-credentials"),
            &[("password", "bus-s3cret"), ("host", "bus.example.com")],
        );
    }
    cluster.secret(
        "nova-keystone-credentials",
        &[
            ("application_credential_id", "1f2e"),
            ("application_credential_secret", "app-s3cret"),
        ],
    );
    let nova = json!({
        "apiVersion": "nova.openstack.c5c3.io/v1alpha1",
        "kind": "Nova",
        "metadata": { "name": "nova", "namespace": "openstack", "uid": "1234" },
        "spec": {
            "release": "2025.2",
            "tls": { "issuerRef": { "name": "ca" } },
            "cache": {},
            "cells": [{ "name": "cell1" }],
        },
    });
    cluster.put_document::<Custom<NovaSpec>>(&nova.to_string());
    cluster
}

fn change(cluster: &mut Cluster, change: impl FnOnce(&mut Value)) {
    cluster.change::<Custom<NovaSpec>>("nova", |nova| change(&mut nova["spec"]));
}

fn running() -> Cluster {
    let mut cluster = given();
    cluster.settle(&NOVA, "nova");
    assert_eq!(
        cluster.condition(&NOVA, "nova", "Ready"),
        ("True".to_owned(), "Ready".to_owned(), String::new())
    );
    cluster
}

/// A cell with servers of its own, and the Secrets that it names.
fn add_cell2(cluster: &mut Cluster) {
    cluster.secret("nova-cell2-db-credentials", &[("password", "db2-s3cret")]);
    cluster.secret(
        "nova-cell2-rabbitmq-credentials",
        &[("password", "bus2-s3cret"), ("host", "bus2.example.com")],
    );
    change(cluster, |spec| {
        spec["cells"] = json!([{ "name": "cell1" }, { "name": "cell2" }]);
    });
}

/// The configuration in a cell's Secret for hypervisors.
fn configuration(cluster: &Cluster, cell: &str) -> String {
    let secret = cluster.get::<Secret>(&format!("nova-{cell}-compute"));
    let secret: SecretValues = serde_json::from_value(secret.unwrap().clone()).unwrap();
    compute_configuration(&secret).unwrap()
}

/// Replaces the application credential with the next one.
fn replace_application_credential(cluster: &mut Cluster) {
    cluster.secret(
        "nova-keystone-credentials",
        &[
            ("application_credential_id", "3d4c"),
            ("application_credential_secret", "next-s3cret"),
        ],
    );
}

/// Jobs by their task, with the command of each, in which a script is just called so.
fn jobs(cluster: &Cluster) -> Vec<(String, String)> {
    let all = cluster.all::<Job>().into_values();
    let mut jobs: Vec<(String, String)> = all
        .map(|job| {
            let task = job["metadata"]["labels"]["c5c3.io/task"].as_str();
            let command = &job["spec"]["template"]["spec"]["containers"][0]["command"];
            let words = command.as_array().into_iter().flatten();
            let words = words.filter_map(Value::as_str);
            let words: Vec<&str> = words
                .map(|word| if word.contains('\n') { "SCRIPT" } else { word })
                .collect();
            (task.unwrap_or_default().to_owned(), words.join(" "))
        })
        .collect();
    jobs.sort();
    jobs
}

fn job(cluster: &Cluster, task: &str) -> String {
    let all = cluster.all::<Job>();
    let found = all
        .iter()
        .find(|(_, job)| job["metadata"]["labels"]["c5c3.io/task"] == task);
    found
        .map(|(name, _)| (*name).to_owned())
        .unwrap_or_default()
}

/// The mappings that the API's pods were started with.
fn mappings(cluster: &Cluster) -> Vec<String> {
    let deployment = cluster.get::<Deployment>("nova");
    let volumes = deployment.map(|it| &it["spec"]["template"]["spec"]["volumes"]);
    let volumes = volumes.and_then(Value::as_array).into_iter().flatten();
    let configs = volumes.filter(|volume| volume["name"] == "config");
    let secrets = configs.filter_map(|volume| volume["secret"]["secretName"].as_str());
    let cells: String = secrets
        .filter_map(|secret| cluster.value(secret, "cells"))
        .collect();
    let names = cells.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn nova_is_composed() {
    let mut cluster = given();
    let answer = cluster.settle(&NOVA, "nova");
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
    insta::assert_yaml_snapshot!(shown(&answer));
}

/// With users of MariaDB and RabbitMQ that the operator creates.
#[test]
fn nova_recovers_from_kills_of_its_operator() {
    assert_recovers(&NOVA, "nova", || {
        let mut cluster = Cluster::with_infrastructure();
        cluster.keystone(true);
        cluster.put_document::<Custom<NovaSpec>>(documents::NOVA);
        change(&mut cluster, |spec| {
            spec["cells"] = json!([{ "name": "cell1" }]);
        });
        cluster
    });
}

#[test]
fn nova_migrates_databases_and_maps_cells_in_order() {
    let mut cluster = given();
    cluster.compose(&NOVA, "nova").unwrap();
    cluster.simulate();
    cluster.compose(&NOVA, "nova").unwrap();
    cluster.simulate();
    let mut steps = Vec::new();
    for _ in 0..4 {
        cluster.compose(&NOVA, "nova").unwrap();
        let tasks: Vec<String> = jobs(&cluster).into_iter().map(|(task, _)| task).collect();
        steps.push((tasks.join(" "), cluster.all::<Deployment>().len()));
        cluster.simulate();
    }
    insta::assert_yaml_snapshot!(steps);
}

#[test]
fn no_password_is_on_a_command_line() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    cluster.settle(&NOVA, "nova");
    insta::assert_yaml_snapshot!(jobs(&cluster));
}

/// Attaching a volume takes up to half an hour, and connections that wait for a worker fill uwsgi's queue, those of probes too.
#[test]
fn api_is_unready_but_not_restarted_while_all_workers_are_busy() {
    let cluster = running();
    for api in ["nova", "nova-metadata"] {
        let deployment = cluster.get::<Deployment>(api).unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/ready");
        assert!(container["livenessProbe"].is_null(), "{api}");
    }
}

#[test]
fn upgrade_checks_first_and_rolls_conductors_then_apis_then_computes() {
    let mut cluster = running();
    let image = |cluster: &Cluster, name: &str| {
        let deployment = cluster.get::<Deployment>(name).unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    let compute = |cluster: &Cluster| cluster.value("nova-cell1-compute", "release").unwrap();
    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    let mut steps = Vec::new();
    for _ in 0..10 {
        cluster.compose(&NOVA, "nova").unwrap();
        let tag = |image: &str| image.rsplit(':').next().unwrap_or_default().to_owned();
        let tags = [
            "nova-conductor",
            "nova-cell1-conductor",
            "nova-scheduler",
            "nova",
        ]
        .map(|name| format!("{name}={}", tag(image(&cluster, name).as_str().unwrap())));
        let tasks: Vec<String> = jobs(&cluster).into_iter().map(|(task, _)| task).collect();
        let step = format!(
            "{} compute={} | {}",
            tags.join(" "),
            compute(&cluster),
            tasks.join(" ")
        );
        if steps.last() != Some(&step) {
            steps.push(step);
        }
        cluster.simulate();
    }
    insta::assert_yaml_snapshot!(steps);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}

#[test]
fn upgrade_waits_while_what_runs_is_not_ready_for_it() {
    let mut cluster = running();
    let before = cluster.get::<Deployment>("nova").cloned();
    change(&mut cluster, |spec| spec["release"] = json!("2026.1"));
    cluster.compose(&NOVA, "nova").unwrap();
    let check = job(&cluster, "status-check");
    cluster.finish_job(&check, "Failed");
    cluster.settle(&NOVA, "nova");
    let (_, reason, message) = cluster.condition(&NOVA, "nova", "Ready");
    assert_eq!(reason, "JobFailed");
    assert!(
        message.contains("Nova 2025.2 isn't ready for 2026.1"),
        "{message}"
    );
    assert_eq!(cluster.get::<Deployment>("nova").cloned(), before);
    let tasks: Vec<String> = jobs(&cluster).into_iter().map(|(task, _)| task).collect();
    assert!(tasks.contains(&"status-check".to_owned()));
}

#[test]
fn external_scheduler_is_asked_by_the_fork_alone() {
    let mut cluster = given();
    change(&mut cluster, |spec| {
        spec["scheduler"] =
            json!({ "externalScheduler": { "enabled": true, "endpoint": "http://cortex:8080" } });
    });
    cluster.settle(&NOVA, "nova");
    let condition = |cluster: &Cluster, type_: &str| cluster.condition(&NOVA, "nova", type_);
    assert_eq!(
        condition(&cluster, "ExternalSchedulerReady").1,
        "NotInImage"
    );
    assert_eq!(condition(&cluster, "Ready").0, "True");
    change(&mut cluster, |spec| {
        spec["image"] = json!({ "fork": "sap" })
    });
    cluster.settle(&NOVA, "nova");
    assert_eq!(condition(&cluster, "ExternalSchedulerReady").0, "True");
}

#[test]
fn fields_without_effect_are_reported() {
    let mut cluster = running();
    add_cell2(&mut cluster);
    change(&mut cluster, |spec| {
        spec["cells"][0]["computeRef"] = json!({ "name": "hv-pool-gone" });
        spec["cells"][1]["computeRef"] = json!({ "name": "hv-pool-b" });
        spec["compute"] = json!({ "resources": { "requests": { "cpu": "1" } } });
        spec["aggregates"] =
            json!([{ "name": "hv-pool-a" }, { "name": "hv-pool-b", "availabilityZone": "az-2" }]);
        spec["serviceAuth"] = json!({
            "placementServiceUserRef": { "name": "placement" },
            "cinderServiceUserRef": { "name": "volumes" },
        });
    });
    cluster.settle(&NOVA, "nova");
    let reported = [
        "AgentSettingsApplied",
        "AggregatesReady",
        "CellHostsAssigned",
        "ServiceAuthReady",
    ]
    .map(|type_| cluster.condition(&NOVA, "nova", type_));
    insta::assert_yaml_snapshot!(reported);
    assert_eq!(cluster.condition(&NOVA, "nova", "Ready").0, "True");
}
