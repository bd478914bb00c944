//! Which composite resource owns an object in another cluster.
//!
//! Everything composed in another cluster carries the UID of the composite resource that it is composed for. The API
//! server of the management cluster issues that UID, so no tenant can choose it. Until an object is observed to carry
//! the composite's own UID, provider-kubernetes may only observe and create it. Whoever creates an object first owns
//! it; what another composite resource owns is neither changed nor deleted.

use serde::Deserialize;
use thiserror::Error;

use crate::composite::Metadata;
use crate::manifest::{Manifest, ObjectMeta, place};
use crate::names::fitted;

/// Label with the UID of the owning composite resource.
const CLAIM_UID: &str = "c5c3.io/claim-uid";

/// Annotation with the owning claim as `namespace/name`, for people and for handing over.
const CLAIM: &str = "c5c3.io/claim";

/// Annotation by which a platform team hands an object over to another composite resource, with that resource's UID.
const ADOPT_BY: &str = "c5c3.io/adopt-by";

/// The composite resource that objects are composed for.
#[derive(Clone, Debug)]
pub struct Owner {
    uid: String,
    claim: String,
    owns_root: bool,
    root_is_foreign: bool,
    adopts: bool,
}

/// Whose an observed object is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ownership {
    /// Unknown: the object doesn't exist, or its cluster hasn't been reached yet.
    #[default]
    Unknown,
    /// The composite's own.
    Owned,
    /// Another's, or nobody's.
    Foreign(Foreign),
}

/// An existing object under a name that the composite asks for, and that the composite doesn't own. Tenants read the message, so
/// it doesn't name other tenants' claims: the object's annotation does.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{object} in cluster {cluster} exists and {holder}; choose another name, or have the platform team hand it over with the \
     annotation {ADOPT_BY}: {uid}"
)]
pub struct Foreign {
    object: String,
    cluster: String,
    holder: Holder,
    uid: String,
}

/// Who owns a foreign object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum Holder {
    #[error("belongs to no claim")]
    None,
    #[error("belongs to an earlier or another claim named {0}")]
    Namesake(String),
    #[error("belongs to another claim")]
    Another,
}

/// What an observed object's metadata say: whose it is, and which generation its spec has.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Generation of the spec.
    pub generation: Option<i64>,
    name: String,
    namespace: Option<String>,
    labels: Labels,
    annotations: Annotations,
}

impl Record {
    /// Where the object is.
    pub fn place(&self) -> String {
        place(self.namespace.as_deref(), &self.name)
    }

    /// Whether the object is the wanted one, or has its name from before that was shortened.
    pub fn is_for(&self, wanted: &ObjectMeta) -> bool {
        self.namespace == wanted.namespace && fitted(&self.name, wanted.name.len()) == wanted.name
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Labels {
    #[serde(rename = "c5c3.io/claim-uid")]
    claim_uid: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "c5c3.io/claim")]
    claim: Option<String>,
    #[serde(rename = "c5c3.io/adopt-by")]
    adopt_by: Option<String>,
}

impl Owner {
    /// The owner of what a composite resource composes. `root` is the record of the object that holds the rest, if it was observed: while
    /// it isn't owned, nothing within it is composed, and handing it over hands over everything of the same claim.
    pub fn of(metadata: &Metadata, root: Option<&Record>) -> Self {
        let mut owner = Owner {
            uid: metadata.stored_uid().unwrap_or_default().to_owned(),
            claim: metadata.claim_path(),
            owns_root: false,
            root_is_foreign: false,
            adopts: false,
        };
        owner.adopts = root.is_some_and(|record| owner.is_handed(record));
        let root = owner.ownership("", "", root);
        owner.owns_root = root == Ownership::Owned;
        owner.root_is_foreign = matches!(root, Ownership::Foreign(_));
        owner
    }

    /// Whether the root is the composite's own.
    pub fn owns_root(&self) -> bool {
        self.owns_root
    }

    /// Whether the root is another owner's.
    pub fn root_is_foreign(&self) -> bool {
        self.root_is_foreign
    }

    /// Whose an object is by its record; `kind` and `cluster` are for the message.
    ///
    /// A composite resource that isn't stored in any cluster is being rendered, and owns all that it renders.
    pub fn ownership(&self, kind: &str, cluster: &str, record: Option<&Record>) -> Ownership {
        let Some(record) = record.filter(|_| !self.is_rendered()) else {
            return match self.is_rendered() {
                true => Ownership::Owned,
                false => Ownership::Unknown,
            };
        };
        let claim = record.annotations.claim.as_ref();
        let is_own = record.labels.claim_uid.as_ref() == Some(&self.uid);
        if is_own || self.is_handed(record) || self.adopts && claim == Some(&self.claim) {
            return Ownership::Owned;
        }
        Ownership::Foreign(Foreign {
            object: format!("{kind} {}", record.name),
            cluster: cluster.to_owned(),
            holder: match claim {
                None => Holder::None,
                Some(claim) if *claim == self.claim => Holder::Namesake(claim.clone()),
                Some(_) => Holder::Another,
            },
            uid: self.uid.clone(),
        })
    }

    /// Records this owner in a manifest, over whatever the manifest says about its owner.
    pub fn record_in<S>(&self, manifest: &mut Manifest<S>) {
        if self.is_rendered() {
            return;
        }
        let metadata = &mut manifest.metadata;
        let (uid, claim) = (self.uid.clone(), self.claim.clone());
        metadata.labels.insert(CLAIM_UID.to_owned(), uid);
        metadata.annotations.insert(CLAIM.to_owned(), claim);
    }

    /// Whether the composite resource is rendered on its own, outside a cluster.
    pub fn is_rendered(&self) -> bool {
        self.uid.is_empty()
    }

    fn is_handed(&self, record: &Record) -> bool {
        !self.is_rendered() && record.annotations.adopt_by.as_ref() == Some(&self.uid)
    }
}
