//! What a scenario does with a cluster: apply, look, change, delete.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::{DynamicObject, Request, TypeMeta};
use kube::discovery::Scope;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::manifests::{documents, read, read_folder};
use crate::patience::answered;

/// An API version and kind, to be a constant of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// As in a manifest, for instance `ceph.rook.io/v1`.
    pub api_version: &'static str,
    /// As in a manifest, for instance `CephCluster`.
    pub kind: &'static str,
}

/// An API version and kind.
pub const fn kind(api_version: &'static str, kind: &'static str) -> Kind {
    Kind { api_version, kind }
}

/// A Secret.
pub(crate) const SECRET: Kind = kind("v1", "Secret");

impl Cluster {
    /// Applies every document of a manifest, server-side, as field manager `lab`. Unknown fields are refused.
    pub async fn apply(&self, manifest: &str) -> Result<Vec<DynamicObject>> {
        let mut applied = Vec::new();
        for object in documents(manifest)? {
            applied.push(self.apply_object(&object).await?);
        }
        Ok(applied)
    }

    /// Applies a YAML file, or every one of a folder in the order of their names. Relative to the workspace's root.
    pub async fn apply_files(&self, path: impl AsRef<Path>) -> Result<Vec<DynamicObject>> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        let objects = if path.is_dir() {
            read_folder(&path)?
        } else {
            read(&path)?
        };
        let mut applied = Vec::new();
        for object in objects {
            applied.push(self.apply_object(&object).await?);
        }
        Ok(applied)
    }

    /// Applies objects that others published, all at once and without looking for unknown fields.
    pub(crate) async fn install(&self, objects: &[DynamicObject]) -> Result<()> {
        self.apply_all(objects, &PatchParams::apply("lab").force())
            .await
    }

    /// Applies objects, several at once. The answers aren't read: those for definitions are as large as the definitions.
    pub(crate) async fn apply_all(
        &self,
        objects: &[DynamicObject],
        how: &PatchParams,
    ) -> Result<()> {
        stream::iter(objects)
            .map(|object| self.apply_unread(object, how))
            .buffer_unordered(8)
            .try_collect::<()>()
            .await
    }

    async fn apply_unread(&self, object: &DynamicObject, how: &PatchParams) -> Result<()> {
        let api = self.api_of(object).await?;
        let (name, change) = (object.name_any(), Patch::Apply(object));
        let (client, requests) = (self.client(), Request::new(api.resource_url()));
        answered(async || {
            let request = requests.patch(&name, how, &change)?;
            Ok(client.request_text(request).await?)
        })
        .await
        .map(drop)
        .map_err(|error| self.refusal(object, &error))
    }

    async fn apply_object(&self, object: &DynamicObject) -> Result<DynamicObject> {
        self.patch(object, &strict_apply()).await
    }

    pub(crate) async fn patch(
        &self,
        object: &DynamicObject,
        how: &PatchParams,
    ) -> Result<DynamicObject> {
        let api = self.api_of(object).await?;
        let (name, change) = (object.name_any(), Patch::Apply(object));
        answered(async || Ok(api.patch(&name, how, &change).await?))
            .await
            .map_err(|error| self.refusal(object, &error))
    }

    pub(crate) async fn api_of(&self, object: &DynamicObject) -> Result<Api<DynamicObject>> {
        let types = object
            .types
            .as_ref()
            .with_context(|| format!("{} says no apiVersion and kind", describe(object)))?;
        let namespace = object.metadata.namespace.as_deref();
        self.api(&types.api_version, &types.kind, namespace).await
    }

    pub(crate) fn refusal(&self, object: &DynamicObject, error: &anyhow::Error) -> anyhow::Error {
        anyhow!(
            "{} refuses {}: {}",
            self.name(),
            describe(object),
            reason(error)
        )
    }

    /// Applies a manifest that must be refused, and answers with the reason.
    ///
    /// # Errors
    /// When it is accepted.
    pub async fn refuses(&self, manifest: &str) -> Result<String> {
        match self.apply(manifest).await {
            Ok(_) => bail!("{} accepts what it should refuse:\n{manifest}", self.name()),
            Err(error) => Ok(format!("{error:#}")),
        }
    }

    /// The object of that name; `namespace/name` where it has a namespace.
    pub async fn get(&self, kind: Kind, name: &str) -> Result<DynamicObject> {
        self.find(kind, name)
            .await?
            .with_context(|| format!("{} has no {} {name}", self.name(), kind.kind))
    }

    /// The object of that name, if there is one.
    pub async fn find(&self, kind: Kind, name: &str) -> Result<Option<DynamicObject>> {
        let (api, name) = self.place(kind, name).await?;
        answered(async || Ok(api.get_opt(name).await?)).await
    }

    /// Fine when no object of that name is there any more.
    ///
    /// # Errors
    /// When it is there, with what holds it.
    pub async fn gone(&self, kind: Kind, name: &str) -> Result<()> {
        match self.find(kind, name).await? {
            None => Ok(()),
            Some(left) => bail!(
                "{} still has {} {name}, deleted: {}, finalizers: {:?}",
                self.name(),
                kind.kind,
                left.metadata.deletion_timestamp.is_some(),
                left.finalizers()
            ),
        }
    }

    /// Every object of a kind, in every namespace, that a label selector picks; an empty one picks all.
    pub async fn list(&self, kind: Kind, selector: &str) -> Result<Vec<DynamicObject>> {
        let (resource, _) = self.resource(kind.api_version, kind.kind).await?;
        let api: Api<DynamicObject> = Api::all_with(self.client(), &resource);
        let wanted = ListParams::default().labels(selector);
        let listed = answered(async || Ok(api.list(&wanted).await?)).await?;
        let types = TypeMeta {
            api_version: kind.api_version.to_owned(),
            kind: kind.kind.to_owned(),
        };
        Ok(listed
            .items
            .into_iter()
            .map(|item| DynamicObject {
                types: Some(types.clone()),
                ..item
            })
            .collect())
    }

    /// Merges a change into an object: an edit by hand.
    pub async fn edit(&self, kind: Kind, name: &str, change: Value) -> Result<DynamicObject> {
        let (api, name) = self.place(kind, name).await?;
        let (how, change) = (
            PatchParams::default().validation_strict(),
            Patch::Merge(change),
        );
        answered(async || Ok(api.patch(name, &how, &change).await?))
            .await
            .map_err(|error| {
                anyhow!(
                    "{} refuses the change of {name}: {}",
                    self.name(),
                    reason(&error)
                )
            })
    }

    /// Merges into an object's status, as its own operator would.
    pub async fn set_status(&self, kind: Kind, name: &str, status: Value) -> Result<DynamicObject> {
        let (api, name) = self.place(kind, name).await?;
        let how = PatchParams::default().validation_strict();
        let change = Patch::Merge(json!({ "status": status }));
        answered(async || Ok(api.patch_status(name, &how, &change).await?))
            .await
            .map_err(|error| {
                anyhow!(
                    "{} refuses the status of {name}: {}",
                    self.name(),
                    reason(&error)
                )
            })
    }

    /// Merges into the status of an object. Succeeds where the object no longer exists.
    pub async fn report(&self, kind: Kind, object: &DynamicObject, status: Value) -> Result<()> {
        let name = object.name_any();
        let name = match object.namespace() {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name,
        };
        match self.set_status(kind, &name, status).await {
            Err(_) if self.find(kind, &name).await?.is_none() => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Asks for an object to be deleted. It is gone once its finalizers are.
    ///
    /// # Errors
    /// When that is refused, for instance by a Usage.
    pub async fn delete(&self, kind: Kind, name: &str) -> Result<()> {
        let (api, name) = self.place(kind, name).await?;
        delete(&api, name).await.map_err(|error| {
            anyhow!(
                "{} refuses to delete {} {name}: {}",
                self.name(),
                kind.kind,
                reason(&error)
            )
        })
    }

    /// Checks by a dry run whether an object can be deleted without the objects that it owns.
    ///
    /// # Errors
    /// When that would be refused.
    pub async fn would_orphan(&self, kind: Kind, name: &str) -> Result<()> {
        let (api, name) = self.place(kind, name).await?;
        let how = DeleteParams::orphan().dry_run();
        answered(async || Ok(api.delete(name, &how).await.map(drop)?)).await
    }

    async fn place<'a>(&self, kind: Kind, name: &'a str) -> Result<(Api<DynamicObject>, &'a str)> {
        let (namespace, name) = split(name);
        Ok((
            self.api(kind.api_version, kind.kind, namespace).await?,
            name,
        ))
    }

    async fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>> {
        let (resource, scope) = self.resource(api_version, kind).await?;
        match (scope, namespace) {
            (Scope::Cluster, None) => Ok(Api::all_with(self.client(), &resource)),
            (Scope::Namespaced, Some(namespace)) => {
                Ok(Api::namespaced_with(self.client(), namespace, &resource))
            }
            (Scope::Cluster, Some(_)) => bail!("a {kind} has no namespace"),
            (Scope::Namespaced, None) => bail!("a {kind} needs a namespace"),
        }
    }
}

/// The namespace of `namespace/name`, if there is one, and the name.
pub(crate) fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, name),
    }
}

/// Asks for an object to be deleted.
pub(crate) async fn delete(api: &Api<DynamicObject>, name: &str) -> Result<()> {
    let mut is_repeated = false;
    answered(async || {
        match api.delete(name, &DeleteParams::background()).await {
            // The request whose answer was lost has deleted it.
            Err(kube::Error::Api(status)) if is_repeated && status.code == 404 => Ok(()),
            deleted => {
                is_repeated = true;
                Ok(deleted.map(drop)?)
            }
        }
    })
    .await
}

/// How objects are applied whose unknown fields are refused.
pub(crate) fn strict_apply() -> PatchParams {
    PatchParams::apply("lab").force().validation_strict()
}

/// A condition of an object; nothing when the object doesn't have it.
pub fn find_condition<'a>(object: &'a DynamicObject, name: &str) -> Option<&'a Value> {
    let mut conditions = object.data["status"]["conditions"].as_array()?.iter();
    conditions.find(|found| found["type"] == name)
}

/// The condition's status, `True`, `False` or `Unknown`; nothing when the object has no such condition.
pub fn condition<'a>(object: &'a DynamicObject, name: &str) -> Option<&'a str> {
    find_condition(object, name)?["status"].as_str()
}

/// Fine when the condition is `True`.
///
/// # Errors
/// When it isn't, with every condition there is.
pub fn is(object: &DynamicObject, name: &str) -> Result<()> {
    ensure!(
        condition(object, name) == Some("True"),
        "{} isn't {name}: {}",
        describe(object),
        object.data["status"]["conditions"]
    );
    Ok(())
}

fn describe(object: &DynamicObject) -> String {
    let kind = object
        .types
        .as_ref()
        .map_or("an object", |types| &types.kind);
    match object.metadata.namespace.as_deref() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name_any()),
        None => format!("{kind} {}", object.name_any()),
    }
}

fn reason(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) => {
            format!("{} ({} {})", status.message, status.code, status.reason)
        }
        _ => error.to_string(),
    }
}
