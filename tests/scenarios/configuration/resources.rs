//! Everything that asks for a service: examples, sizes, fixtures, and what they leave out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use c5c3_api::Generation;
use c5c3_plan::{Compositions, Settings, plan, read};
use jiff::Timestamp;
use lab::{Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

const KINDS: [&str; 6] = [
    "Keystone",
    "Glance",
    "Placement",
    "Nova",
    "Neutron",
    "Cinder",
];
/// Everything under `examples` that becomes control planes, with what it names.
const EXAMPLES: [&[&str]; 6] = [
    &["claims", "pools"],
    &["isolation/shared.yaml"],
    &["isolation/dedicated.yaml"],
    &["isolation/hybrid.yaml"],
    &["isolation/tiered.yaml"],
    &["control-planes/production.yaml"],
];
const SIZES: [&str; 4] = ["small", "medium", "large", "xlarge"];
const COMPOSITIONS: [&str; 3] = [
    "openstack-development",
    "openstack-staging",
    "openstack-production",
];
/// Resources that the API server takes.
const FIXTURES: [&str; 2] = ["accepted", "seeds"];

/// All of them, each once, without a status.
pub fn resources() -> Result<Vec<Value>> {
    let mut resources = Vec::new();
    for paths in EXAMPLES {
        let examples = root("examples");
        let paths: Vec<PathBuf> = paths.iter().map(|path| examples.join(path)).collect();
        resources.extend(planned(&paths, None)?);
    }
    for size in SIZES {
        for composition in COMPOSITIONS {
            let folder = TempDir::new()?;
            let file = folder.path().join("claim.yaml");
            fs::write(&file, claim(size).to_string())?;
            resources.extend(planned(&[file], Some(composition))?);
        }
    }
    for folder in FIXTURES {
        for entry in fs::read_dir(root("providers/api/fixtures").join(folder))? {
            let text = fs::read_to_string(entry?.path())?;
            let documents: Vec<Option<Value>> = serde_saphyr::from_multiple(&text)?;
            let ours = documents.into_iter().flatten().filter(is_ours);
            resources.extend(ours.map(bare));
        }
    }
    resources.extend(keystones());
    resources.extend(glances());
    resources.extend(placements());
    resources.extend(novas());
    resources.extend(neutrons());
    resources.extend(cinders());
    for resource in &mut resources {
        resource["metadata"] = json!({ "name": resource["metadata"]["name"] });
        if let Some(resource) = resource.as_object_mut() {
            resource.remove("status");
        }
    }
    resources.sort_by_cached_key(Value::to_string);
    resources.dedup();
    for kind in KINDS {
        let of_kind = resources
            .iter()
            .filter(|resource| resource["kind"] == kind)
            .count();
        ensure!(of_kind > 10, "only {of_kind} {kind}s");
    }
    Ok(resources)
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn is_ours(document: &Value) -> bool {
    document["kind"]
        .as_str()
        .is_some_and(|kind| KINDS.contains(&kind))
}

/// A fixture without what only shows that a field is taken: options and rules of other services.
fn bare(document: Value) -> Value {
    without(
        document,
        &[
            "dependsOn",
            "extraConfig",
            "extraConfigSecrets",
            "image",
            "policyOverrides",
        ],
    )
}

fn without(mut resource: Value, fields: &[&str]) -> Value {
    if let Some(spec) = resource["spec"].as_object_mut() {
        spec.retain(|field, _| !fields.contains(&field.as_str()));
    }
    resource
}

/// The services of all control planes that files become.
fn planned(paths: &[PathBuf], composition: Option<&str>) -> Result<Vec<Value>> {
    let settings = Settings {
        generation: Generation::V2,
        compositions: Compositions::built_in()?,
        composition: composition.map(str::to_owned),
        assume_ready: true,
        present: BTreeMap::new(),
        now: Timestamp::UNIX_EPOCH,
    };
    let plan = plan(&read(paths)?, &settings)?;
    let applied = plan.applied.iter().map(|applied| applied.manifest.value());
    // They may be of any release, and whoever they wait for is there.
    let ours: Vec<Value> = applied
        .filter(|value| is_ours(value))
        .map(|value| without(value.clone(), &["dependsOn", "image"]))
        .collect();
    ensure!(ours.len() >= KINDS.len(), "{paths:?} ask for {ours:?}");
    Ok(ours)
}

fn claim(size: &str) -> Value {
    json!({
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "OpenStackCluster",
        "metadata": { "name": size, "namespace": "team" },
        "spec": {
            "region": "eu-de-1",
            "size": size,
            "hypervisorClusters": ["hv-pool-a"],
            "storageClusters": ["st-pool-a"],
        },
    })
}

fn resource(kind: &str, spec: Value) -> Value {
    let name = kind.to_lowercase();
    json!({ "kind": kind, "metadata": { "name": name }, "spec": spec })
}

fn databases() -> [Value; 2] {
    [
        json!({ "clusterRef": { "name": "openstack-db" } }),
        json!({ "host": "2001:db8::1", "port": 3307, "database": "some-where" }),
    ]
}

/// Who is asked for a token, and whether the API is encrypted.
fn accesses() -> [(Value, Value); 2] {
    [
        (json!({}), json!({ "enabled": true })),
        (
            json!({ "authUrl": "https://keystone.example.com/v3", "region": "North $1" }),
            json!({ "enabled": false }),
        ),
    ]
}

fn keystones() -> Vec<Value> {
    let mut keystones = Vec::new();
    for backend in [
        "dogpile.cache.pymemcache",
        "dogpile.cache.memcached",
        "dogpile.cache.bmemcached",
        "oslo_cache.memcache_pool",
    ] {
        for (database, federation) in databases().into_iter().zip([false, true]) {
            keystones.push(resource(
                "Keystone",
                json!({
                    "database": database,
                    "cache": { "backend": backend, "servers": ["a.example.com", "[2001:db8::1]:11212"] },
                    "federation": { "enabled": federation },
                    "fernet": { "maxActiveKeys": 7 },
                    "bootstrap": { "adminPasswordSecretRef": { "name": "keystone-admin-credentials" } },
                    "policyOverrides": { "rules": { "identity:create_project": "rule:admin_required or role:lead" } },
                    "extraConfig": { "token": { "expiration": "7200" }, "ldap": { "url": "ldap://a,ldap://b" } },
                }),
            ));
        }
    }
    keystones
}

fn glances() -> Vec<Value> {
    let stores = [
        json!({ "backend": "rbd", "rbd": { "pool": "images", "cephSecretRef": { "name": "ceph" } } }),
        json!({ "backend": "file" }),
        json!({ "backend": "s3", "s3": {
            "endpoint": "https://objects.example.com:9000",
            "bucket": "images",
            "secretRef": { "name": "bucket" },
        } }),
        json!({ "backend": "file", "additional": [
            { "name": "a", "description": "#1, \"$\" = 100 %", "backend": "rbd",
              "rbd": { "pool": "images", "cephSecretRef": { "name": "ceph" } } },
            { "name": "0-b", "backend": "file" },
            { "name": "c", "backend": "s3", "s3": {
                "endpoint": "http://objects.example.com",
                "bucket": "images",
                "secretRef": { "name": "bucket" },
            } },
        ] }),
    ];
    let mut glances = Vec::new();
    for store in &stores {
        for (database, (access, tls)) in databases().into_iter().zip(accesses()) {
            glances.push(resource(
                "Glance",
                json!({
                    "database": database,
                    "keystone": access,
                    "tls": tls,
                    "storage": store,
                    "cache": { "size": "1Ti" },
                    "policyOverrides": { "rules": { "add_image": "role:admin or (role:member and not role:guest)" } },
                    "extraConfig": { "DEFAULT": { "image_size_cap": "1099511627776" } },
                }),
            ));
        }
    }
    glances
}

fn placements() -> Vec<Value> {
    let all = databases().into_iter().zip(accesses());
    let all = all.map(|(database, (access, tls))| {
        resource(
            "Placement",
            json!({
                "database": database,
                "keystone": access,
                "tls": tls,
                "policyOverrides": { "rules": { "placement:usages": "@" } },
                "extraConfig": { "placement": { "randomize_allocation_candidates": "yes" } },
            }),
        )
    });
    all.collect()
}

fn novas() -> Vec<Value> {
    let caches = [
        json!({ "backend": "dogpile.cache.pymemcache", "servers": ["a.example.com", "[2001:db8::1]:11212"] }),
        json!({}),
    ];
    let all = accesses().into_iter().zip(caches).zip([true, false]);
    let all = all.map(|(((access, tls), cache), archived)| {
        resource(
            "Nova",
            json!({
                "keystone": access,
                "tls": tls,
                "cache": cache,
                "cells": [
                    { "name": "cell1" },
                    { "name": "cell2", "messaging": { "hosts": ["bus.example.com:5672"] } },
                    { "name": "cell3", "database": { "host": "2001:db8::1", "port": 3307 } },
                ],
                "deletedRows": { "archiveAfterDays": if archived { 1 } else { 365 }, "purgeAfterDays": 365 },
                "policyOverrides": { "rules": { "os_compute_api:servers:create": "rule:project_member_api and not role:guest" } },
                "extraConfig": {
                    "DEFAULT": { "instance_usage_audit_period": "day@3" },
                    "quota": { "cores": "40" },
                    "serial_console": { "port_range": "10000:20000" },
                },
            }),
        )
    });
    all.collect()
}

fn cinders() -> Vec<Value> {
    let pool = |pool: &str| json!({ "pool": pool, "cephSecretRef": { "name": "ceph" } });
    let bucket = json!({
        "endpoint": "https://s3.example.com",
        "bucket": "volumes",
        "secretRef": { "name": "bucket" },
    });
    let backups = [
        json!({ "rbd": pool("backups") }),
        json!({ "s3": bucket, "replicas": 2 }),
    ];
    let all = databases().into_iter().zip(accesses()).zip(backups);
    let all = all.map(|((database, (access, tls)), backup)| {
        resource(
            "Cinder",
            json!({
                "database": database,
                "keystone": access,
                "tls": tls,
                "backends": [
                    { "name": "a", "rbd": pool("volumes"), "options": { "rbd_max_clone_depth": "3" } },
                    { "name": "b", "rbd": pool("volumes") },
                ],
                "backup": backup,
                "imageVolumeCache": { "maxSizeGb": 100, "maxCount": 10, "projectId": "0a", "userId": "1b" },
                "defaultVolumeType": "a",
                "policyOverrides": { "rules": { "volume:create": "role:admin or role:member" } },
                "extraConfig": {
                    "DEFAULT": { "quota_volumes": "20" },
                    "backend_defaults": { "rbd_flatten_volume_from_snapshot": "true" },
                },
            }),
        )
    });
    all.collect()
}

fn neutrons() -> Vec<Value> {
    let types = [
        json!({ "tenantNetworkTypes": ["geneve"], "mtu": 1280 }),
        json!({
            "typeDrivers": ["geneve", "vxlan", "vlan", "flat", "local"],
            "tenantNetworkTypes": ["vlan", "geneve"],
            "extensionDrivers": ["port_security"],
            "physicalNetworks": [
                { "name": "physnet1", "bridge": "br-ex", "vlanRange": "1000-1099" },
                { "name": "physnet2", "bridge": "br-dc" },
            ],
            "mtu": 9000,
        }),
    ];
    let all = databases().into_iter().zip(accesses()).zip(types);
    let all = all.map(|((database, (access, tls)), ml2)| {
        resource(
            "Neutron",
            json!({
                "database": database,
                "keystone": access,
                "tls": tls,
                "ovn": {},
                "ml2": ml2,
                "rpcServer": {},
                "dns": { "domain": "cloud.example.com.", "servers": ["192.0.2.53", "2001:db8::53"] },
                "defaultAvailabilityZones": ["a", "b"],
                "policyOverrides": { "rules": { "create_network": "role:admin or role:member" } },
                "extraConfig": { "quotas": { "quota_network": "20" } },
            }),
        )
    });
    all.collect()
}
