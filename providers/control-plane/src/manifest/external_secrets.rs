//! External Secrets' PushSecret (v1alpha1) and ExternalSecret (v1), as of external-secrets 1.3.

use c5c3_api::control_plane::SecretStoreRef;
use provider_composer::{Resource, ResourceKind};
use serde::Serialize;

/// How often values are compared.
const REFRESH: &str = "5m";

/// A Secret's values written to a store.
#[derive(Clone, Debug, Serialize)]
pub struct PushSecret {
    spec: PushSpec,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PushSpec {
    deletion_policy: &'static str,
    refresh_interval: &'static str,
    secret_store_refs: [SecretStoreRef; 1],
    selector: Selector,
    data: Vec<Pushed>,
}

#[derive(Clone, Debug, Serialize)]
struct Selector {
    secret: Named,
}

#[derive(Clone, Debug, Serialize)]
struct Named {
    name: String,
}

#[derive(Clone, Debug, Serialize)]
struct Pushed {
    #[serde(rename = "match")]
    matching: Match,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Match {
    secret_key: String,
    remote_ref: PushRemote,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PushRemote {
    remote_key: String,
    property: String,
}

impl PushSecret {
    /// These keys of a Secret, each to a property of one path. They go with the PushSecret.
    pub fn new(store: &SecretStoreRef, secret: &str, path: &str, keys: &[String]) -> Self {
        let pushed = |key: &String| Pushed {
            matching: Match {
                secret_key: key.clone(),
                remote_ref: PushRemote {
                    remote_key: path.to_owned(),
                    property: key.clone(),
                },
            },
        };
        Self {
            spec: PushSpec {
                deletion_policy: "Delete",
                refresh_interval: REFRESH,
                secret_store_refs: [store.clone()],
                selector: Selector {
                    secret: Named {
                        name: secret.to_owned(),
                    },
                },
                data: keys.iter().map(pushed).collect(),
            },
        }
    }
}

impl Resource for PushSecret {
    const KIND: ResourceKind = ResourceKind::namespaced(
        "external-secrets.io",
        "v1alpha1",
        "PushSecret",
        "pushsecrets",
    );
}

/// A Secret made from values of a store.
#[derive(Clone, Debug, Serialize)]
pub struct ExternalSecret {
    spec: ExternalSpec,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExternalSpec {
    refresh_interval: &'static str,
    secret_store_ref: SecretStoreRef,
    target: Target,
    data: Vec<Drawn>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    name: String,
    creation_policy: &'static str,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Drawn {
    secret_key: String,
    remote_ref: Remote,
}

#[derive(Clone, Debug, Serialize)]
struct Remote {
    key: String,
    property: String,
}

impl ExternalSecret {
    /// A Secret with these keys, each from a property of one path. It goes with the ExternalSecret.
    pub fn new(store: &SecretStoreRef, secret: &str, path: &str, keys: &[String]) -> Self {
        let drawn = |key: &String| Drawn {
            secret_key: key.clone(),
            remote_ref: Remote {
                key: path.to_owned(),
                property: key.clone(),
            },
        };
        Self {
            spec: ExternalSpec {
                refresh_interval: REFRESH,
                secret_store_ref: store.clone(),
                target: Target {
                    name: secret.to_owned(),
                    creation_policy: "Owner",
                },
                data: keys.iter().map(drawn).collect(),
            },
        }
    }
}

impl Resource for ExternalSecret {
    const KIND: ResourceKind = ResourceKind::namespaced(
        "external-secrets.io",
        "v1",
        "ExternalSecret",
        "externalsecrets",
    );
}
