//! What is left of the volumes of a MariaDB or RabbitMQ, and which one may use it.

use c5c3_kinds::rabbitmq::cluster::RabbitmqCluster;
use provider_composer::{Progress, Reason, Resource};
use provider_openstack::Claimed;

use super::sizes::{MOST, OF_MARIADB_CLAIMS, OF_RABBITMQ_CLAIMS};
use crate::graph::Node;
use crate::recipe::Recipe;

/// What the names of the claims begin with in which members of a Galera cluster keep its configuration, before their numbers.
const OF_GALERA_CLAIMS: &str = "galera-openstack-db";

/// As many members as a Galera cluster has at least.
const FEWEST: u32 = 3;

impl Recipe<'_> {
    /// Returns why a node can't be created over the volumes that exist; Ready where it can.
    pub(crate) fn volumes(&self, node: Node) -> Progress {
        match node {
            Node::MariaDb => self.mariadb_volumes(),
            Node::RabbitMq => self.rabbitmq_volumes(),
            _ => Progress::Ready,
        }
    }

    /// Its operator has the claims deleted after the RabbitmqCluster that owns them (cluster-operator 2.16). Until it has a StatefulSet, a
    /// new one would get the size of the claims that are left.
    fn rabbitmq_volumes(&self) -> Progress {
        let claims = match self.claims(OF_RABBITMQ_CLAIMS, MOST) {
            Ok(claims) => claims,
            Err(message) => return Progress::Unknown { message },
        };
        let is_leaving =
            |claim: &&Claimed| claim.is_being_deleted() || claim.is_owned_by(RabbitmqCluster::KIND);
        match claims.iter().find(is_leaving) {
            Some(claim) => deletion("RabbitMQ", claim),
            None => Progress::Ready,
        }
    }

    /// mariadb-operator initializes no Galera cluster over volumes that exist, waits until all of them are bound, and compares only what
    /// the members that are desired have committed. The volume of a single member has no state of Galera, so that it would wait forever
    /// (`ReconcileInit`, `getPodNames` and `bootstrapSource` of mariadb-operator 0.38). A single member would serve what the first one of
    /// a Galera cluster has, and another may have committed more.
    fn mariadb_volumes(&self) -> Progress {
        let left = self.claims(OF_MARIADB_CLAIMS, MOST);
        let left = left.and_then(|data| Ok((data, self.claims(OF_GALERA_CLAIMS, MOST)?)));
        let (data, galera) = match left {
            Ok(left) => left,
            Err(message) => return Progress::Unknown { message },
        };
        let wanted = &self.spec().infrastructure.mariadb;
        let mut all = data.iter().chain(&galera);
        if let Some(claim) = all.clone().find(|claim| claim.is_being_deleted()) {
            return deletion("MariaDB", claim);
        }
        if let Some(claim) = all.find(|claim| claim.is_lost()) {
            return waiting(lost(claim, wanted.is_galera()));
        }
        let unbound = data.iter().find(|claim| !claim.is_bound());
        if let Some(claim) = unbound.filter(|_| wanted.is_galera()) {
            return waiting(format!(
                "{} isn't bound, and mariadb-operator waits for it: delete it if it was never bound",
                claim.key()
            ));
        }
        let data: Vec<&Claimed> = data.iter().filter(|claim| claim.is_bound()).collect();
        let (Some(first), Some(last)) = (data.first(), data.last()) else {
            return Progress::Ready;
        };
        let members = number(last).map_or(0, |last| last + 1);
        let was_galera = !galera.is_empty() || members > 1;
        // A Galera cluster has an odd number of members.
        let enough = (members | 1).max(FEWEST);
        let message = match (was_galera, wanted.is_galera()) {
            (true, true) if members > wanted.replicas => format!(
                "The member of {} may have committed more than the members that are desired: set infrastructure.mariadb.replicas to \
                 {enough} or more, or delete the PersistentVolumeClaim if that member was removed before",
                last.key()
            ),
            (true, false) => {
                let set = format!("{enough} or more");
                other_kind(first, "of a Galera cluster", "a single MariaDB", &set)
            }
            (false, true) => other_kind(first, "of a single MariaDB", "a Galera cluster", "1"),
            (true, true) | (false, false) => return Progress::Ready,
        };
        Progress::failed(Reason::Unsupported, message)
    }
}

/// Says what to do with a claim whose volume is gone: no pod starts with it, and its storage may still have the data.
fn lost(claim: &Claimed, is_galera: bool) -> String {
    let then = match is_galera {
        true => "let the member join the others, or restore a backup if no other has data",
        false => "restore a backup afterwards",
    };
    format!(
        "{} is Lost, since its PersistentVolume was deleted: create that again if its storage still has the data, or delete the \
         PersistentVolumeClaim, and {then}",
        claim.key()
    )
}

/// Says that the data is of another kind of MariaDB, and both ways to continue.
fn other_kind(claim: &Claimed, had: &str, desired: &str, replicas: &str) -> String {
    format!(
        "{} has data {had}, which doesn't become {desired}: set infrastructure.mariadb.replicas to {replicas}, or delete the \
         PersistentVolumeClaims of its members once their data is in a backup, and restore the backup afterwards",
        claim.key()
    )
}

/// The number of the member whose claim this is.
fn number(claim: &Claimed) -> Option<u32> {
    let (_, number) = claim.key().name.rsplit_once('-')?;
    number.parse().ok()
}

fn deletion(server: &str, claim: &Claimed) -> Progress {
    waiting(format!(
        "{server} waits for the deletion of {}",
        claim.key()
    ))
}

fn waiting(message: String) -> Progress {
    Progress::waiting(Reason::WaitingFor("PersistentVolumeClaim"), message)
}
