//! A control plane of which the catalogue is composed and nothing else, carried by the operators' own runtime.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::ByteString;
use lab::{Cluster, Context, DynamicObject, Kind, Machine, Result, kind};
use provider_composer::Operator;
use provider_control_plane_fixtures::Catalogue;
use provider_openstack_driver::Keystone;
use provider_runtime::{Driver, Leadership, Options, run_until};
use serde_json::json;
use tokio::task::JoinHandle;

pub const NAMESPACE: &str = "openstack";

const KEYSTONE: Kind = kind("keystone.openstack.c5c3.io/v1alpha1", "Keystone");

/// The operator, carried until this is dropped.
pub struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Running {
    pub async fn start(machine: &Arc<Machine>, cluster: &Cluster) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, machine.port()));
        let client = cluster.client();
        let operators: Vec<Box<dyn Operator>> = vec![Box::new(Catalogue)];
        let drivers: Vec<Box<dyn Driver>> = vec![Box::new(Keystone::default())];
        Ok(Self(tokio::spawn(async move {
            let options = Options {
                address: Some(address),
                leadership: Leadership::Alone,
                ..Options::default()
            };
            let never = std::future::pending();
            if let Err(error) = run_until(operators, drivers, client, &options, never).await {
                eprintln!("{error}");
            }
        })))
    }
}

/// A namespace with the password of Keystone's first user, a Keystone that says where it is, and a control plane.
pub async fn prepare(cluster: &Cluster, url: &str, password: &str) -> Result<()> {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    cluster.apply(&namespace.to_string()).await?;
    for object in [
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "keystone-admin-credentials", "namespace": NAMESPACE },
            "stringData": { "username": "admin", "password": password },
        }),
        json!({
            "apiVersion": KEYSTONE.api_version,
            "kind": KEYSTONE.kind,
            "metadata": { "name": "keystone", "namespace": NAMESPACE },
            "spec": { "bootstrap": {
                "adminPasswordSecretRef": { "name": "keystone-admin-credentials" },
            } },
        }),
    ] {
        cluster.apply(&object.to_string()).await?;
    }
    let status = json!({ "endpoint": url });
    cluster
        .set_status(KEYSTONE, "openstack/keystone", status)
        .await?;
    let control_plane = json!({
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "ControlPlane",
        "metadata": { "name": "production", "namespace": NAMESPACE },
        "spec": { "global": { "tls": { "enabled": false } } },
    });
    cluster.apply(&control_plane.to_string()).await.map(drop)
}

/// A value of a Secret.
pub fn value(secret: &DynamicObject, key: &str) -> Result<String> {
    let value = secret.data["data"][key].clone();
    let ByteString(value) =
        serde_json::from_value(value).with_context(|| format!("it has no {key}"))?;
    Ok(String::from_utf8(value)?)
}
