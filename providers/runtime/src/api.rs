//! The client of the API server: whole objects as JSON, and every write under a [`LeaseGuard`].

mod error;

use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncReadExt, Stream, StreamExt, stream};
use hyper::Request;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use kube::core::WatchEvent;
use provider_composer::{Key, ResourceKind};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use error::ApiError;

use crate::head::Head;
use crate::lease_guard::LeaseGuard;
use crate::metrics::Metrics;

/// The timeout of a call. It is shorter than the reserve of a [`LeaseGuard`], so that a write has ended before another
/// replica may write.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// How long the API server keeps a watch, at least, and the largest random addition: watches don't all end together.
const WATCH: Duration = Duration::from_secs(270);
const SPREAD: Duration = Duration::from_secs(20);

/// How much later than requested the API server may end a watch. After that the connection counts as lost.
const LATE: Duration = Duration::from_secs(10);

/// How many objects are listed at once: what isn't kept of them is dropped page by page.
pub(crate) const PAGE: usize = 100;

/// The largest such page, in bytes. Objects may be a megabyte or more each: where so many are larger, fewer are listed at once.
const LARGEST: u64 = 4 << 20;
const FEWER: usize = 10;

/// How many published documents are read at once: an operator waits for those of all its kinds before its first reconcile.
const DOCUMENTS: usize = 2;

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";

/// Calls the API server, and counts the calls.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    metrics: Metrics,
    /// One page at a time is in memory.
    pages: Arc<Semaphore>,
    /// A few published documents at a time are.
    documents: Arc<Semaphore>,
}

/// How much of objects is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of them.
    Whole,
    /// Only their metadata.
    Metadata,
}

/// Some of the objects of a kind.
#[derive(Deserialize)]
pub(crate) struct Page {
    pub metadata: PageMetadata,
    #[serde(deserialize_with = "nullable")]
    pub items: Vec<Box<RawValue>>,
    /// The permit to hold a page; the next page is read once this one is dropped.
    #[serde(skip)]
    _permit: Option<OwnedSemaphorePermit>,
}

/// Of an empty list, the API server may write null. A response without the field isn't a list.
fn nullable<'de, D: Deserializer<'de>>(items: D) -> Result<Vec<Box<RawValue>>, D::Error> {
    Option::deserialize(items).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageMetadata {
    pub resource_version: String,
    /// Where the next page begins.
    #[serde(default)]
    pub r#continue: String,
}

impl Api {
    pub(crate) fn new(client: Client, metrics: Metrics) -> Self {
        Self {
            client,
            metrics,
            pages: Arc::new(Semaphore::new(1)),
            documents: Arc::new(Semaphore::new(DOCUMENTS)),
        }
    }

    /// Returns one object; none if it doesn't exist.
    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Value>, ApiError> {
        let request = Request::get(path(key, "")?).header(ACCEPT, JSON);
        match self.send("get", request, Vec::new()).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what the API server publishes of a kind's group and version, as OpenAPI 3. The document can be as large as a page of a
    /// list, so few are read at once.
    pub(crate) async fn published<T: serde::de::DeserializeOwned>(
        &self,
        kind: ResourceKind,
    ) -> Result<T, ApiError> {
        let url = format!("/openapi/v3/apis/{}/{}", kind.group, kind.version);
        let request = Request::get(url).header(ACCEPT, JSON);
        let _permit = self.documents.acquire().await.ok();
        self.send("get", request, Vec::new()).await
    }

    /// Objects of a kind, in one namespace; in all if it is empty. At most `limit`, which is lowered where the objects are large.
    pub(crate) async fn list(
        &self,
        kind: ResourceKind,
        namespace: &str,
        extent: Extent,
        from: &str,
        limit: &mut usize,
    ) -> Result<Page, ApiError> {
        let permit = Arc::clone(&self.pages).acquire_owned().await.ok();
        let page = loop {
            let mut url = format!("{}?limit={limit}", collection(kind, Some(namespace)));
            if !from.is_empty() {
                url = format!("{url}&continue={from}");
            }
            let accept = extent.accept("PartialObjectMetadataList");
            let request = Request::get(url).header(ACCEPT, accept);
            let largest = match *limit > FEWER {
                true => LARGEST,
                false => u64::MAX,
            };
            match self.page(request, largest).await? {
                Some(page) => break page,
                None => *limit = FEWER,
            }
        };
        Ok(Page {
            _permit: permit,
            ..page
        })
    }

    /// Returns a page; none where it is as large as `largest`, of which no more is read.
    async fn page(
        &self,
        request: hyper::http::request::Builder,
        largest: u64,
    ) -> Result<Option<Page>, ApiError> {
        self.metrics.called("list");
        let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
        let read = async {
            let response = self.client.request_stream(request).await?;
            let mut text = Vec::new();
            let mut response = AsyncReadExt::take(Box::pin(response), largest);
            match response.read_to_end(&mut text).await {
                Ok(_) => Ok(text),
                Err(_) => Err(ApiError::Lost),
            }
        };
        let text = timeout(TIMEOUT, read).await.map_err(|_| ApiError::Slow)??;
        if text.len() as u64 >= largest {
            return Ok(None);
        }
        let page = serde_json::from_slice(&text).map_err(kube::Error::SerdeError)?;
        Ok(Some(page))
    }

    /// What changes among the objects of a kind after a version, as it was received: most of it is known already. It ends, or fails when
    /// the connection is lost.
    pub(crate) async fn watch(
        &self,
        kind: ResourceKind,
        namespace: &str,
        extent: Extent,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Box<RawValue>>, ApiError>> + use<>, ApiError>
    {
        let length = WATCH + SPREAD.mul_f64(fastrand::f64());
        let deadline = Instant::now() + length + LATE;
        let url = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={version}",
            collection(kind, Some(namespace)),
            length.as_secs()
        );
        self.metrics.called("watch");
        let request = Request::get(url).header(ACCEPT, extent.accept("PartialObjectMetadata"));
        let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
        let events = timeout(TIMEOUT, self.client.request_events(request));
        let events = events.await.map_err(|_| ApiError::Slow)??;
        Ok(stream::unfold(
            Box::pin(events),
            move |mut events| async move {
                let event = match timeout_at(deadline, events.next()).await {
                    Ok(event) => event?.map_err(ApiError::from),
                    Err(_) => Err(ApiError::Lost),
                };
                Some((event, events))
            },
        ))
    }

    /// Applies an object by server-side apply, and takes its fields over from other managers. With a uid, the object
    /// must exist with it. Without, the object is created; should it exist after all, no foreign field is changed.
    pub(crate) async fn apply(
        &self,
        guard: &LeaseGuard,
        manager: &str,
        key: &Key,
        uid: Option<&str>,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let mut object = object.clone();
        if let Some(uid) = uid {
            object["metadata"]["uid"] = json!(uid);
        }
        let force = uid.is_some();
        let url = format!("{}?fieldManager={manager}&force={force}", path(key, "")?);
        let request = Request::patch(url).header(CONTENT_TYPE, APPLY);
        self.write(guard, "apply", request, &object).await
    }

    /// Creates an object that must not exist yet.
    pub(crate) async fn create(
        &self,
        guard: &LeaseGuard,
        manager: &str,
        key: &Key,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let url = format!("{}?fieldManager={manager}", parent(key)?);
        let request = Request::post(url).header(CONTENT_TYPE, JSON);
        self.write(guard, "create", request, object).await
    }

    /// Replaces an object that must be unchanged since it was read.
    pub(crate) async fn replace(&self, key: &Key, object: &Value) -> Result<Value, ApiError> {
        let request = Request::put(path(key, "")?).header(CONTENT_TYPE, JSON);
        self.send("update", request, object.to_string().into_bytes())
            .await
    }

    /// Deletes an object that must be unchanged since it was read. One that waits for its pods stays until they are gone.
    pub(crate) async fn delete(
        &self,
        guard: &LeaseGuard,
        key: &Key,
        head: &Head,
        waits_for_pods: bool,
    ) -> Result<(), ApiError> {
        let policy = match waits_for_pods {
            true => "Foreground",
            false => "Background",
        };
        let options = json!({
            "preconditions": { "uid": head.uid, "resourceVersion": head.resource_version },
            "propagationPolicy": policy,
        });
        let request = Request::delete(path(key, "")?).header(CONTENT_TYPE, JSON);
        let deleted = self.write(guard, "delete", request, &options).await;
        deleted.map(drop)
    }

    /// Writes the status of an object that must be unchanged since it was read.
    pub(crate) async fn set_status(
        &self,
        guard: &LeaseGuard,
        manager: &str,
        key: &Key,
        version: &str,
        status: &Value,
    ) -> Result<Value, ApiError> {
        let change = json!([
            { "op": "replace", "path": "/metadata/resourceVersion", "value": version },
            { "op": "add", "path": "/status", "value": status },
        ]);
        let url = format!("{}?fieldManager={manager}", path(key, "/status")?);
        let request = Request::patch(url).header(CONTENT_TYPE, PATCH);
        self.write(guard, "status", request, &change).await
    }

    /// Changes metadata of an object that must be unchanged since it was read. What is null is removed.
    pub(crate) async fn set_metadata(
        &self,
        guard: &LeaseGuard,
        manager: &str,
        key: &Key,
        version: &str,
        mut metadata: Value,
    ) -> Result<Value, ApiError> {
        metadata["resourceVersion"] = json!(version);
        let url = format!("{}?fieldManager={manager}", path(key, "")?);
        let request = Request::patch(url).header(CONTENT_TYPE, MERGE);
        let change = json!({ "metadata": metadata });
        self.write(guard, "metadata", request, &change).await
    }

    /// Creates an object without a valid [`LeaseGuard`]: the Lease itself.
    pub(crate) async fn create_lease(&self, key: &Key, object: &Value) -> Result<Value, ApiError> {
        let request = Request::post(parent(key)?).header(CONTENT_TYPE, JSON);
        self.send("create", request, object.to_string().into_bytes())
            .await
    }

    async fn write(
        &self,
        guard: &LeaseGuard,
        verb: &'static str,
        request: hyper::http::request::Builder,
        body: &Value,
    ) -> Result<Value, ApiError> {
        if !guard.is_valid() {
            return Err(ApiError::NotLeading);
        }
        let request = request.header(ACCEPT, JSON);
        self.send(verb, request, body.to_string().into_bytes())
            .await
    }

    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        verb: &'static str,
        request: hyper::http::request::Builder,
        body: Vec<u8>,
    ) -> Result<T, ApiError> {
        self.metrics.called(verb);
        let request = request.body(body).map_err(kube::Error::HttpError)?;
        let text = timeout(TIMEOUT, self.client.request_text(request));
        let text = text.await.map_err(|_| ApiError::Slow)??;
        // Not left to the client, which logs what it can't read.
        serde_json::from_str(&text).map_err(|error| kube::Error::SerdeError(error).into())
    }
}

impl Extent {
    fn accept(self, kind: &str) -> String {
        match self {
            Self::Whole => JSON.to_owned(),
            Self::Metadata => format!("{JSON};as={kind};g=meta.k8s.io;v=v1"),
        }
    }
}

fn collection(kind: ResourceKind, namespace: Option<&str>) -> String {
    let ResourceKind {
        group,
        version,
        plural,
        ..
    } = kind;
    let root = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    match namespace {
        Some(namespace) if !namespace.is_empty() => {
            format!("{root}/namespaces/{namespace}/{plural}")
        }
        _ => format!("{root}/{plural}"),
    }
}

fn parent(key: &Key) -> Result<String, ApiError> {
    let namespace = key.namespace.as_deref().map(segment).transpose()?;
    Ok(collection(key.kind, namespace))
}

fn path(key: &Key, below: &str) -> Result<String, ApiError> {
    Ok(format!("{}/{}{below}", parent(key)?, segment(&key.name)?))
}

/// A name that can't lead a path elsewhere. The API server has stricter rules.
fn segment(name: &str) -> Result<&str, ApiError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    match name.chars().all(plain) && !matches!(name, "" | "." | "..") {
        true => Ok(name),
        false => Err(ApiError::Name(name.to_owned())),
    }
}
