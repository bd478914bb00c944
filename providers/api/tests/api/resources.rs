//! What operators reconcile: how it is shown, and what it defaults to.

use std::collections::BTreeSet;

use c5c3_api::{
    Generation, cinder::CinderSpec, control_plane::ControlPlaneSpec, cortex::CortexSpec,
    credential_rotation::CredentialRotationSpec, custom_resource::is_defined, custom_resources,
    definitions, glance::GlanceSpec, hypervisor::HypervisorPoolSpec,
    hypervisor::HypervisorShareSpec, keystone::KeystoneSpec, neutron::NeutronSpec, nova::NovaSpec,
    ovn_chassis::OvnChassisSpec, ovn_cluster::OvnClusterSpec, placement::PlacementSpec,
    secret_aggregate::SecretAggregateSpec, shoot_kubeconfig::ShootKubeconfigSpec,
    tempest::TempestSpec,
};
use serde_json::{Value, json};

use crate::contract::assert_same_defaults;

/// The kinds of the contract, by group.
const KINDS: [(&str, &str); 16] = [
    ("c5c3.io", "ControlPlane"),
    ("c5c3.io", "SecretAggregate"),
    ("c5c3.io", "CredentialRotation"),
    ("keystone.openstack.c5c3.io", "Keystone"),
    ("glance.openstack.c5c3.io", "Glance"),
    ("placement.openstack.c5c3.io", "Placement"),
    ("nova.openstack.c5c3.io", "Nova"),
    ("neutron.openstack.c5c3.io", "Neutron"),
    ("cinder.openstack.c5c3.io", "Cinder"),
    ("cortex.c5c3.io", "Cortex"),
    ("tempest.openstack.c5c3.io", "Tempest"),
    ("ovn.c5c3.io", "OVNCluster"),
    ("ovn.c5c3.io", "OVNChassis"),
    ("hypervisor.c5c3.io", "HypervisorPool"),
    ("hypervisor.c5c3.io", "HypervisorShare"),
    ("gardener.c5c3.io", "ShootKubeconfig"),
];

pub fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap()
}

fn version(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]
}

pub fn root(definition: &Value) -> &Value {
    &version(definition)["schema"]["openAPIV3Schema"]
}

#[test]
fn definitions_have_the_text_that_tells_whose_they_are() {
    for definition in custom_resources() {
        assert_eq!(
            text(
                root(&definition),
                "/properties/status/properties/observedGeneration/description"
            ),
            "Generation of the spec that the status is of.",
            "{}: operators of other versions look for it",
            definition["metadata"]["name"]
        );
    }
}

#[test]
fn names_of_definitions_are_told_from_others_in_the_same_groups() {
    for definition in custom_resources() {
        let group = text(&definition, "/spec/group");
        let plural = text(&definition, "/spec/names/plural");
        assert!(is_defined(group, plural), "{plural}.{group}");
        assert!(!is_defined(group, "lates"), "{group}");
        assert!(!is_defined("lab.c5c3.io", plural), "{plural}");
    }
}

#[test]
fn kinds_of_the_contract_are_all_there() {
    let found: Vec<_> = custom_resources()
        .iter()
        .map(|definition| {
            let [group, kind] = ["/spec/group", "/spec/names/kind"].map(|at| text(definition, at));
            (group.to_owned(), kind.to_owned())
        })
        .collect();
    let wanted = KINDS.map(|(group, kind)| (group.to_owned(), kind.to_owned()));
    assert_eq!(found, wanted);
}

#[test]
fn names_are_as_the_api_server_wants_them() {
    let mut short = BTreeSet::new();
    for definition in definitions(Generation::V1) {
        let claim = definition.spec.claim_names.unwrap();
        short.extend(claim.short_names);
        short.extend(definition.spec.names.short_names);
    }
    for definition in custom_resources() {
        let [name, group, plural] =
            ["/metadata/name", "/spec/group", "/spec/names/plural"].map(|at| text(&definition, at));
        assert_eq!(name, format!("{plural}.{group}"));
        assert_eq!(plural, plural.to_lowercase());
        assert_eq!(
            definition["spec"]["names"]["categories"],
            json!(["openstack"])
        );
        assert_eq!(
            version(&definition)["subresources"],
            json!({ "status": {} })
        );
        let nick = text(&definition, "/spec/names/shortNames/0").to_owned();
        assert!(short.insert(nick.clone()), "{nick} is short for two kinds");
    }
}

/// What a column's path leads to, if it leads anywhere. A condition is found by its type.
fn column<'v>(root: &'v Value, path: &str) -> Option<&'v Value> {
    let path = path.replace("[?(@.type=='Ready')]", "[*]");
    path.trim_start_matches('.')
        .split('.')
        .try_fold(root, |schema, name| {
            let (name, items) = match name.strip_suffix("[*]") {
                Some(name) => (name, true),
                None => (name, false),
            };
            let field = schema["properties"]
                .get(name)
                .or_else(|| schema.get("additionalProperties"))?;
            match items {
                true => field.get("items"),
                false => Some(field),
            }
        })
}

#[test]
fn columns_say_first_whether_it_is_ready_and_last_how_old_it_is() {
    for definition in custom_resources() {
        let columns = version(&definition)["additionalPrinterColumns"]
            .as_array()
            .unwrap();
        let names: Vec<_> = columns.iter().map(|column| text(column, "/name")).collect();
        assert_eq!(names.first(), Some(&"Ready"));
        assert_eq!(names.last(), Some(&"Age"));
        assert!(names.len() >= 3, "{names:?}");
        for entry in &columns[..columns.len() - 1] {
            let path = text(entry, "/jsonPath");
            let field = column(root(&definition), path)
                .unwrap_or_else(|| panic!("{names:?}: {path} points nowhere"));
            let kind = text(entry, "/type");
            match kind {
                "date" => assert_eq!(field["format"], "date-time", "{path}"),
                "integer" => assert_eq!(field["type"], "integer", "{path}"),
                _ => assert_eq!(kind, "string", "{path}"),
            }
        }
    }
}

#[test]
fn conditions_are_by_type_and_may_say_no_more_than_that_and_whether() {
    for definition in custom_resources() {
        let conditions = &root(&definition)["properties"]["status"]["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-type"], "map");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
        assert_eq!(conditions["items"]["required"], json!(["type", "status"]));
    }
}

#[test]
fn defaults_are_those_of_the_schema() {
    assert_same_defaults::<ControlPlaneSpec>(json!({}));
    assert_same_defaults::<ControlPlaneSpec>(json!({
        "services": { "keystone": { "replicas": 1, "fernet": {} }, "octavia": {} },
        "infrastructure": { "mariadb": { "maxScale": {}, "external": { "host": "a" } }, "valkey": { "tls": {} } },
        "cortex": {}, "tempest": { "tests": {} }, "korc": { "enabled": false },
        "secretStoreRef": { "name": "a", "path": "a/b" }, "global": { "tls": { "issuerRef": { "name": "a" } } },
        "storage": { "ceph": {} }, "compute": {},
    }));
    assert_same_defaults::<ControlPlaneSpec>(json!({ "infrastructure": { "ovn": {
        "northbound": {}, "southbound": { "replicas": 1 }, "timers": {}, "northd": {}, "relay": {}, "backup": {},
    } } }));
    assert_same_defaults::<SecretAggregateSpec>(json!({
        "sources": [{ "secretRef": { "name": "a" } }], "target": { "name": "b" },
    }));
    assert_same_defaults::<CredentialRotationSpec>(json!({ "targetServiceUser": "nova" }));
    assert_same_defaults::<KeystoneSpec>(json!({
        "bootstrap": { "adminPasswordSecretRef": { "name": "a" } },
        "database": { "secretRef": { "name": "a" } },
        "dependsOn": [{ "kind": "OVNCluster", "name": "a" }],
    }));
    assert_same_defaults::<GlanceSpec>(json!({ "storage": { "backend": "file", "file": {} } }));
    assert_same_defaults::<PlacementSpec>(json!({}));
    assert_same_defaults::<NovaSpec>(json!({}));
    assert_same_defaults::<NovaSpec>(json!({
        "cells": [{ "name": "a", "conductor": {} }], "cache": {}, "scheduler": { "externalScheduler": {} },
    }));
    assert_same_defaults::<NeutronSpec>(json!({ "ovn": {} }));
    assert_same_defaults::<CinderSpec>(json!({}));
    assert_same_defaults::<CinderSpec>(json!({
        "backends": [{ "name": "a", "rbd": { "pool": "a", "cephSecretRef": { "name": "a" } } }],
    }));
    assert_same_defaults::<CortexSpec>(json!({}));
    assert_same_defaults::<TempestSpec>(json!({}));
    assert_same_defaults::<OvnClusterSpec>(json!({}));
    assert_same_defaults::<OvnChassisSpec>(json!({ "hostname": "a" }));
    assert_same_defaults::<HypervisorPoolSpec>(json!({ "mode": "Shared" }));
    assert_same_defaults::<HypervisorShareSpec>(json!({ "controlPlane": "a", "weight": 1 }));
    assert_same_defaults::<ShootKubeconfigSpec>(json!({
        "garden": { "name": "a" }, "shoot": { "namespace": "a", "name": "b" }, "target": { "name": "b" },
    }));
}

#[test]
fn services_of_a_control_plane_are_read_by_either_name_and_by_none() {
    let read = |spec: Value| serde_json::from_value::<ControlPlaneSpec>(spec);
    let services = json!({ "keystone": { "replicas": 5 }, "cinder": { "enabled": false } });
    for name in ["services", "openstack"] {
        let services = read(json!({ name: services })).unwrap().services();
        assert_eq!(services.keystone.service.api.replicas, 5, "{name}");
        assert_eq!(services.glance.service.api.replicas, 2, "{name}");
        assert!(services.nova.enabled && !services.cinder.enabled, "{name}");
    }
    let none = read(json!({})).unwrap();
    assert!(none.services().cinder.enabled && none.services().octavia.is_none());
    assert!(none.korc().enabled);
    let both = read(json!({ "services": services, "openstack": services })).unwrap_err();
    assert_eq!(both.to_string(), "duplicate field `services`");
}

/// What is needed, by kind: nothing more.
#[test]
fn specs_require_little() {
    let required: Vec<_> = custom_resources()
        .iter()
        .map(|definition| root(definition)["properties"]["spec"]["required"].clone())
        .collect();
    assert_eq!(
        Value::Array(required),
        json!([
            null,
            ["sources", "target"],
            ["targetServiceUser"],
            ["bootstrap"],
            ["storage"],
            null,
            null,
            ["ovn"],
            null,
            null,
            null,
            null,
            ["hostname"],
            ["mode"],
            ["controlPlane", "weight"],
            ["garden", "shoot", "target"],
        ])
    );
}

/// Defaults that the seeds or the contract give.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("ControlPlane", "openStackRelease", "\"2025.2\""),
    ("ControlPlane", "infrastructure.mariadb.replicas", "3"),
    (
        "ControlPlane",
        "infrastructure.mariadb.storageSize",
        "\"100Gi\"",
    ),
    ("ControlPlane", "infrastructure.rabbitmq.replicas", "3"),
    (
        "ControlPlane",
        "infrastructure.rabbitmq.storageSize",
        "\"20Gi\"",
    ),
    (
        "ControlPlane",
        "infrastructure.valkey.sentinel.enabled",
        "true",
    ),
    ("ControlPlane", "infrastructure.memcached.memory", "\"1Gi\""),
    ("ControlPlane", "services.keystone.enabled", "true"),
    ("ControlPlane", "services.nova.api.replicas", "3"),
    ("ControlPlane", "openstack.keystone.enabled", "true"),
    ("ControlPlane", "openstack.nova.api.replicas", "3"),
    ("ControlPlane", "cortex.enabled", "false"),
    ("ControlPlane", "tempest.enabled", "false"),
    ("ControlPlane", "korc.enabled", "true"),
    ("ControlPlane", "global.region", "\"RegionOne\""),
    ("ControlPlane", "global.network.mtu", "1500"),
    (
        "CredentialRotation",
        "rotationType",
        "\"applicationCredential\"",
    ),
    ("CredentialRotation", "schedule.intervalDays", "90"),
    ("CredentialRotation", "schedule.preRotationDays", "7"),
    ("CredentialRotation", "gracePeriodDays", "1"),
    ("Keystone", "replicas", "3"),
    ("Keystone", "cache.backend", "\"dogpile.cache.pymemcache\""),
    ("Keystone", "fernet.rotationSchedule", "\"0 0 * * 0\""),
    ("Keystone", "fernet.maxActiveKeys", "3"),
    ("Keystone", "federation.enabled", "false"),
    ("Keystone", "bootstrap.adminUser", "\"admin\""),
    ("Keystone", "bootstrap.region", "\"RegionOne\""),
    ("Glance", "replicas", "2"),
    ("Glance", "storage.backend", "\"rbd\""),
    ("Placement", "replicas", "2"),
    ("Nova", "api.replicas", "3"),
    ("Nova", "scheduler.replicas", "2"),
    ("Nova", "conductor.replicas", "2"),
    ("Nova", "scheduler.externalScheduler.enabled", "false"),
    ("Nova", "database.database", "\"nova\""),
    ("Nova", "database.apiDatabase", "\"nova_api\""),
    ("Nova", "database.cellDatabase", "\"nova_cell0\""),
    ("Nova", "cells", "[{\"name\":\"cell1\"}]"),
    ("Neutron", "api.replicas", "3"),
    ("Neutron", "ovn.enabled", "true"),
    (
        "Neutron",
        "ml2.typeDrivers",
        "[\"geneve\",\"vlan\",\"flat\"]",
    ),
    ("Neutron", "ml2.tenantNetworkTypes", "[\"geneve\"]"),
    ("Neutron", "ml2.mechanismDrivers", "[\"ovn\"]"),
    ("Neutron", "ml2.extensionDrivers", "[\"port_security\"]"),
    ("Cinder", "api.replicas", "2"),
    ("Cinder", "scheduler.replicas", "2"),
    ("Cortex", "replicas", "2"),
    ("Tempest", "schedule", "\"0 2 * * *\""),
    ("Tempest", "tests.concurrency", "4"),
    ("OVNCluster", "northbound.replicas", "3"),
    ("OVNCluster", "southbound.storage.size", "\"10Gi\""),
    (
        "OVNCluster",
        "neutronIntegration.nbConnection.service.port",
        "",
    ),
    ("OVNCluster", "tls.enabled", "true"),
    ("OVNChassis", "encapsulation.type", "\"geneve\""),
    ("HypervisorPool", "reserve", "0"),
    ("HypervisorPool", "systemReserved.memoryMB", "4096"),
    ("HypervisorShare", "minHosts", "0"),
    ("ShootKubeconfig", "role", "\"Admin\""),
    ("ShootKubeconfig", "expirationSeconds", "86400"),
    ("ShootKubeconfig", "target.key", "\"kubeconfig\""),
];

#[test]
fn defaults_are_those_of_the_contract() {
    let definitions = custom_resources();
    for (kind, path, default) in DEFAULTS {
        let definition = definitions
            .iter()
            .find(|definition| definition["spec"]["names"]["kind"] == *kind)
            .unwrap();
        let spec = &root(definition)["properties"]["spec"];
        let field = path
            .split('.')
            .fold(spec, |schema, name| &schema["properties"][name]);
        assert!(field.is_object(), "{kind} has no {path}");
        let found = field.get("default").map(Value::to_string);
        assert_eq!(found.unwrap_or_default(), *default, "{kind} {path}");
    }
}
