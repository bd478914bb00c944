//! Lists what is on a page.

use std::time::Duration;

use c5c3_live::{Batch, Cluster, Error, Query};
use futures::future::join_all;
use provider_composer::ResourceKind;
use tokio::time::timeout;

use crate::parts::Part;
use crate::request::Request;

/// How long the API server may take for a list.
const PATIENCE: Duration = Duration::from_secs(10);

/// The cluster doesn't know the viewer.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown;

/// Why a list isn't there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The viewer may not list the kind there.
    Forbidden,
    /// The cluster doesn't have the kind.
    NotServed,
    /// It has changed since its first part was listed.
    Expired,
    /// Something else.
    Other(String),
}

/// A part of a list, as far as the viewer may see it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The kind.
    pub kind: ResourceKind,
    /// Where it was listed; none: in all namespaces.
    pub namespace: Option<String>,
    /// What there is.
    pub outcome: Result<Batch, Trouble>,
}

/// What was listed for a page, in its order.
pub type Content = Vec<(Part, Listed)>;

/// Lists everything that a page shows.
///
/// # Errors
/// The cluster doesn't know the viewer.
pub async fn read(cluster: &Cluster, request: &Request) -> Result<Content, Unknown> {
    let parts = Part::of(request).into_iter();
    let lists = parts.map(|part| async move {
        let listed = list(cluster, part.query(request)).await?;
        Ok((part, listed))
    });
    join_all(lists).await.into_iter().collect()
}

async fn list(cluster: &Cluster, query: Query) -> Result<Listed, Unknown> {
    let outcome = match timeout(PATIENCE, cluster.batch(&query)).await {
        Ok(Ok(batch)) => Ok(batch),
        Ok(Err(Error::Unknown { .. })) => return Err(Unknown),
        Ok(Err(Error::Forbidden { .. })) => Err(Trouble::Forbidden),
        Ok(Err(Error::NotServed(_))) => Err(Trouble::NotServed),
        Ok(Err(Error::Expired(_))) => Err(Trouble::Expired),
        Ok(Err(error)) => Err(Trouble::Other(error.to_string())),
        Err(_) => Err(Trouble::Other(format!(
            "the cluster doesn't answer within {} seconds",
            PATIENCE.as_secs()
        ))),
    };
    Ok(Listed {
        kind: query.kind,
        namespace: query.namespace,
        outcome,
    })
}
