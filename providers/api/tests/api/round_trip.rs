//! Reading a resource and writing it again.

use c5c3_api::{
    ControlPlaneClusterSpec, CustomResource, HypervisorClusterSpec, Kind, OpenStackClusterSpec,
    StorageClusterSpec,
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
        OpenStackClusterSpec::KIND => claim::<OpenStackClusterSpec>(resource),
        ControlPlaneClusterSpec::KIND => claim::<ControlPlaneClusterSpec>(resource),
        HypervisorClusterSpec::KIND => claim::<HypervisorClusterSpec>(resource),
        StorageClusterSpec::KIND => claim::<StorageClusterSpec>(resource),
        ControlPlaneSpec::KIND => custom::<ControlPlaneSpec>(resource),
        SecretAggregateSpec::KIND => custom::<SecretAggregateSpec>(resource),
        CredentialRotationSpec::KIND => custom::<CredentialRotationSpec>(resource),
        KeystoneSpec::KIND => custom::<KeystoneSpec>(resource),
        GlanceSpec::KIND => custom::<GlanceSpec>(resource),
        PlacementSpec::KIND => custom::<PlacementSpec>(resource),
        NovaSpec::KIND => custom::<NovaSpec>(resource),
        NeutronSpec::KIND => custom::<NeutronSpec>(resource),
        CinderSpec::KIND => custom::<CinderSpec>(resource),
        CortexSpec::KIND => custom::<CortexSpec>(resource),
        TempestSpec::KIND => custom::<TempestSpec>(resource),
        OvnClusterSpec::KIND => custom::<OvnClusterSpec>(resource),
        OvnChassisSpec::KIND => custom::<OvnChassisSpec>(resource),
        HypervisorPoolSpec::KIND => custom::<HypervisorPoolSpec>(resource),
        HypervisorShareSpec::KIND => custom::<HypervisorShareSpec>(resource),
        ShootKubeconfigSpec::KIND => custom::<ShootKubeconfigSpec>(resource),
        other => panic!("no kind {other}"),
    }
}

fn claim<K>(resource: &Value) -> Result<(), serde_json::Error>
where
    K: Kind + DeserializeOwned + Serialize,
    K::Status: DeserializeOwned + Serialize,
{
    assert_eq!(resource["apiVersion"], K::api_version());
    through::<K, K::Status>(resource)
}

fn custom<K>(resource: &Value) -> Result<(), serde_json::Error>
where
    K: CustomResource + DeserializeOwned + Serialize,
    K::Status: DeserializeOwned + Serialize,
{
    assert_eq!(resource["apiVersion"], K::api_version());
    through::<K, K::Status>(resource)
}

fn through<Spec, Status>(resource: &Value) -> Result<(), serde_json::Error>
where
    Spec: DeserializeOwned + Serialize,
    Status: DeserializeOwned + Serialize,
{
    let spec: Spec = serde_json::from_value(resource["spec"].clone())?;
    assert_kept("spec", &resource["spec"], &serde_json::to_value(&spec)?);
    if let Some(status) = resource.get("status") {
        let read: Status = serde_json::from_value(status.clone())?;
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
