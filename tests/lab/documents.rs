//! Whole documents, written and removed as users, `kubectl` and controllers do. Unknown fields are refused.

use anyhow::{Result, bail};
use kube::Api;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, Request};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::eventually::{eventually, seconds};
use crate::objects::{Kind, SECRET, delete, kind, split, strict_apply};
use crate::patience::answered;
use crate::pki::{Authority, Identity};

impl Cluster {
    /// Applies an object with these fields and this name, which is `namespace/name` if the kind is namespaced.
    pub async fn put(&self, kind: Kind, name: &str, mut object: Value) -> Result<()> {
        let (namespace, name) = split(name);
        object["apiVersion"] = json!(kind.api_version);
        object["kind"] = json!(kind.kind);
        object["metadata"]["name"] = json!(name);
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        self.apply(&object.to_string()).await.map(drop)
    }

    /// Applies a namespace.
    pub async fn put_namespace(&self, name: &str) -> Result<()> {
        self.put(kind("v1", "Namespace"), name, json!({})).await
    }

    /// Applies a Secret, `namespace/name`, with a certificate, its key and, if it is given, the authority that signed it.
    pub async fn put_certificate(
        &self,
        secret: &str,
        identity: &Identity,
        authority: Option<&Authority>,
    ) -> Result<()> {
        let mut data = json!({"tls.crt": identity.certificate, "tls.key": identity.key});
        if let Some(authority) = authority {
            data["ca.crt"] = json!(authority.certificate());
        }
        let object = json!({"type": "kubernetes.io/tls", "stringData": data});
        self.put(SECRET, secret, object).await
    }

    /// What applying an object would store. Nothing is stored.
    pub async fn would_apply(&self, object: &Value) -> Result<DynamicObject> {
        let object = serde_json::from_value(object.clone())?;
        self.patch(&object, &strict_apply().dry_run()).await
    }

    /// Creates an object, or replaces the one of its name, as `kubectl create` and `kubectl replace` do. Its status, if it
    /// has one, is then written as its controller would.
    pub async fn write(&self, object: &DynamicObject) -> Result<()> {
        let api = self.api_of(object).await?;
        let mut written = object.clone();
        let status = match &mut written.data {
            Value::Object(fields) => fields.remove("status"),
            _ => None,
        };
        // Asked again, it replaces what a request whose answer was lost has created.
        answered(async || self.create_or_replace(&api, written.clone()).await)
            .await
            .map_err(|error| self.refusal(object, &error))?;
        if let Some(status) = status {
            let how = PatchParams::default().validation_strict();
            let status = Patch::Merge(json!({ "status": status }));
            let name = object.name_any();
            answered(async || Ok(api.patch_status(&name, &how, &status).await?))
                .await
                .map_err(|error| self.refusal(object, &error))?;
        }
        Ok(())
    }

    async fn create_or_replace(
        &self,
        api: &Api<DynamicObject>,
        mut object: DynamicObject,
    ) -> Result<DynamicObject> {
        let name = object.name_any();
        let (request, how) = (Request::new(api.resource_url()), PostParams::default());
        let mut request = match api.get_opt(&name).await? {
            None => request.create(&how, serde_json::to_vec(&object)?)?,
            Some(existing) => {
                object.metadata.resource_version = existing.metadata.resource_version;
                request.replace(&name, &how, serde_json::to_vec(&object)?)?
            }
        };
        // Of all that writes, kube lets only patches ask for this.
        *request.uri_mut() = format!("{}&fieldValidation=Strict", request.uri()).parse()?;
        Ok(self.client().request(request).await?)
    }

    /// Deletes an object and waits until it is gone. It need not be there.
    pub async fn remove(&self, object: &DynamicObject) -> Result<()> {
        let api = self.api_of(object).await?;
        let name = object.name_any();
        if answered(async || Ok(api.get_opt(&name).await?))
            .await?
            .is_none()
        {
            return Ok(());
        }
        delete(&api, &name).await?;
        eventually(&format!("{name} is gone"), seconds(60), async || match api
            .get_opt(&name)
            .await?
        {
            None => Ok(()),
            Some(left) => bail!("it is held by {:?}", left.finalizers()),
        })
        .await
    }
}
