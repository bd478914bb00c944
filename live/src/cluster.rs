//! A cluster that a kubeconfig reaches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use c5c3_plan::{Key, Listing, Manifest};
use futures::stream::{self, TryStreamExt};
use http::Request;
use http::header::{AUTHORIZATION, HeaderValue};
use kube::api::{DynamicObject, ListParams};
use kube::client::Body;
use kube::config::AuthInfo;
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{self, ApiCapabilities, ApiResource, Scope};
use kube::{Api, Client};
use provider_composer::Selection;
use provider_runtime::ClusterConfig;
use serde_json::json;
use tokio::sync::Mutex;
use tower::service_fn;

use crate::error::Error;

/// The number of objects in a page of a list.
const AT_ONCE: usize = 8;

/// So long it may take to reach a cluster.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which cluster.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The kubeconfig; without it the one that kubectl would use.
    pub kubeconfig: Option<PathBuf>,
    /// The context; without it the kubeconfig's own choice.
    pub context: Option<String>,
}

/// The credential of a viewer, as the header `Authorization` has it. It can't be printed.
#[derive(Clone)]
pub struct BearerToken(HeaderValue);

impl BearerToken {
    /// The token in the value of a header `Authorization`, if there is one.
    pub fn of(authorization: &[u8]) -> Option<Self> {
        let (scheme, token) = authorization.split_at_checked(BEARER.len())?;
        let is_token = |byte: &u8| byte.is_ascii_graphic() && *byte != b',';
        if !scheme.eq_ignore_ascii_case(BEARER) || token.is_empty() || !token.iter().all(is_token) {
            return None;
        }
        let mut value = HeaderValue::from_bytes(&[BEARER, token].concat()).ok()?;
        value.set_sensitive(true);
        Some(Self(value))
    }

    /// The value of the header, to tell viewers apart.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

const BEARER: &[u8] = b"Bearer ";

/// A cluster that is only read.
pub struct Cluster {
    client: Client,
    server: String,
    kinds: Mutex<BTreeMap<(String, String), Option<Served>>>,
}

/// A kind that the cluster serves.
#[derive(Clone)]
pub(crate) struct Served {
    pub resource: ApiResource,
    pub namespaced: bool,
}

impl Served {
    /// The kind as RBAC has it, with its group.
    pub(crate) fn plural(&self) -> String {
        match self.resource.group.as_str() {
            "" => self.resource.plural.clone(),
            group => format!("{}.{group}", self.resource.plural),
        }
    }
}

impl Cluster {
    /// The cluster of a kubeconfig. Sends no request yet.
    ///
    /// # Errors
    /// The kubeconfig can't be used.
    pub async fn reach(access: &Access) -> Result<Self, Error> {
        Self::configured(config(access).await?)
    }

    /// The cluster of a kubeconfig, without the kubeconfig's credentials: see [`as_viewer`](Self::as_viewer).
    ///
    /// # Errors
    /// The kubeconfig can't be used.
    pub async fn anonymous(access: &Access) -> Result<Self, Error> {
        let mut cluster = config(access).await?;
        cluster.config.auth_info = AuthInfo::default();
        Self::configured(cluster)
    }

    fn configured(cluster: ClusterConfig) -> Result<Self, Error> {
        let server = cluster.config.cluster_url.to_string();
        Ok(Self::of(cluster.client()?, server))
    }

    /// The cluster that a client reaches at this URL.
    pub fn of(client: Client, server: String) -> Self {
        Self {
            client,
            server,
            kinds: Mutex::default(),
        }
    }

    /// The cluster as the bearer of a token may read it, on the same connections.
    pub fn as_viewer(&self, token: &BearerToken) -> Self {
        let (client, authorization) = (self.client.clone(), token.0.clone());
        let service = service_fn(move |mut request: Request<Body>| {
            let headers = request.headers_mut();
            headers.insert(AUTHORIZATION, authorization.clone());
            let client = client.clone();
            async move { client.send(request).await }
        });
        let client = Client::new(service, self.client.default_namespace());
        Self::of(client, self.server.clone())
    }

    /// The URL of its API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// How a kind is served; none where the cluster doesn't know it.
    pub(crate) async fn served(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Served>, Error> {
        let types = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.lock().await.get(&types) {
            return Ok(known.clone());
        }
        let wanted = GroupVersionKind::try_from(TypeMeta {
            api_version: types.0.clone(),
            kind: types.1.clone(),
        });
        let found = match wanted {
            Ok(wanted) => discovery::pinned_kind(&self.client, &wanted).await,
            Err(_) => return Ok(None),
        };
        let served = match found {
            Ok((resource, ApiCapabilities { scope, .. })) => Some(Served {
                resource,
                namespaced: scope == Scope::Namespaced,
            }),
            Err(kube::Error::Discovery(_)) => None,
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => return Err(self.refused("discover", kind, error)),
        };
        self.kinds.lock().await.insert(types, served.clone());
        Ok(served)
    }

    /// The objects of these keys that are there.
    ///
    /// # Errors
    /// One of them can't be read.
    pub(crate) async fn get(
        &self,
        keys: impl IntoIterator<Item = &Key>,
    ) -> Result<Vec<Manifest>, Error> {
        let found: Vec<Option<Manifest>> = stream::iter(keys.into_iter().map(Ok))
            .map_ok(|key| self.get_one(key))
            .try_buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn get_one(&self, key: &Key) -> Result<Option<Manifest>, Error> {
        let Some(served) = self.served(&key.api_version, &key.kind).await? else {
            return Ok(None);
        };
        let api = self.api(&served, Some(&key.namespace));
        let found = api.get_opt(&key.name).await;
        let found = found.map_err(|error| self.refused("get", &served.plural(), error))?;
        found.map(|object| manifest(&served, object)).transpose()
    }

    /// The objects of a kind in all namespaces that a label selector picks; none where the cluster doesn't know the kind.
    ///
    /// # Errors
    /// They can't be listed.
    pub(crate) async fn list(
        &self,
        api_version: &str,
        kind: &str,
        selector: &str,
    ) -> Result<Vec<Manifest>, Error> {
        let Some(served) = self.served(api_version, kind).await? else {
            return Ok(Vec::new());
        };
        let listed = self
            .api(&served, None)
            .list(&ListParams::default().labels(selector))
            .await;
        let listed = listed.map_err(|error| self.refused("list", &served.plural(), error))?;
        let items = listed.items.into_iter();
        items.map(|object| manifest(&served, object)).collect()
    }

    /// The metadata of such objects, and nothing else of them.
    ///
    /// # Errors
    /// They can't be listed.
    pub(crate) async fn list_metadata(
        &self,
        api_version: &str,
        kind: &str,
        selector: &str,
    ) -> Result<Vec<Manifest>, Error> {
        let Some(served) = self.served(api_version, kind).await? else {
            return Ok(Vec::new());
        };
        let listed = self
            .api(&served, None)
            .list_metadata(&ListParams::default().labels(selector))
            .await;
        let listed = listed.map_err(|error| self.refused("list", &served.plural(), error))?;
        let items = listed.items.into_iter().map(|object| DynamicObject {
            types: None,
            metadata: object.metadata,
            data: json!({}),
        });
        items.map(|object| manifest(&served, object)).collect()
    }

    /// The objects that a composer lists.
    ///
    /// # Errors
    /// They can't be asked for.
    pub(crate) async fn list_in(&self, listing: &Listing) -> Result<Vec<Manifest>, Error> {
        let Selection {
            kind,
            namespace,
            labels,
        } = &listing.selection;
        let labels = labels.iter();
        let selector: Vec<String> = labels
            .map(|(label, value)| format!("{label}={value}"))
            .collect();
        let listed = self
            .list(&kind.api_version(), kind.kind, &selector.join(","))
            .await?;
        let is_there =
            |manifest: &Manifest| [namespace.as_str(), ""].contains(&manifest.namespace());
        Ok(listed.into_iter().filter(is_there).collect())
    }

    /// What it didn't answer, or refused.
    pub(crate) fn refused(&self, verb: &'static str, what: &str, error: kube::Error) -> Error {
        Error::of(&self.server, verb, what, error)
    }

    /// The objects of a kind: in the namespace, if one is given and the kind is namespaced, otherwise in all namespaces.
    pub(crate) fn api(&self, served: &Served, namespace: Option<&str>) -> Api<DynamicObject> {
        let client = self.client.clone();
        match namespace.filter(|_| served.namespaced) {
            Some(namespace) => Api::namespaced_with(client, namespace, &served.resource),
            None => Api::all_with(client, &served.resource),
        }
    }
}

async fn config(access: &Access) -> Result<ClusterConfig, Error> {
    let file = access.kubeconfig.as_deref();
    let mut cluster = ClusterConfig::read(file, access.context.as_deref()).await?;
    cluster.config.connect_timeout = Some(PATIENCE);
    Ok(cluster)
}

/// An object with what it is, which lists leave out.
pub(crate) fn manifest(served: &Served, mut object: DynamicObject) -> Result<Manifest, Error> {
    object.types = Some(TypeMeta {
        api_version: served.resource.api_version.clone(),
        kind: served.resource.kind.clone(),
    });
    let value = serde_json::to_value(object).map_err(|error| Error::Shown(error.to_string()))?;
    Ok(Manifest::try_from(value)?)
}
