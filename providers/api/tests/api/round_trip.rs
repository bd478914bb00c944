//! Reading a resource and writing it again.

use c5c3_api::{
    ControlPlaneClusterSpec, HypervisorClusterSpec, Kind, OpenStackClusterSpec, StorageClusterSpec,
    cinder::CinderSpec,
    control_plane::ControlPlaneSpec,
    cortex::CortexSpec,
    credential_rotation::CredentialRotationSpec,
    glance::GlanceSpec,
    hypervisor::{HypervisorPoolSpec, HypervisorShareSpec},
    keystone::KeystoneSpec,
    neutron::NeutronSpec,
    nova::NovaSpec,
    ovn_chassis::OvnChassisSpec,
    ovn_cluster::OvnClusterSpec,
    placement::PlacementSpec,
    secret_aggregate::SecretAggregateSpec,
    shoot_kubeconfig::ShootKubeconfigSpec,
    tempest::TempestSpec,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Reads spec and status of a resource, and writes them again: defaults may come, but nothing may go.
pub fn round_trip(resource: &Value) -> Result<(), serde_json::Error> {
    match resource["kind"].as_str().unwrap_or_default() {
        OpenStackClusterSpec::KIND => through::<OpenStackClusterSpec>(resource),
        ControlPlaneClusterSpec::KIND => through::<ControlPlaneClusterSpec>(resource),
        HypervisorClusterSpec::KIND => through::<HypervisorClusterSpec>(resource),
        StorageClusterSpec::KIND => through::<StorageClusterSpec>(resource),
        ControlPlaneSpec::KIND => through::<ControlPlaneSpec>(resource),
        SecretAggregateSpec::KIND => through::<SecretAggregateSpec>(resource),
        CredentialRotationSpec::KIND => through::<CredentialRotationSpec>(resource),
        KeystoneSpec::KIND => through::<KeystoneSpec>(resource),
        GlanceSpec::KIND => through::<GlanceSpec>(resource),
        PlacementSpec::KIND => through::<PlacementSpec>(resource),
        NovaSpec::KIND => through::<NovaSpec>(resource),
        NeutronSpec::KIND => through::<NeutronSpec>(resource),
        CinderSpec::KIND => through::<CinderSpec>(resource),
        CortexSpec::KIND => through::<CortexSpec>(resource),
        TempestSpec::KIND => through::<TempestSpec>(resource),
        OvnClusterSpec::KIND => through::<OvnClusterSpec>(resource),
        OvnChassisSpec::KIND => through::<OvnChassisSpec>(resource),
        HypervisorPoolSpec::KIND => through::<HypervisorPoolSpec>(resource),
        HypervisorShareSpec::KIND => through::<HypervisorShareSpec>(resource),
        ShootKubeconfigSpec::KIND => through::<ShootKubeconfigSpec>(resource),
        other => panic!("no kind {other}"),
    }
}

fn through<K>(resource: &Value) -> Result<(), serde_json::Error>
where
    K: Kind + DeserializeOwned + Serialize,
    K::Status: DeserializeOwned + Serialize,
{
    assert_eq!(resource["apiVersion"], K::api_version());
    let spec: K = serde_json::from_value(resource["spec"].clone())?;
    assert_kept("spec", &resource["spec"], &serde_json::to_value(&spec)?);
    if let Some(status) = resource.get("status") {
        let read: K::Status = serde_json::from_value(status.clone())?;
        assert_eq!(
            serde_json::to_value(&read)?,
            *status,
            "a status is written as it was read"
        );
    }
    Ok(())
}

/// Whether all that was given is still there.
fn assert_kept(path: &str, given: &Value, written: &Value) {
    match (given, written) {
        (Value::Object(fields), Value::Object(kept)) => {
            for (name, field) in fields {
                let path = format!("{path}.{name}");
                // A ControlPlane's services have another name too, and one of them is enough to write.
                let name = if path == "spec.openstack" {
                    "services"
                } else {
                    name
                };
                let kept = kept.get(name).unwrap_or_else(|| panic!("{path} is lost"));
                assert_kept(&path, field, kept);
            }
        }
        (Value::Array(items), Value::Array(kept)) => {
            assert_eq!(items.len(), kept.len(), "{path}");
            for (item, kept) in items.iter().zip(kept) {
                assert_kept(&format!("{path}[]"), item, kept);
            }
        }
        (Value::Number(given), Value::Number(kept)) => {
            assert_eq!(given.as_f64(), kept.as_f64(), "{path}");
        }
        // A quantity may be given without quotes.
        (Value::Number(given), Value::String(kept)) => {
            assert_eq!(given.to_string(), *kept, "{path}")
        }
        (given, kept) => assert_eq!(given, kept, "{path}"),
    }
}
