//! Control planes whose hypervisor pools are in several cells of Nova.

use c5c3_kinds::Manifest;
use c5c3_kinds::cert_manager::Certificate;
use provider_composer::Key;
use provider_control_plane::graph::Node;
use serde_json::{Value, json};

use crate::stage::{NAMESPACE, Stage};

fn cells(stage: &Stage) -> Value {
    stage.object(Node::Nova).unwrap()["spec"]["cells"].clone()
}

/// cell1 is always there, and always first: its database is that of Nova itself.
#[test]
fn nova_has_cell1_and_those_that_the_control_plane_names() {
    let pools = json!({ "hypervisorClusters": ["hv-pool-a", "hv-pool-b"] });
    let mut stage = Stage::running(json!({ "compute": pools }));
    let first = json!({ "name": "cell1" });
    assert_eq!(cells(&stage), json!([first]));
    for name in ["cell2", "cell0a"] {
        let cell = json!({ "name": name, "hypervisorClusters": ["hv-pool-b"] });
        stage.want(|spec| spec["compute"]["cells"] = json!([cell]));
        stage.simulate();
        assert_eq!(cells(&stage), json!([first, { "name": name }]));
        assert_eq!(stage.condition("Ready").0, "True");
    }
    stage.want(|spec| spec["compute"] = pools);
    stage.simulate();
    assert_eq!(cells(&stage), json!([first]));
}

/// It keeps former credentials until the agents of all pools have the present ones.
#[test]
fn nova_gets_what_the_agents_of_hypervisor_pools_run_with() {
    let agents = json!([{ "name": "hv-pool-a", "configuration": "4dc3b9ee" }]);
    let compute = json!({ "hypervisorClusters": ["hv-pool-a"], "agents": agents });
    let stage = Stage::running(json!({ "compute": compute }));
    assert_eq!(stage.object(Node::Nova).unwrap()["spec"]["agents"], agents);
}

#[test]
fn consoles_of_each_cell_have_a_host_name_and_a_certificate_of_their_own() {
    let consoles = |host: &str| json!({ "hostname": host, "ingress": {} });
    let cell2 = json!({
        "name": "cell2",
        "hypervisorClusters": ["hv-pool-b"],
        "consoles": consoles("novnc2.example.com"),
    });
    let stage = Stage::running(json!({
        "compute": { "hypervisorClusters": ["hv-pool-a", "hv-pool-b"], "cells": [cell2] },
        "services": { "nova": { "consoles": consoles("novnc.example.com") } },
        "global": { "tls": { "issuerRef": { "name": "public" } } },
    }));
    for (index, name, host) in [
        (0_usize, "consoles-public-tls", "novnc.example.com"),
        (1, "consoles-cell2-public-tls", "novnc2.example.com"),
    ] {
        let key = Key::of::<Manifest<Certificate>>(NAMESPACE, name);
        let certificate = stage.cluster.get(&key).unwrap();
        assert_eq!(certificate["spec"]["dnsNames"], json!([host]));
        let expected = json!({ "hostname": host, "ingress": { "tlsSecretName": name } });
        assert_eq!(cells(&stage)[index]["consoles"], expected);
    }
}

#[test]
fn control_plane_says_whether_consoles_of_another_cell_than_cell1_are_reached() {
    let consoles = json!({ "hostname": "novnc.example.com", "gateway": { "name": "public" } });
    let cell =
        json!({ "name": "cell2", "hypervisorClusters": ["hv-pool-a"], "consoles": consoles });
    let compute = json!({ "hypervisorClusters": ["hv-pool-a"], "cells": [cell] });
    let mut stage = Stage::running(json!({ "compute": compute }));
    assert_eq!(stage.condition("Exposed").0, "True");
    stage.is_gateway_away = true;
    stage.simulate();
    assert_eq!(stage.condition("Exposed").0, "False");
}
