//! What stays of databases, message buses and the volume of backups that exist, because their owners can't change it.

use c5c3_api::control_plane::{Mariadb, MaxScale, Rabbitmq, RunningInfrastructure};
use c5c3_api::parts::{IssuerRef, Kept, Members, Size, SizeError, Storage};
use c5c3_kinds::mariadb::server::MariaDb;
use c5c3_kinds::rabbitmq::cluster::RabbitmqCluster;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{LocalObjectReference, PersistentVolumeClaim};
use provider_composer::{Conditions, Key, Lookup, Progress, Reason};
use provider_openstack::{Claimed, kept_volume};
use serde::Deserialize;
use serde_json::Value;

use super::ovn::OvnVolume;
use super::{MARIADB, RABBITMQ};
use crate::graph::Node;
use crate::node_state::{NodeState, NodeStates};
use crate::recipe::Recipe;

/// Whether everything has the size that is desired. It is only set while it is False or can't be determined.
const SIZE_ACCEPTED: &str = "SizeAccepted";

/// Why something is kept, and what to do.
const WHY: &str = "volumes don't shrink and keep their StorageClass, those of OVN don't grow either, RabbitMQ loses no \
                   members, a MariaDB of one member doesn't become a Galera cluster or the reverse, and MariaDB keeps its \
                   MaxScale and imagePullSecrets. Set the former values, or recreate MariaDB or RabbitMQ, and restore a backup";

/// The StatefulSet that RabbitMQ's cluster operator creates.
const RABBITMQ_SERVERS: &str = "openstack-rabbitmq-server";

/// Where members are in a MariaDB: their number, and the size and class of their volumes.
const OF_MARIADB: [&str; 3] = [
    "/spec/replicas",
    "/spec/storage/size",
    "/spec/storage/storageClassName",
];

/// Where members are in a RabbitmqCluster.
const OF_RABBITMQ: [&str; 3] = [
    "/spec/replicas",
    "/spec/persistence/storage",
    "/spec/persistence/storageClassName",
];

/// Where members are in the StatefulSet of a RabbitmqCluster, which has one template of volumes.
const OF_RABBITMQ_SERVERS: [&str; 3] = [
    "/spec/replicas",
    "/spec/volumeClaimTemplates/0/spec/resources/requests/storage",
    "/spec/volumeClaimTemplates/0/spec/storageClassName",
];

/// What the names of the claims of MariaDB's members begin with, before their numbers.
pub(super) const OF_MARIADB_CLAIMS: &str = "storage-openstack-db";

/// What the names of the claims of RabbitMQ's members begin with, before their numbers.
pub(super) const OF_RABBITMQ_CLAIMS: &str = "persistence-openstack-rabbitmq-server";

/// The claim of the volume with backups.
pub(super) const BACKUPS_CLAIM: &str = "openstack-db-backup";

/// As many members as a database or a message bus can have.
pub(super) const MOST: u32 = 9;

/// What exists of databases, message buses and the volume of backups, and what is applied over it. It is read once a reconcile.
pub(crate) struct Sizes {
    /// The MariaDB that exists; none where there is none.
    running_mariadb: Result<Option<Running>, String>,
    /// The members of RabbitMQ that exist; none where there is no RabbitMQ.
    running_rabbitmq: Result<Option<Members>, String>,
    /// The MariaDB over the one that exists. It must stay as it is where something can't be read.
    pub(super) mariadb: Result<Kept<Server>, String>,
    /// The same of RabbitMQ.
    pub(super) rabbitmq: Result<Kept<Rabbitmq>, String>,
    /// The same of the volume of backups; none where they are in a bucket, or there is no MariaDB yet.
    pub(super) backups: Option<Result<Kept<Storage>, String>>,
    /// The same of the volumes of OVN's northbound and southbound database.
    pub(crate) ovn: [Result<Kept<OvnVolume>, String>; 2],
    /// The issuer of OVN's certificates over that of the OVNCluster that exists.
    pub(crate) ovn_issuer: Result<Option<IssuerRef>, String>,
}

impl Sizes {
    /// Reads what exists.
    pub(crate) fn read(recipe: &Recipe<'_>, states: &NodeStates) -> Self {
        let running_mariadb = states
            .get(&Node::MariaDb)
            .map_or(Ok(None), |state| recipe.running_mariadb(state));
        let running_rabbitmq = states
            .get(&Node::RabbitMq)
            .map_or(Ok(None), |state| recipe.running_rabbitmq(state));
        let mariadb = running_mariadb.as_ref().map_err(String::clone);
        let mariadb = mariadb.and_then(|running| recipe.server(running.as_ref()));
        let rabbitmq = running_rabbitmq.as_ref().map_err(String::clone);
        let rabbitmq = rabbitmq.and_then(|running| recipe.bus(running.as_ref()));
        let backups = states
            .get(&Node::MariaDb)
            .filter(|state| state.may_exist())
            .and_then(|_| recipe.backup_volume());
        Self {
            running_mariadb,
            running_rabbitmq,
            mariadb,
            rabbitmq,
            backups,
            ovn: recipe.ovn_volumes(states.get(&Node::Ovn)),
            ovn_issuer: recipe.ovn_issuer(states.get(&Node::Ovn)),
        }
    }

    /// Notes what is kept, and what to do.
    pub(crate) fn accepted(&self, conditions: &mut Conditions) {
        let backups = format!("PersistentVolumeClaim {BACKUPS_CLAIM}");
        let [northbound, southbound] = &self.ovn;
        let said = [
            Some(sentence("MariaDB", &self.mariadb)),
            self.backups.as_ref().map(|kept| sentence(&backups, kept)),
            Some(sentence("RabbitMQ", &self.rabbitmq)),
            Some(sentence("OVN's northbound database", northbound)),
            Some(sentence("OVN's southbound database", southbound)),
        ];
        let said: Result<Vec<Option<String>>, String> = said.into_iter().flatten().collect();
        let progress = match said {
            Err(message) => Progress::Unknown { message },
            Ok(sentences) => {
                let sentences: Vec<String> = sentences.into_iter().flatten().collect();
                if sentences.is_empty() {
                    return;
                }
                let message = format!("{}: {WHY}", sentences.join("; "));
                Progress::failed(Reason::Unsupported, message)
            }
        };
        conditions.note(SIZE_ACCEPTED, &progress);
    }

    /// What exists, as the status says.
    ///
    /// # Errors
    /// Something can't be read.
    pub(crate) fn running(self) -> Result<RunningInfrastructure, String> {
        let (mariadb, max_scale) = self
            .running_mariadb?
            .map(|running| (running.members, running.max_scale))
            .unzip();
        Ok(RunningInfrastructure {
            mariadb,
            max_scale: max_scale.flatten(),
            rabbitmq: self.running_rabbitmq?,
        })
    }
}

/// Says what is kept of something.
fn sentence<T>(name: &str, kept: &Result<Kept<T>, String>) -> Result<Option<String>, String> {
    let kept = kept.as_ref().map_err(String::clone)?;
    Ok(kept.sentence(name))
}

/// A MariaDB that exists.
struct Running {
    members: Members,
    max_scale: Option<MaxScale>,
    pull_secrets: Vec<LocalObjectReference>,
}

/// The MariaDB that is applied.
pub(super) struct Server {
    /// Its members.
    pub mariadb: Mariadb,
    /// Secrets with a registry's credentials.
    pub pull_secrets: Vec<LocalObjectReference>,
}

impl Recipe<'_> {
    /// The MariaDB over one that exists. mariadb-operator's webhook refuses other imagePullSecrets, too (mariadb-operator 0.38).
    ///
    /// # Errors
    /// It can't be read, and must stay as it is.
    fn server(&self, running: Option<&Running>) -> Result<Kept<Server>, String> {
        let mariadb = self.spec().infrastructure.mariadb.clone();
        let pull_secrets = self.pull_secrets();
        let Some(running) = running else {
            return Ok(Kept::nothing(Server {
                mariadb,
                pull_secrets,
            }));
        };
        let mut kept = mariadb.kept(&running.members, running.max_scale.as_ref());
        let held = self.held(
            OF_MARIADB_CLAIMS,
            &running.members,
            &kept.value.storage_size,
        )?;
        if let Some(field) = held {
            kept.fields.push(field);
            kept.value.storage_size = running.members.storage_size.clone();
        }
        if running.pull_secrets != pull_secrets {
            let (running, desired) = (names(&running.pull_secrets), names(&pull_secrets));
            kept.fields.push(format!(
                "imagePullSecrets: [{running}] instead of [{desired}]"
            ));
        }
        Ok(kept.map(|mariadb| Server {
            mariadb,
            pull_secrets: running.pull_secrets.clone(),
        }))
    }

    /// The MariaDB that exists.
    fn running_mariadb(&self, state: &NodeState) -> Result<Option<Running>, String> {
        let Some(existing) = state.object.as_ref().known()? else {
            return Ok(None);
        };
        let desired = self.spec().infrastructure.mariadb.members();
        let key = Key::of::<MariaDb>(self.namespace(), MARIADB);
        let max_scale = existing.pointer("/spec/maxScale");
        let max_scale = max_scale.map(MaxScale::deserialize).transpose();
        let max_scale = max_scale.map_err(|error| format!("{key}: maxScale: {error}"))?;
        let pull_secrets = match existing.pointer("/spec/imagePullSecrets") {
            Some(secrets) => serde_json::from_value(secrets.clone())
                .map_err(|error| format!("{key}: imagePullSecrets: {error}"))?,
            None => Vec::new(),
        };
        Ok(Some(Running {
            members: members(&key, existing, OF_MARIADB, desired)?,
            max_scale: max_scale.filter(|max_scale| max_scale.enabled),
            pull_secrets,
        }))
    }

    /// The RabbitMQ over one that exists.
    ///
    /// # Errors
    /// It can't be read, and must stay as it is.
    fn bus(&self, running: Option<&Members>) -> Result<Kept<Rabbitmq>, String> {
        let rabbitmq = self.spec().infrastructure.rabbitmq.clone();
        let Some(running) = running else {
            return Ok(Kept::nothing(rabbitmq));
        };
        let mut kept = rabbitmq.kept(running);
        let size = &kept.value.storage_size;
        if let Some(field) = self.held(OF_RABBITMQ_CLAIMS, running, size)? {
            kept.fields.push(field);
            kept.value.storage_size = running.storage_size.clone();
        }
        Ok(kept)
    }

    /// The members of RabbitMQ that exist: those in the StatefulSet, with which its operator compares. To let volumes grow, the
    /// operator deletes the StatefulSet without its pods, changes the claims and creates it anew. If a claim can't grow, the StatefulSet
    /// stays away until the size is that of the claims again (`internal/scaling` of cluster-operator 2.16).
    fn running_rabbitmq(&self, state: &NodeState) -> Result<Option<Members>, String> {
        let Some(cluster) = state.object.as_ref().known()? else {
            return Ok(None);
        };
        let desired = self.spec().infrastructure.rabbitmq.members();
        let key = Key::of::<RabbitmqCluster>(self.namespace(), RABBITMQ);
        let mut running = members(&key, cluster, OF_RABBITMQ, desired)?;
        let key = Key::of::<StatefulSet>(self.namespace(), RABBITMQ_SERVERS);
        match self.observed.object(&key) {
            Lookup::Found(servers) => {
                running = members(&key, &servers, OF_RABBITMQ_SERVERS, running)?;
            }
            Lookup::Missing => {
                let members = running.replicas.min(MOST);
                let claims = self.claims(OF_RABBITMQ_CLAIMS, members)?;
                let sizes: Result<Vec<Size>, String> = claims.iter().map(Claimed::size).collect();
                if let Some(size) = sizes?.into_iter().min_by_key(Size::bytes) {
                    running.storage_size = size;
                }
            }
            Lookup::Unknown(why) => return Err(why),
        }
        Ok(Some(running))
    }

    /// Says what members keep instead of a size; none where all of their volumes have it or can get it. The owner of the members stops
    /// to reconcile them at the first claim that the API server refuses to change; mariadb-operator changes those of former members, too.
    fn held(&self, claims: &str, running: &Members, size: &Size) -> Result<Option<String>, String> {
        let existing = &running.storage_size;
        if size.bytes() <= existing.bytes() {
            return Ok(None);
        }
        for claim in self.claims(claims, MOST)? {
            if claim.size()?.bytes() < size.bytes()
                && let Some(why) = claim.fixed(self.observed)?
            {
                let field = format!("storageSize: {existing} instead of {size}, since {why}");
                return Ok(Some(field));
            }
        }
        Ok(None)
    }

    /// The claims of members that exist, in the order of their numbers.
    pub(super) fn claims(&self, claims: &str, members: u32) -> Result<Vec<Claimed>, String> {
        let each = (0..members).filter_map(|member| {
            let name = format!("{claims}-{member}");
            let key = Key::of::<PersistentVolumeClaim>(self.namespace(), &name);
            Claimed::find(self.observed, &key).transpose()
        });
        each.collect()
    }

    /// The volume of the backups over one that exists; none where they are in a bucket.
    ///
    /// # Errors
    /// It can't be read, and must stay as it is.
    fn backup_volume(&self) -> Option<Result<Kept<Storage>, String>> {
        let backup = self.spec().backup.as_ref()?;
        let size = backup.volume(&self.spec().infrastructure.mariadb)?;
        let storage = Storage {
            size: size.clone(),
            class: backup.storage.storage_class.clone(),
        };
        let claim = Key::of::<PersistentVolumeClaim>(self.namespace(), BACKUPS_CLAIM);
        Some(kept_volume(self.observed, &claim, storage))
    }
}

/// The members of an object, by the places of their number, size and class. What it doesn't say is as `otherwise`.
fn members(
    key: &Key,
    object: &Value,
    [replicas, size, class]: [&str; 3],
    otherwise: Members,
) -> Result<Members, String> {
    let replicas = object.pointer(replicas).and_then(Value::as_u64);
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let storage_size: Size = match text(size) {
        Some(size) => size
            .parse()
            .map_err(|error: SizeError| format!("{key}: {error}"))?,
        None => otherwise.storage_size,
    };
    Ok(Members {
        replicas: replicas
            .and_then(|replicas| u32::try_from(replicas).ok())
            .unwrap_or(otherwise.replicas),
        storage_size,
        storage_class: text(class).map(str::to_owned),
    })
}

fn names(secrets: &[LocalObjectReference]) -> String {
    let names: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    names.join(", ")
}
