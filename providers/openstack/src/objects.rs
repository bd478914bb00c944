//! Objects of Kubernetes that several composers compose, and parts of them.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A Secret with these values.
pub fn opaque<K: Into<String>, V: Into<Vec<u8>>>(
    metadata: ObjectMeta,
    data: impl IntoIterator<Item = (K, V)>,
) -> Secret {
    let data = data.into_iter();
    let data = data.map(|(key, value)| (key.into(), ByteString(value.into())));
    Secret {
        metadata,
        data: Some(data.collect()),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

/// A ConfigMap with these texts.
pub fn config_map<K: Into<String>>(
    metadata: ObjectMeta,
    data: impl IntoIterator<Item = (K, String)>,
) -> ConfigMap {
    let data = data.into_iter().map(|(key, text)| (key.into(), text));
    ConfigMap {
        metadata,
        data: Some(data.collect()),
        ..ConfigMap::default()
    }
}
