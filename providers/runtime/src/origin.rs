//! Whose a definition of this project's kinds is.
//!
//! It is asked before a kind is read for the first time, and after the kind was missing. A definition that becomes another project's in
//! place isn't noticed before the next start.
//!
//! cobaltcore serves kinds of the same names with other schemas, for instance novas.nova.openstack.c5c3.io
//! (<https://github.com/C5C3/cobaltcore>, operators/nova/config/crd/bases). The API server publishes every schema as OpenAPI 3, which
//! each authenticated user may read, so no rights over definitions are needed.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::custom_resource::{self, OBSERVED_GENERATION_DESCRIPTION};
use provider_composer::ResourceKind;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::api::{Api, ApiError};

/// Whose a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This project's, of whatever version, or of a kind that this project doesn't define.
    Own,
    /// Another's: its resources have other fields.
    Foreign,
    /// The API server doesn't publish the kind, or not yet.
    Unpublished,
    /// What is published may not be read, or can't be.
    Unknown,
}

/// The kinds that are known to have this project's definition, so that each is asked for once and not by namespace.
#[derive(Default)]
pub(crate) struct Origins(Mutex<BTreeSet<ResourceKind>>);

impl Origins {
    /// Returns whose the definition of a kind is. Of kinds that this project doesn't define, nothing is asked.
    ///
    /// # Errors
    /// The API server doesn't answer now.
    pub(crate) async fn of(&self, api: &Api, kind: ResourceKind) -> Result<Origin, ApiError> {
        if !custom_resource::is_defined(kind.group, kind.plural) {
            return Ok(Origin::Own);
        }
        // Locked until the API server has answered: whoever asks for the kind meanwhile needs the same answer.
        let mut own = self.0.lock().await;
        if own.contains(&kind) {
            return Ok(Origin::Own);
        }
        let origin = ask(api, kind).await?;
        if origin == Origin::Own {
            own.insert(kind);
        }
        Ok(origin)
    }

    /// Forgets a kind that is missing.
    pub(crate) async fn forget(&self, kind: ResourceKind) {
        self.0.lock().await.remove(&kind);
    }
}

/// What an API server publishes of a group and version, as far as it is read. The document can have megabytes; only these fields are
/// kept.
#[derive(Deserialize)]
struct Published {
    #[serde(default)]
    components: Components,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Components {
    schemas: BTreeMap<String, Schema>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Schema {
    #[serde(rename = "x-kubernetes-group-version-kind")]
    kinds: Vec<Names>,
    properties: Resource,
}

#[derive(Deserialize)]
struct Names {
    group: String,
    version: String,
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resource {
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    properties: Observed,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Observed {
    observed_generation: Described,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Described {
    description: String,
}

async fn ask(api: &Api, kind: ResourceKind) -> Result<Origin, ApiError> {
    match api.published(kind).await {
        Ok(published) => Ok(origin(&published, kind)),
        // What it publishes has another form than Kubernetes has today.
        Err(ApiError::Client(kube::Error::SerdeError(_))) => Ok(Origin::Unknown),
        Err(error) => match error.code() {
            Some(404) => Ok(Origin::Unpublished),
            // It is overloaded, or doesn't serve yet.
            None | Some(429 | 500..) => Err(error),
            Some(_) => Ok(Origin::Unknown),
        },
    }
}

fn origin(published: &Published, kind: ResourceKind) -> Origin {
    let mut schemas = published.components.schemas.values();
    let schema = schemas.find(|schema| {
        let mut kinds = schema.kinds.iter();
        kinds.any(|names| {
            names.kind == kind.kind && names.version == kind.version && names.group == kind.group
        })
    });
    match schema {
        Some(schema) => {
            let observed = &schema.properties.status.properties.observed_generation;
            match observed.description == OBSERVED_GENERATION_DESCRIPTION {
                true => Origin::Own,
                false => Origin::Foreign,
            }
        }
        None => Origin::Unpublished,
    }
}

#[cfg(test)]
mod tests {
    use c5c3_api::nova::NovaSpec;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::Server;

    const NOVA: ResourceKind = ResourceKind::of::<NovaSpec>();

    /// What is published of a schema of Nova.
    fn published(schema: &Value) -> Value {
        let names = json!([{ "group": NOVA.group, "version": NOVA.version, "kind": NOVA.kind }]);
        let mut schema = schema.clone();
        schema["x-kubernetes-group-version-kind"] = names;
        json!({ "openapi": "3.0.0", "paths": {}, "components": { "schemas": {
            "io.k8s.apimachinery.pkg.apis.meta.v1.Status": {
                "type": "object", "properties": { "status": { "type": "string", "description": "Success or Failure." } },
            },
            "io.c5c3.openstack.nova.v1alpha1.Nova": schema,
        } } })
    }

    async fn origin_of(published: Option<Value>) -> Origin {
        let server = Server::default();
        server.state().published = published;
        Origins::default().of(&server.api(), NOVA).await.unwrap()
    }

    #[tokio::test]
    async fn definition_is_own_by_its_schema_whatever_else_changes() {
        let definition = custom_resource::custom_resource::<NovaSpec>();
        let mut schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        assert_eq!(origin_of(Some(published(&schema))).await, Origin::Own);
        schema["description"] = json!("Nova in other words.");
        schema["properties"]["spec"] = json!({ "type": "object" });
        assert_eq!(origin_of(Some(published(&schema))).await, Origin::Own);
    }

    #[tokio::test]
    async fn definition_with_another_status_or_without_one_is_foreign() {
        let status = |text: &str| json!({ "properties": { "observedGeneration": { "type": "integer", "description": text } } });
        let described = json!({ "type": "object", "properties": { "status": status("ObservedGeneration is the .metadata.generation.") } });
        assert_eq!(
            origin_of(Some(published(&described))).await,
            Origin::Foreign
        );
        let nothing = json!({ "type": "object" });
        assert_eq!(origin_of(Some(published(&nothing))).await, Origin::Foreign);
    }

    #[tokio::test]
    async fn definition_is_unknown_where_the_kind_is_not_published_or_not_readable() {
        assert_eq!(origin_of(None).await, Origin::Unpublished);
        let others = json!({ "openapi": "3.0.0", "components": { "schemas": {} } });
        assert_eq!(origin_of(Some(others)).await, Origin::Unpublished);
        assert_eq!(origin_of(Some(json!({}))).await, Origin::Unpublished);
        let unreadable = json!({ "components": "none" });
        assert_eq!(origin_of(Some(unreadable)).await, Origin::Unknown);
    }

    #[tokio::test]
    async fn definition_that_is_own_is_asked_for_once_until_the_kind_was_missing() {
        let server = Server::default();
        let definition = custom_resource::custom_resource::<NovaSpec>();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        server.state().published = Some(published(schema));
        let (origins, api) = (Origins::default(), server.api());
        for _ in 0..3 {
            assert_eq!(origins.of(&api, NOVA).await.unwrap(), Origin::Own);
        }
        assert_eq!(server.requests("/openapi/v3/").len(), 1);
        origins.forget(NOVA).await;
        server.state().published = Some(published(&json!({ "type": "object" })));
        assert_eq!(origins.of(&api, NOVA).await.unwrap(), Origin::Foreign);
    }

    #[tokio::test]
    async fn kind_of_another_project_is_not_asked_for() {
        let server = Server::default();
        let late = ResourceKind::namespaced("lab.c5c3.io", "v1", "Late", "lates");
        let origin = Origins::default().of(&server.api(), late).await;
        assert_eq!(origin.unwrap(), Origin::Own);
        assert!(server.requests("/openapi/v3/").is_empty());
    }
}
