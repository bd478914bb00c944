//! What stays of databases, message buses and the volume of backups that exist, because their owners can't change it.

use c5c3_api::control_plane::{Backup, Mariadb, MaxScale, Rabbitmq, RunningInfrastructure};
use c5c3_api::parts::{Kept, Members, Size, SizeError, Storage};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{LocalObjectReference, PersistentVolumeClaim};
use provider_composer::{Conditions, Key, Lookup, ObservedState, Progress, Reason};
use provider_openstack::{Claimed, kept_volume};
use serde::Deserialize;
use serde_json::Value;

use super::backup::CLAIM;
use super::{MARIADB, RABBITMQ};
use crate::graph::Node;
use crate::manifest::mariadb::MariaDb;
use crate::manifest::rabbitmq::RabbitmqCluster;
use crate::recipe::Recipe;
use crate::survey::{Sight, Survey};

/// Whether everything has the size that is desired. It is only set while it is False or can't be determined.
const SIZE_ACCEPTED: &str = "SizeAccepted";

/// Why something is kept, and what to do.
const WHY: &str = "volumes don't shrink and keep their StorageClass, RabbitMQ loses no members, a MariaDB of one member \
                   doesn't become a Galera cluster or the reverse, and MariaDB keeps its MaxScale and imagePullSecrets. Set \
                   the former values, or restore a backup into a new control plane";

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
const OF_MARIADB_CLAIMS: &str = "storage-openstack-db";

/// What the names of the claims of RabbitMQ's members begin with, before their numbers.
const OF_RABBITMQ_CLAIMS: &str = "persistence-openstack-rabbitmq-server";

/// As many members as a database or a message bus can have.
const MOST: u32 = 9;

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
    pub(super) fn server(&self, observed: &ObservedState<'_>) -> Result<Kept<Server>, String> {
        let mariadb = self.spec().infrastructure.mariadb.clone();
        let pull_secrets = self.pull_secrets();
        let Some(running) = self.running_mariadb(observed)? else {
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
            observed,
        )?;
        if let Some(field) = held {
            kept.fields.push(field);
            kept.value.storage_size = running.members.storage.size;
        }
        if running.pull_secrets != pull_secrets {
            let (running, desired) = (names(&running.pull_secrets), names(&pull_secrets));
            kept.fields.push(format!(
                "imagePullSecrets: [{running}] instead of [{desired}]"
            ));
        }
        Ok(kept.map(|mariadb| Server {
            mariadb,
            pull_secrets: running.pull_secrets,
        }))
    }

    /// The MariaDB that exists.
    fn running_mariadb(&self, observed: &ObservedState<'_>) -> Result<Option<Running>, String> {
        let desired = self.spec().infrastructure.mariadb.members();
        let key = Key::of::<MariaDb>(self.namespace(), MARIADB);
        let existing = match observed.object(&key) {
            Lookup::Found(existing) => existing,
            Lookup::Missing => return Ok(None),
            Lookup::Unknown(why) => return Err(why),
        };
        let max_scale = existing.pointer("/spec/maxScale");
        let max_scale = max_scale.and_then(|max_scale| MaxScale::deserialize(max_scale).ok());
        let pull_secrets = match existing.pointer("/spec/imagePullSecrets") {
            Some(secrets) => serde_json::from_value(secrets.clone())
                .map_err(|error| format!("{key}: imagePullSecrets: {error}"))?,
            None => Vec::new(),
        };
        Ok(Some(Running {
            members: members(&key, &existing, OF_MARIADB, desired)?,
            max_scale: max_scale.filter(|max_scale| max_scale.enabled),
            pull_secrets,
        }))
    }

    /// The RabbitMQ over one that exists.
    ///
    /// # Errors
    /// It can't be read, and must stay as it is.
    pub(super) fn bus(&self, observed: &ObservedState<'_>) -> Result<Kept<Rabbitmq>, String> {
        let rabbitmq = self.spec().infrastructure.rabbitmq.clone();
        let Some(running) = self.running_rabbitmq(observed)? else {
            return Ok(Kept::nothing(rabbitmq));
        };
        let mut kept = rabbitmq.kept(&running);
        let size = &kept.value.storage_size;
        if let Some(field) = self.held(OF_RABBITMQ_CLAIMS, &running, size, observed)? {
            kept.fields.push(field);
            kept.value.storage_size = running.storage.size;
        }
        Ok(kept)
    }

    /// The members of RabbitMQ that exist: those in the StatefulSet, with which its operator compares. To let volumes grow, the
    /// operator deletes the StatefulSet without its pods, changes the claims and creates it anew. If a claim can't grow, the StatefulSet
    /// stays away until the size is that of the claims again (`internal/scaling` of cluster-operator 2.16).
    fn running_rabbitmq(&self, observed: &ObservedState<'_>) -> Result<Option<Members>, String> {
        let desired = self.spec().infrastructure.rabbitmq.members();
        let key = Key::of::<RabbitmqCluster>(self.namespace(), RABBITMQ);
        let mut running = match observed.object(&key) {
            Lookup::Found(cluster) => members(&key, &cluster, OF_RABBITMQ, desired)?,
            Lookup::Missing => return Ok(None),
            Lookup::Unknown(why) => return Err(why),
        };
        let key = Key::of::<StatefulSet>(self.namespace(), RABBITMQ_SERVERS);
        match observed.object(&key) {
            Lookup::Found(servers) => {
                running = members(&key, &servers, OF_RABBITMQ_SERVERS, running)?;
            }
            Lookup::Missing => {
                let members = running.replicas.min(MOST);
                let claims = self.claims(OF_RABBITMQ_CLAIMS, members, observed)?;
                let sizes = claims.iter().map(Claimed::size);
                if let Some(size) = sizes.min_by_key(|size| size.bytes()) {
                    running.storage.size = size.clone();
                }
            }
            Lookup::Unknown(why) => return Err(why),
        }
        Ok(Some(running))
    }

    /// Says what members keep instead of a size; none where all of their volumes have it or can get it. The owner of the members stops
    /// to reconcile them at the first claim that the API server refuses to change; mariadb-operator changes those of former members, too.
    fn held(
        &self,
        claims: &str,
        running: &Members,
        size: &Size,
        observed: &ObservedState<'_>,
    ) -> Result<Option<String>, String> {
        let existing = &running.storage.size;
        if size.bytes() <= existing.bytes() {
            return Ok(None);
        }
        for claim in self.claims(claims, MOST, observed)? {
            if claim.size().bytes() < size.bytes()
                && let Some(why) = claim.fixed(observed)?
            {
                let field = format!("storageSize: {existing} instead of {size}, since {why}");
                return Ok(Some(field));
            }
        }
        Ok(None)
    }

    /// The claims of members that exist.
    fn claims(
        &self,
        claims: &str,
        members: u32,
        observed: &ObservedState<'_>,
    ) -> Result<Vec<Claimed>, String> {
        let each = (0..members).filter_map(|member| {
            let name = format!("{claims}-{member}");
            let key = Key::of::<PersistentVolumeClaim>(self.namespace(), &name);
            Claimed::find(observed, &key).transpose()
        });
        each.collect()
    }

    /// What exists, as the status says. While something can't be read, what was said before stays.
    pub(crate) fn running(
        &self,
        survey: &Survey,
        observed: &ObservedState<'_>,
    ) -> Option<RunningInfrastructure> {
        let exists = |node: Node| survey.get(&node).is_some_and(Sight::may_exist);
        let read = || -> Result<RunningInfrastructure, String> {
            let mut running = RunningInfrastructure::default();
            if exists(Node::MariaDb)
                && let Some(mariadb) = self.running_mariadb(observed)?
            {
                running.mariadb = Some(mariadb.members.into());
                running.max_scale = mariadb.max_scale;
            }
            if exists(Node::RabbitMq) {
                running.rabbitmq = self.running_rabbitmq(observed)?.map(Into::into);
            }
            Ok(running)
        };
        read()
            .ok()
            .or_else(|| self.subject.status.infrastructure.clone())
    }

    /// The volume of the backups over one that exists; none where they are in a bucket.
    ///
    /// # Errors
    /// It can't be read, and must stay as it is.
    pub(super) fn backup_volume(
        &self,
        backup: &Backup,
        observed: &ObservedState<'_>,
    ) -> Option<Result<Kept<Storage>, String>> {
        let size = backup.volume(&self.spec().infrastructure.mariadb)?;
        let storage = Storage {
            size: size.clone(),
            class: backup.storage.storage_class.clone(),
        };
        let claim = Key::of::<PersistentVolumeClaim>(self.namespace(), CLAIM);
        Some(kept_volume(observed, &claim, storage))
    }

    /// Notes what is kept, and what to do.
    pub(crate) fn size_accepted(
        &self,
        survey: &Survey,
        observed: &ObservedState<'_>,
        conditions: &mut Conditions,
    ) {
        let exists = |node: Node| survey.get(&node).is_some_and(Sight::may_exist);
        let mut said = Vec::new();
        if exists(Node::MariaDb) {
            let kept = self.server(observed);
            said.push(kept.map(|kept| kept.sentence("MariaDB")));
            let backup = self.spec().backup.as_ref();
            let volume = backup.and_then(|backup| self.backup_volume(backup, observed));
            let name = format!("PersistentVolumeClaim {CLAIM}");
            said.extend(volume.map(|kept| kept.map(|kept| kept.sentence(&name))));
        }
        if exists(Node::RabbitMq) {
            let kept = self.bus(observed);
            said.push(kept.map(|kept| kept.sentence("RabbitMQ")));
        }
        let said: Result<Vec<Option<String>>, String> = said.into_iter().collect();
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
    let size: Size = match text(size) {
        Some(size) => size
            .parse()
            .map_err(|error: SizeError| format!("{key}: {error}"))?,
        None => otherwise.storage.size,
    };
    Ok(Members {
        replicas: replicas
            .and_then(|replicas| u32::try_from(replicas).ok())
            .unwrap_or(otherwise.replicas),
        storage: Storage {
            size,
            class: text(class).map(str::to_owned),
        },
    })
}

fn names(secrets: &[LocalObjectReference]) -> String {
    let names: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    names.join(", ")
}
