//! The path of Ceph's keys: pushed from the storage cluster into a secret store, pulled from it into the control plane's
//! namespace. No key passes through this function.

use std::collections::BTreeMap;

use function_protocol::Fatal;

use super::Recipe;
use super::wanted::{Client, Storage, Storages};
use crate::composed::Composed;
use crate::manifest::Manifest;
use crate::manifest::ceph::NAMESPACE;
use crate::manifest::external_secrets::{
    ExternalData, ExternalRemoteRef, ExternalSecret, NamedSecret, PushData, PushMatch,
    PushRemoteRef, PushSecret, PushSelector, Target, Template,
};
use crate::observed::ConditionedStatus;

/// How often External Secrets compares both sides.
const REFRESH: &str = "1h0m0s";

/// Property of the monitors' addresses.
const MONITORS: &str = "mon_host";

/// Which secrets haven't arrived.
#[derive(Default)]
pub struct Keys {
    /// What isn't ready, in words.
    pub waiting: Vec<String>,
}

/// Name of the Secret with a service's key for one storage cluster, in the control plane's namespace.
pub fn secret_name(client: Client, cluster: &str) -> String {
    format!("ceph-{}-{cluster}", client.service())
}

impl Recipe<'_> {
    /// Wants the path of every key.
    pub fn keys(&self, storages: &Storages, composed: &mut Composed<'_>) -> Result<Keys, Fatal> {
        let mut keys = Keys::default();
        for storage in &storages.each {
            let monitors = self.push(
                self.names.with("monitors"),
                "rook-ceph-config".to_owned(),
                MONITORS.to_owned(),
                self.path(storage, "cluster"),
                MONITORS,
            );
            let resource = format!("push-monitors-{}", storage.cluster);
            self.travel(
                &resource,
                &storage.cluster,
                storage,
                monitors,
                composed,
                &mut keys,
            )?;
            for client in &storage.clients {
                self.key(storage, *client, composed, &mut keys)?;
            }
        }
        Ok(keys)
    }

    fn key(
        &self,
        storage: &Storage,
        client: Client,
        composed: &mut Composed<'_>,
        keys: &mut Keys,
    ) -> Result<(), Fatal> {
        let user = self.names.with(client.service());
        let path = self.path(storage, client.service());
        // Rook keeps a client's key in this Secret, under the client's own name.
        let secret = format!("rook-ceph-client-{user}");
        let push = self.push(user.clone(), secret, user.clone(), path.clone(), "key");
        let resource = format!("push-{}-{}", client.service(), storage.cluster);
        self.travel(&resource, &storage.cluster, storage, push, composed, keys)?;

        let name = secret_name(client, &storage.cluster);
        let spec = ExternalSecret {
            refresh_interval: REFRESH,
            secret_store_ref: self.presets.secret_store.clone(),
            target: Target {
                name: name.clone(),
                creation_policy: "Owner",
                template: Template {
                    engine_version: "v2",
                    data: template(&user),
                },
            },
            data: vec![
                data("key", path, "key"),
                data("monitors", self.path(storage, "cluster"), MONITORS),
            ],
        };
        let pull = Manifest::new(&self.names.namespace(), name.clone(), spec);
        let resource = format!("pull-{}-{}", client.service(), storage.cluster);
        let control_plane = self.site.control_plane.name.name();
        self.travel(&resource, control_plane, storage, pull, composed, keys)
    }

    /// Where a value of this control plane is in the store: `<site>/<control plane cluster>/<namespace>/ceph/...`, never a path
    /// that another control plane has.
    fn path(&self, storage: &Storage, what: &str) -> String {
        let cluster = self.site.control_plane.name.name();
        format!(
            "{}/{cluster}/{}/ceph/{}/{what}",
            self.presets.site,
            self.names.namespace(),
            storage.cluster
        )
    }

    fn push(
        &self,
        name: String,
        secret: String,
        secret_key: String,
        remote_key: String,
        property: &str,
    ) -> Manifest<PushSecret> {
        let remote_ref = PushRemoteRef {
            remote_key,
            property: property.to_owned(),
        };
        let spec = PushSecret {
            deletion_policy: "Delete",
            refresh_interval: REFRESH,
            secret_store_refs: vec![self.presets.secret_store.clone()],
            selector: PushSelector {
                secret: NamedSecret { name: secret },
            },
            data: vec![PushData {
                matching: PushMatch {
                    secret_key,
                    remote_ref,
                },
            }],
        };
        Manifest::new(NAMESPACE, name, spec)
    }

    fn travel<S: serde::Serialize + crate::manifest::Kind>(
        &self,
        resource: &str,
        cluster: &str,
        storage: &Storage,
        manifest: Manifest<S>,
        composed: &mut Composed<'_>,
        keys: &mut Keys,
    ) -> Result<(), Fatal> {
        let creation = storage.creation;
        let name = manifest.metadata.name.clone();
        let observation = composed.object(
            resource,
            cluster,
            manifest,
            creation,
            ConditionedStatus::is_ready,
        )?;
        if observation.exists && !(observation.synced && observation.status.is_ready()) {
            keys.waiting
                .push(format!("{} {name} in {cluster}", S::KIND));
        }
        Ok(())
    }
}

fn data(secret_key: &'static str, key: String, property: &'static str) -> ExternalData {
    ExternalData {
        secret_key,
        remote_ref: ExternalRemoteRef { key, property },
    }
}

/// What the services read, in External Secrets' templates.
fn template(user: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        (
            "ceph.conf",
            "[global]\nmon_host = {{ .monitors }}\n".to_owned(),
        ),
        (
            "keyring",
            format!("[client.{user}]\nkey = {{{{ .key }}}}\n"),
        ),
        ("userID", user.to_owned()),
        ("userKey", "{{ .key }}".to_owned()),
    ])
}
