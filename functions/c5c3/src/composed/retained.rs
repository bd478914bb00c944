//! What holds data or servers and is no longer wanted: a change of a spec never deletes it.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::hypervisor::{HypervisorShareSpec, HypervisorShareStatus};
use c5c3_kinds::Spec;
use c5c3_kinds::ceph::{BLOCKED, CephObjectStore, CephObjectStoreUser, DATA_KINDS};
use function_protocol::{Document, Fatal};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deleting::is_unresolved;
use super::usages::ObservedUsage;
use super::{CREATE_ONLY, Composed, Kept};
use crate::manifest::ObjectMeta;
use crate::observed::IgnoredStatus;
use crate::ownership::Ownership;

const SHARE: &str = HypervisorShareSpec::KIND.kind;

/// The condition of a share that says which of its nodes have servers, while nodes are drained.
const NODES_DRAINED: &str = "NodesDrained";

/// What the claim no longer wants and still exists.
pub struct Retention {
    /// The HypervisorShares that are kept: names of composed resources.
    pub shares: Vec<String>,
    /// All else that is kept, most often for its data.
    pub data: Vec<String>,
    /// What is being deleted, by name, and what that waits for; empty where nothing is reported.
    pub deleting: Vec<(String, String)>,
    /// What is released and neither kept nor being deleted.
    pub unmatched: Vec<String>,
    /// Whether anything holds data or servers, kept or not: pools stay held until it is gone.
    pub holds: bool,
}

/// Label of an Object that is kept although the claim no longer wants it.
const RETAINED: &str = "c5c3.io/retained";

/// An Object that is kept although the claim no longer wants it.
#[derive(Serialize)]
struct Retained {
    metadata: ObjectMeta,
    #[serde(flatten)]
    kept: Kept,
}

/// An Object that exists and isn't wanted.
struct Leftover<'a> {
    name: &'a str,
    document: &'a Document,
    kind: String,
    cluster: String,
    is_empty: bool,
    /// Whether it is being deleted.
    is_deleted: bool,
    /// Whether it is released, or being deleted.
    is_released: bool,
    /// What its deletion waits for, as its cluster reports it.
    waits: String,
    /// Whether the provider may have created the object, and may not delete it yet.
    may_only_create: bool,
    /// Whether it is kept: because it isn't released, because what holds data needs it, or because a Usage protects its data.
    is_kept: bool,
}

impl Leftover<'_> {
    fn holds_data(&self) -> bool {
        self.may_hold_data() && !self.is_empty
    }

    /// Whether it is kept unless it is released.
    fn may_be_released(&self) -> bool {
        self.holds_data() || self.may_only_create
    }

    /// Whether it is kept because it isn't released.
    fn is_retained(&self) -> bool {
        self.may_be_released() && !self.is_released
    }

    /// Whether its kind is one that holds data or servers.
    fn may_hold_data(&self) -> bool {
        DATA_KINDS.contains(&self.kind.as_str()) || self.kind == SHARE
    }
}

impl<'a> Composed<'a> {
    /// Keeps every Object that isn't wanted any more and holds data or servers, but for those `released` and those that are being
    /// deleted; with them the Usages that protect them. Whoever reaches the data or reads what agents need is kept until the data or
    /// the share are gone, released or not: Rook doesn't delete a pool that has images, and agents drain the nodes. So are data that
    /// a Usage protects. Also keeps an Object until the provider may delete what it may have created; without that the object would be
    /// left in its cluster. Call it once everything is wanted but `later`. `is_key` says by its name whether an Object is for a key of
    /// a cluster, wherever it is.
    ///
    /// # Errors
    /// An observed resource isn't what its kind says.
    pub fn retain(
        &mut self,
        released: &BTreeSet<&str>,
        later: &str,
        is_key: fn(&str, &str) -> bool,
    ) -> Result<Retention, Fatal> {
        let unwanted = self.unwanted(later);
        // A claim at rest has nothing that it doesn't want.
        let mut usages = match unwanted.is_empty() {
            true => Vec::new(),
            false => ObservedUsage::all(self.request)?,
        };
        let unresolved = is_unresolved(self.request, &usages);
        usages.retain(|usage| !self.desired.contains(usage.name));
        let mut leftovers = self.leftovers(unwanted, released)?;
        mark_kept(&mut leftovers, is_key, unresolved);
        mark_used(&mut leftovers, &usages);
        // Crossplane refuses to delete what a Usage protects, and stops there: the Usage is deleted first.
        let is_protected_still = |of: &str| {
            let mut protecting = usages.iter().filter(|usage| usage.of == Some(of));
            protecting.any(|usage| usage.by.is_some_and(|by| self.desired.contains(by)))
        };
        let kept: BTreeMap<&str, &Document> = leftovers
            .iter()
            .filter(|leftover| leftover.is_kept || is_protected_still(leftover.name))
            .map(|leftover| (leftover.name, leftover.document))
            .collect();
        for (name, document) in &kept {
            self.keep_leftover(name, document)?;
        }
        let is_one = |name: &str, is: fn(&Leftover<'a>) -> bool| {
            let mut such = leftovers.iter().filter(|leftover| is(leftover));
            such.any(|leftover| leftover.name == name)
        };
        let is_protected = |of: &str| is_one(of, |leftover| leftover.is_kept);
        let is_needed = |by: &str| kept.contains_key(by) || is_one(by, Leftover::holds_data);
        for usage in usages {
            if unresolved || usage.of.is_some_and(is_protected) || usage.by.is_some_and(is_needed) {
                self.desire(usage.name, &self.composed_usage(usage.spec), true)?;
            }
        }
        Ok(Retention::of(&leftovers, released, unresolved))
    }

    /// What is observed and isn't wanted, but for `later`.
    fn unwanted(&self, later: &str) -> Vec<(&'a str, &'a Document)> {
        let observed = self.request.observed().iter();
        let unwanted = observed.filter(|(name, _)| !self.desired.contains(*name) && *name != later);
        unwanted
            .filter_map(|(name, resource)| Some((name.as_str(), resource.resource.as_ref()?)))
            .collect()
    }

    /// The Objects among these that have no other owner.
    fn leftovers(
        &self,
        unwanted: Vec<(&'a str, &'a Document)>,
        released: &BTreeSet<&str>,
    ) -> Result<Vec<Leftover<'a>>, Fatal> {
        let mut leftovers = Vec::new();
        for (name, document) in unwanted {
            let value: Value = document
                .parse()
                .map_err(|error| Fatal::from(error).within(name))?;
            if let Some(mut leftover) = leftover(name, document, &value) {
                // The core's cache may not have the time of its deletion yet.
                leftover.is_deleted |= self.request.is_added(name);
                leftover.is_released = leftover.is_deleted || released.contains(name);
                let record = self.observation::<IgnoredStatus>(name).record;
                let ownership = self.owner.ownership("", "", record.as_ref());
                if !matches!(ownership, Ownership::Foreign(_)) {
                    leftovers.push(leftover);
                }
            }
        }
        Ok(leftovers)
    }

    /// Wants an Object again that isn't wanted any more.
    fn keep_leftover(&mut self, name: &str, document: &Document) -> Result<(), Fatal> {
        let mut kept = self.kept(name, document)?;
        set_held(&mut kept);
        let metadata = ObjectMeta {
            labels: BTreeMap::from([(RETAINED.to_owned(), "true".to_owned())]),
            ..ObjectMeta::default()
        };
        self.desire(name, &Retained { metadata, kept }, true)
    }
}

impl Retention {
    fn of(leftovers: &[Leftover<'_>], released: &BTreeSet<&str>, unresolved: bool) -> Self {
        let releasable: BTreeSet<&str> = leftovers
            .iter()
            .filter(|leftover| leftover.may_be_released())
            .map(|leftover| leftover.name)
            .collect();
        let unmatched = released.difference(&releasable);
        let retained = leftovers.iter().filter(|leftover| leftover.is_retained());
        let (shares, data) = retained.partition::<Vec<_>, _>(|leftover| leftover.kind == SHARE);
        let names = |leftovers: Vec<&Leftover<'_>>| -> Vec<String> {
            let names = leftovers.into_iter().map(|leftover| leftover.name);
            names.map(str::to_owned).collect()
        };
        let deleting = leftovers
            .iter()
            .filter(|leftover| leftover.holds_data() && leftover.is_released);
        Self {
            shares: names(shares),
            data: names(data),
            deleting: deleting
                .map(|leftover| (leftover.name.to_owned(), leftover.waits.clone()))
                .collect(),
            unmatched: unmatched.map(|name| (*name).to_owned()).collect(),
            holds: unresolved || leftovers.iter().any(Leftover::holds_data),
        }
    }
}

/// Marks those that are kept: all of them while it isn't known what still exists.
fn mark_kept<'a>(leftovers: &mut [Leftover<'a>], is_key: fn(&str, &str) -> bool, unresolved: bool) {
    let clusters = |is: fn(&Leftover<'a>) -> bool| -> BTreeSet<String> {
        let such = leftovers.iter().filter(|leftover| is(leftover));
        such.map(|leftover| leftover.cluster.clone()).collect()
    };
    let holding = clusters(Leftover::holds_data);
    // Rook deletes no object store that has users.
    let released_stores =
        clusters(|leftover| leftover.kind == CephObjectStore::KIND.kind && leftover.is_released);
    for leftover in leftovers {
        let is_blocking = leftover.kind == CephObjectStoreUser::KIND.kind
            && released_stores.contains(&leftover.cluster);
        let serves =
            |cluster: &String| leftover.cluster == *cluster || is_key(leftover.name, cluster);
        leftover.is_kept = unresolved
            || leftover.is_retained()
            || !leftover.may_hold_data() && !is_blocking && holding.iter().any(serves);
    }
}

/// Marks data that a Usage protects, such as images with clones: they are kept until what the Usage waits for is gone, released or not.
fn mark_used(leftovers: &mut [Leftover<'_>], usages: &[ObservedUsage<'_>]) {
    for leftover in leftovers {
        let of = leftover.name;
        let mut protecting = usages.iter().filter(|usage| usage.of == Some(of));
        let used = protecting.find_map(|usage| Some((usage.by?, &usage.spec.reason)));
        if let Some((by, reason)) = used
            && leftover.holds_data()
            && !leftover.is_deleted
        {
            leftover.is_kept = true;
            leftover.waits = format!("it waits for {by}, since {reason}");
        }
    }
}

/// Keeps a share from nodes that it doesn't have.
fn set_held(kept: &mut Kept) {
    if let Some(manifest) = kept.spec.for_provider.get_mut("manifest")
        && manifest["kind"] == SHARE
        && let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.insert("held".to_owned(), json!(true));
        spec.sort_keys();
    }
}

/// What the deletion of an object waits for, as its cluster reports it; empty where it reports nothing.
fn waits(object: &Value) -> String {
    let conditions = object.pointer("/status/atProvider/manifest/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let is_waiting = |condition: &&Value| match condition["type"].as_str() {
        Some(NODES_DRAINED) => condition["status"] != "True",
        Some(type_) => BLOCKED.contains(&type_) && condition["status"] == "True",
        None => false,
    };
    let messages = conditions.filter(is_waiting);
    let messages: Vec<&str> = messages
        .filter_map(|condition| condition["message"].as_str())
        .collect();
    messages.join("; ")
}

fn leftover<'a>(name: &'a str, document: &'a Document, value: &Value) -> Option<Leftover<'a>> {
    let text = |pointer: &str| Some(value.pointer(pointer)?.as_str()?.to_owned());
    let kind = text("/spec/forProvider/manifest/kind")?;
    // Only a share says that nothing is in it.
    let is_empty = kind == SHARE && {
        let status = value.pointer("/status/atProvider/manifest/status");
        let status = status.and_then(|status| HypervisorShareStatus::deserialize(status).ok());
        status.is_some_and(|status| status.is_empty())
    };
    let policies = value.pointer("/spec/managementPolicies");
    Some(Leftover {
        name,
        document,
        kind,
        cluster: text("/spec/providerConfigRef/name")?,
        is_empty,
        is_deleted: text("/metadata/deletionTimestamp").is_some(),
        is_released: false,
        waits: waits(value),
        may_only_create: policies.is_some_and(|policies| *policies == json!(CREATE_ONLY)),
        is_kept: false,
    })
}
