//! Lists, a part at a time.

use c5c3_plan::Manifest;
use kube::api::ListParams;
use kube::discovery::ApiResource;
use provider_composer::ResourceKind;

use crate::cluster::{Cluster, Served, manifest};
use crate::error::Error;

/// What is listed.
#[derive(Clone, Debug)]
pub struct Query {
    /// The kind.
    pub kind: ResourceKind,
    /// The namespace; none: all of them.
    pub namespace: Option<String>,
    /// The name; none: all of them.
    pub name: Option<String>,
    /// The labels, as the API server's label selector has them; empty: whatever the labels.
    pub labels: String,
    /// The most objects that are listed at once.
    pub limit: u32,
    /// What the part before says of this one; none: the first part.
    pub next: Option<String>,
}

/// A part of a list.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The objects, by namespace and name.
    pub objects: Vec<Manifest>,
    /// How to list the next part; none: this is the last one.
    pub next: Option<String>,
    /// How many objects follow, where the API server says so.
    pub remaining: Option<u64>,
}

impl Query {
    /// The first objects of a kind.
    pub fn of(kind: ResourceKind, limit: u32) -> Self {
        Self {
            kind,
            namespace: None,
            name: None,
            labels: String::new(),
            limit,
            next: None,
        }
    }
}

impl Cluster {
    /// Lists a part of the objects of a kind. The API server divides the list, so that neither side holds all of it.
    ///
    /// # Errors
    /// The cluster doesn't serve the kind, or they can't be listed.
    pub async fn batch(&self, query: &Query) -> Result<Batch, Error> {
        let kind = query.kind;
        let served = Served {
            resource: ApiResource {
                group: kind.group.to_owned(),
                version: kind.version.to_owned(),
                api_version: kind.api_version(),
                kind: kind.kind.to_owned(),
                plural: kind.plural.to_owned(),
            },
            namespaced: kind.namespaced,
        };
        let api = self.api(&served, query.namespace.as_deref());
        let mut parameters = ListParams::default()
            .labels(&query.labels)
            .limit(query.limit);
        if let Some(name) = &query.name {
            parameters = parameters.fields(&format!("metadata.name={name}"));
        }
        parameters.continue_token.clone_from(&query.next);
        let listed = api.list(&parameters).await;
        let listed = listed.map_err(|error| match error {
            kube::Error::Api(status) if status.code == 404 => Error::NotServed(served.plural()),
            kube::Error::Api(status) if status.code == 410 => Error::Expired(served.plural()),
            error => self.refused("list", &served.plural(), error),
        })?;
        let objects = listed.items.into_iter();
        let objects = objects.map(|object| manifest(&served, object));
        let remaining = listed.metadata.remaining_item_count;
        Ok(Batch {
            objects: objects.collect::<Result<_, _>>()?,
            next: listed.metadata.continue_.filter(|next| !next.is_empty()),
            remaining: remaining.and_then(|remaining| u64::try_from(remaining).ok()),
        })
    }
}
