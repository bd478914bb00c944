//! Claims of volumes.

use c5c3_api::parts::Size;
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The claim of a volume of this size. Without a StorageClass it has the cluster's default.
pub fn claim(
    metadata: ObjectMeta,
    access_mode: &str,
    size: &Size,
    storage_class: Option<String>,
) -> PersistentVolumeClaim {
    let size = Quantity(size.to_string());
    PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec![access_mode.to_owned()]),
            storage_class_name: storage_class,
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), size)].into()),
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}
