//! The path of Ceph's keys: pushed from the storage cluster into a secret store, pulled from it into the control plane's
//! namespace. No key passes through this function.

use std::collections::BTreeMap;

use c5c3_kinds::ceph::NAMESPACE;
use c5c3_kinds::external_secrets::{
    ExternalData, ExternalRemoteRef, ExternalSecret, PushMatch, PushRemoteRef, PushSecret, Target,
    Template, TemplateMetadata,
};
use function_protocol::Fatal;

use super::Recipe;
use super::ceph;
use super::wanted::{Client, Storage, Storages};
use crate::composed::{Composed, REFRESH};
use crate::manifest::Manifest;

/// Property of the monitors' addresses.
const MONITORS: &str = "mon_host";

/// Name of the Secret with a service's key for one storage cluster, in the control plane's namespace.
pub fn secret_name(client: Client, cluster: &str) -> String {
    format!("ceph-{}-{cluster}", client.service())
}

/// Name of the composed ExternalSecret that writes it.
pub fn resource(client: Client, cluster: &str) -> String {
    format!("pull-{}-{cluster}", client.service())
}

/// Whether a composed resource of this name is the ExternalSecret of a key of this storage cluster.
pub fn is_of(name: &str, cluster: &str) -> bool {
    let mut clients = Client::ALL.into_iter();
    clients.any(|client| resource(client, cluster) == name)
}

impl Recipe<'_> {
    /// Wants the path of every key. Returns what isn't ready, in words.
    pub fn keys(
        &self,
        storages: &Storages,
        composed: &mut Composed<'_>,
    ) -> Result<Vec<String>, Fatal> {
        let mut waiting = Vec::new();
        for storage in &storages.each {
            let (cluster, creation) = (&storage.cluster, storage.creation);
            let monitors = self.push_key(
                self.names.with("monitors"),
                "rook-ceph-config".to_owned(),
                MONITORS.to_owned(),
                self.key_path(storage, "cluster"),
                MONITORS,
            );
            let resource = format!("push-monitors-{cluster}");
            let monitors = composed.transfer(&resource, cluster, monitors, creation)?;
            waiting.extend(monitors.waiting);
            for client in &storage.clients {
                waiting.extend(self.key(storage, *client, monitors.done, composed)?);
            }
        }
        Ok(waiting)
    }

    fn key(
        &self,
        storage: &Storage,
        client: Client,
        has_monitors: bool,
        composed: &mut Composed<'_>,
    ) -> Result<Vec<String>, Fatal> {
        let (cluster, creation) = (&storage.cluster, storage.creation);
        let user = self.names.with(client.service());
        let path = self.key_path(storage, client.service());
        // Rook keeps a client's key in this Secret, under the client's own name.
        let secret = format!("rook-ceph-client-{user}");
        let push = self.push_key(user.clone(), secret, user.clone(), path.clone(), "key");
        let resource = format!("push-{}-{cluster}", client.service());
        let is_made = ceph::is_ready(&client.resource(cluster), composed);
        let pushed = composed.transfer(&resource, cluster, push, creation.when(is_made))?;

        let name = secret_name(client, cluster);
        let spec = ExternalSecret {
            refresh_interval: REFRESH,
            secret_store_ref: self.presets.secret_store.clone(),
            target: Target {
                name: name.clone(),
                creation_policy: "Owner",
                deletion_policy: Some("Retain"),
                template: Some(Template {
                    engine_version: "v2",
                    metadata: TemplateMetadata::default(),
                    data: template(&user),
                }),
            },
            data: vec![
                data("key", path, "key"),
                data("monitors", self.key_path(storage, "cluster"), MONITORS),
            ],
            data_from: Vec::new(),
        };
        let pull = Manifest::new(&self.names.namespace(), name, spec);
        let resource = self::resource(client, cluster);
        let control_plane = self.site.control_plane.name.name();
        let creation = creation.when(has_monitors && pushed.done);
        let pulled = composed.transfer(&resource, control_plane, pull, creation)?;
        Ok(pushed.waiting.into_iter().chain(pulled.waiting).collect())
    }

    fn key_path(&self, storage: &Storage, what: &str) -> String {
        self.path(format_args!("ceph/{}/{what}", storage.cluster))
    }

    fn push_key(
        &self,
        name: String,
        secret: String,
        secret_key: String,
        remote_key: String,
        property: &str,
    ) -> Manifest<PushSecret> {
        let matching = PushMatch {
            secret_key: Some(secret_key),
            remote_ref: PushRemoteRef {
                remote_key,
                property: Some(property.to_owned()),
            },
        };
        let store = &self.presets.secret_store;
        let push = PushSecret::of(secret, [matching], store, REFRESH);
        Manifest::new(NAMESPACE, name, push)
    }
}

fn data(secret_key: &str, key: String, property: &str) -> ExternalData {
    ExternalData {
        secret_key: secret_key.to_owned(),
        remote_ref: ExternalRemoteRef {
            key,
            property: property.to_owned(),
        },
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
