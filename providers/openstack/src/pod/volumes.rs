//! Volumes of pods.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource,
    SecretVolumeSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The mode of files of Secrets and ConfigMaps: readable by the user's group.
const MODE: i32 = 0o440;
/// Bytes of images that are staged or converted: one of the largest size that Glance takes by default, 1 TiB (`image_size_cap`,
/// <https://docs.openstack.org/glance/latest/configuration/glance_api.html>), and what it is converted to. Most nodes' disks are full before,
/// and a Glance that may have more at once sets `resources`.
const IMAGES: u64 = 2 << 40;

/// A mounted volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Name of the volume.
    pub name: String,
    /// Its path in the container.
    pub path: String,
    /// Its content.
    pub source: Source,
}

/// The content of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A Secret. The kubelet updates its files within two minutes, without a restart.
    Secret(String),
    /// A ConfigMap.
    ConfigMap(String),
    /// A PersistentVolumeClaim.
    Claim(String),
    /// An empty folder for files that are deleted with the pod.
    EmptyDir {
        /// The most bytes that it may have. A pod that exceeds them is evicted.
        size_limit: Option<u64>,
    },
    /// The same for images that are staged or converted, as large as they are.
    Images,
}

impl Mount {
    /// The volume in the container. It is read-only unless it is a folder that the program may write to.
    pub(super) fn mounted(&self) -> VolumeMount {
        let writable = matches!(
            self.source,
            Source::EmptyDir { .. } | Source::Images | Source::Claim(_)
        );
        VolumeMount {
            name: self.name.clone(),
            mount_path: self.path.clone(),
            read_only: Some(true).filter(|_| !writable),
            ..VolumeMount::default()
        }
    }

    /// How many bytes of the node's disk it may have, where that is much.
    pub(super) fn ephemeral_bytes(&self) -> u64 {
        match &self.source {
            Source::Images => IMAGES,
            Source::EmptyDir { size_limit } => size_limit.unwrap_or_default(),
            Source::Secret(_) | Source::ConfigMap(_) | Source::Claim(_) => 0,
        }
    }

    /// The volume of the pod.
    pub(super) fn volume(&self) -> Volume {
        let volume = Volume {
            name: self.name.clone(),
            ..Volume::default()
        };
        match &self.source {
            Source::Secret(secret) => secret_volume(&self.name, secret),
            Source::ConfigMap(map) => Volume {
                config_map: Some(ConfigMapVolumeSource {
                    name: map.clone(),
                    default_mode: Some(MODE),
                    ..ConfigMapVolumeSource::default()
                }),
                ..volume
            },
            Source::Claim(claim) => Volume {
                persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                    claim_name: claim.clone(),
                    ..PersistentVolumeClaimVolumeSource::default()
                }),
                ..volume
            },
            Source::Images => empty_dir(&self.name),
            Source::EmptyDir { size_limit } => Volume {
                empty_dir: Some(EmptyDirVolumeSource {
                    size_limit: size_limit.map(|bytes| Quantity(bytes.to_string())),
                    ..EmptyDirVolumeSource::default()
                }),
                ..volume
            },
        }
    }
}

/// An empty folder for files that are deleted with the pod.
pub fn empty_dir(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

/// A Secret. Only the pod's user and group may read the files.
pub fn secret_volume(name: &str, secret: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(secret.to_owned()),
            default_mode: Some(MODE),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}
