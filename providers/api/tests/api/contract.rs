//! What the claims must have, and what reading them gives.

use c5c3_admission::defaulted;
use c5c3_api::{
    ControlPlaneClusterSpec, Generation, HypervisorClusterSpec, OpenStackClusterSpec,
    StorageClusterSpec, definitions, schema,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A spec read from a file and one read from an API server, which fills in defaults, are the same.
pub fn assert_same_defaults<S: JsonSchema + DeserializeOwned + Serialize>(least: Value) {
    let filled = defaulted(&schema::structural::<S>(), least.clone());
    let from_file: S = serde_json::from_value(least).unwrap();
    let from_server: S = serde_json::from_value(filled.clone()).unwrap();
    let [from_file, from_server] =
        [from_file, from_server].map(|spec| serde_json::to_value(spec).unwrap());
    assert_eq!(from_file, from_server);

    let [mut written, mut filled] = [from_file, filled];
    remove_empty(&mut written);
    remove_empty(&mut filled);
    assert_eq!(
        written, filled,
        "the schema fills in every default that the type has"
    );
}

/// An empty map or list is as good as none, and the schema has no default for it.
fn remove_empty(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(remove_empty);
        fields.retain(|_, field| *field != json!({}) && *field != json!([]));
    }
}

#[test]
fn defaults_are_those_of_the_schema() {
    assert_same_defaults::<OpenStackClusterSpec>(json!({
        "region": "eu-de-1", "size": "small", "hypervisorClusters": ["a"], "storageClusters": ["b"],
    }));
    assert_same_defaults::<OpenStackClusterSpec>(json!({
        "region": "eu-de-1", "size": "small", "hypervisorClusters": ["a"], "storageClusters": ["b"], "cortex": {},
        "storage": { "ceph": { "filesystem": { "enabled": true } } },
    }));
    assert_same_defaults::<ControlPlaneClusterSpec>(json!({ "region": "eu-de-1" }));
    assert_same_defaults::<HypervisorClusterSpec>(json!({
        "region": "eu-de-1", "name": "a", "ironcore": { "machinePool": "a" },
    }));
    assert_same_defaults::<StorageClusterSpec>(json!({
        "region": "eu-de-1", "name": "a", "ironcore": { "machinePool": "a" }, "sharing": { "mode": "Dedicated" },
    }));
}

/// Every field of the contract, with its default where it has one.
const FIELDS: &[(&str, &str, &str)] = &[
    ("ControlPlaneCluster", "spec.region", ""),
    ("ControlPlaneCluster", "spec.kubernetesVersion", ""),
    ("ControlPlaneCluster", "spec.workers", "5"),
    ("ControlPlaneCluster", "spec.machineType", "\"m5.2xlarge\""),
    ("ControlPlaneCluster", "spec.volumeSize", "\"200Gi\""),
    ("ControlPlaneCluster", "spec.highAvailability", "true"),
    ("ControlPlaneCluster", "status.phase", ""),
    ("ControlPlaneCluster", "status.clusterName", ""),
    ("ControlPlaneCluster", "status.kubeconfig", ""),
    ("HypervisorCluster", "spec.region", ""),
    ("HypervisorCluster", "spec.name", ""),
    ("HypervisorCluster", "spec.kubernetesVersion", ""),
    ("HypervisorCluster", "spec.workers", "20"),
    ("HypervisorCluster", "spec.maxWorkers", "100"),
    ("HypervisorCluster", "spec.ironcore.machinePool", ""),
    (
        "HypervisorCluster",
        "spec.ironcore.machineClass",
        "\"baremetal-kvm\"",
    ),
    ("HypervisorCluster", "spec.labels", ""),
    ("HypervisorCluster", "spec.sharing.mode", ""),
    ("HypervisorCluster", "spec.sharing.allowedNamespaces", ""),
    ("HypervisorCluster", "spec.sharing.reserve", "0"),
    ("HypervisorCluster", "spec.network.physicalNetworks", ""),
    ("HypervisorCluster", "status.phase", ""),
    ("HypervisorCluster", "status.clusterName", ""),
    ("HypervisorCluster", "status.nodeCount", ""),
    ("HypervisorCluster", "status.availableCapacity.vcpus", ""),
    ("HypervisorCluster", "status.availableCapacity.memoryGB", ""),
    ("HypervisorCluster", "status.consumers", ""),
    ("StorageCluster", "spec.region", ""),
    ("StorageCluster", "spec.name", ""),
    ("StorageCluster", "spec.kubernetesVersion", ""),
    ("StorageCluster", "spec.workers", "5"),
    ("StorageCluster", "spec.ironcore.machinePool", ""),
    (
        "StorageCluster",
        "spec.ironcore.machineClass",
        "\"baremetal-storage\"",
    ),
    ("StorageCluster", "spec.labels", ""),
    ("StorageCluster", "spec.ceph.osdCount", "15"),
    ("StorageCluster", "spec.ceph.deviceClass", "\"nvme\""),
    ("StorageCluster", "spec.ceph.targetCapacity", ""),
    ("StorageCluster", "spec.ceph.replicationFactor", "3"),
    ("StorageCluster", "spec.ceph.encrypted", "false"),
    ("StorageCluster", "spec.capacity", ""),
    ("StorageCluster", "spec.arbiterCluster", ""),
    ("StorageCluster", "spec.sharing.mode", ""),
    ("StorageCluster", "status.phase", ""),
    ("StorageCluster", "status.clusterName", ""),
    ("StorageCluster", "status.capacity.total", ""),
    ("StorageCluster", "status.capacity.available", ""),
    ("StorageCluster", "status.capacity.used", ""),
    ("StorageCluster", "status.health", ""),
    ("StorageCluster", "status.consumers", ""),
    ("OpenStackCluster", "spec.region", ""),
    ("OpenStackCluster", "spec.size", ""),
    ("OpenStackCluster", "spec.hypervisorClusters", ""),
    ("OpenStackCluster", "spec.storageClusters", ""),
    ("OpenStackCluster", "spec.controlPlaneCluster", ""),
    ("OpenStackCluster", "spec.openStackRelease", ""),
    ("OpenStackCluster", "spec.services.nova", "true"),
    ("OpenStackCluster", "spec.services.neutron", "true"),
    ("OpenStackCluster", "spec.services.cinder", "true"),
    ("OpenStackCluster", "spec.services.glance", "true"),
    ("OpenStackCluster", "spec.services.octavia", "false"),
    ("OpenStackCluster", "spec.services.manila", "false"),
    ("OpenStackCluster", "spec.cortex.enabled", "true"),
    (
        "OpenStackCluster",
        "spec.cortex.pipelines",
        "[\"nova\",\"cinder\"]",
    ),
    ("OpenStackCluster", "spec.tls.enabled", "true"),
    ("OpenStackCluster", "spec.tls.issuerRef", ""),
    ("OpenStackCluster", "spec.network.externalNetwork", ""),
    ("OpenStackCluster", "spec.network.mtu", "1500"),
    (
        "OpenStackCluster",
        "spec.storage.ceph.volumePool.replication",
        "3",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.volumePool.compression",
        "\"aggressive\"",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.volumePool.quotaGB",
        "0",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.imagePool.replication",
        "3",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.imagePool.compression",
        "\"aggressive\"",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.ephemeralPool.enabled",
        "true",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.ephemeralPool.replication",
        "3",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.backupPool.enabled",
        "false",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.backupPool.storageCluster",
        "",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.backupPool.replication",
        "3",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.backupPool.compression",
        "\"aggressive\"",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.backupPool.quotaGB",
        "0",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.filesystem.enabled",
        "false",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.filesystem.dataPoolReplication",
        "3",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.filesystem.metadataPoolReplication",
        "3",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.objectStore.enabled",
        "false",
    ),
    (
        "OpenStackCluster",
        "spec.storage.ceph.objectStore.dataPoolReplication",
        "3",
    ),
    ("OpenStackCluster", "status.phase", ""),
    ("OpenStackCluster", "status.endpoints", ""),
    ("OpenStackCluster", "status.consumedPools.hypervisor", ""),
    ("OpenStackCluster", "status.consumedPools.storage", ""),
    (
        "OpenStackCluster",
        "status.cephResources.volumePool.name",
        "",
    ),
    (
        "OpenStackCluster",
        "status.cephResources.volumePool.status",
        "",
    ),
    (
        "OpenStackCluster",
        "status.cephResources.volumePool.usedBytes",
        "",
    ),
    (
        "OpenStackCluster",
        "status.cephResources.volumePool.availableBytes",
        "",
    ),
    (
        "OpenStackCluster",
        "status.cephResources.imagePool.status",
        "",
    ),
    (
        "OpenStackCluster",
        "status.cephResources.ephemeralPool.status",
        "",
    ),
    (
        "OpenStackCluster",
        "status.cephResources.filesystem.mdsActive",
        "",
    ),
    ("OpenStackCluster", "status.cephResources.client.name", ""),
    (
        "OpenStackCluster",
        "status.cephResources.client.secretRef",
        "",
    ),
];

#[test]
fn every_field_of_the_contract_is_there_with_its_default() {
    let definitions = definitions(Generation::V2);
    for (kind, path, default) in FIELDS {
        let definition = definitions
            .iter()
            .find(|definition| definition.spec.names.kind == *kind)
            .unwrap();
        let root = &definition.spec.versions[0].schema.open_api_v3_schema;
        let field = path
            .split('.')
            .fold(root, |schema, name| &schema["properties"][name]);
        assert!(field.is_object(), "{kind} has no {path}");
        let found = field
            .get("default")
            .map(Value::to_string)
            .unwrap_or_default();
        assert_eq!(found, *default, "{kind} {path}");
    }
}

#[test]
fn required_fields_are_those_of_the_contract() {
    let required = |schema: Value| schema["required"].clone();
    assert_eq!(
        required(schema::structural::<OpenStackClusterSpec>()),
        json!(["region", "size", "hypervisorClusters", "storageClusters"])
    );
    assert_eq!(
        required(schema::structural::<ControlPlaneClusterSpec>()),
        json!(["region"])
    );
    assert_eq!(
        required(schema::structural::<HypervisorClusterSpec>()),
        json!(["region", "name"])
    );
    assert_eq!(
        required(schema::structural::<StorageClusterSpec>()),
        json!(["region", "name"])
    );
}
