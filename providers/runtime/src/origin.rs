//! Whose a definition of this project's kinds is.
//!
//! cobaltcore serves kinds of the same names with other schemas, for instance novas.nova.openstack.c5c3.io
//! (<https://github.com/C5C3/cobaltcore>, operators/nova/config/crd/bases). The API server publishes every schema as OpenAPI 3, which
//! each authenticated user may read, so no rights over definitions are needed.

use std::collections::BTreeMap;

use c5c3_api::custom_resource::{self, OBSERVED_GENERATION};
use provider_composer::ResourceKind;
use serde::Deserialize;

use crate::api::{Api, ApiError};

/// Whose a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This project's, of whatever version.
    Own,
    /// Another's: its resources have other fields.
    Foreign,
    /// The kind isn't published, or may not be read.
    Unknown,
}

/// What an API server publishes of a group and version, as far as it is read.
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

/// Whether this project defines a kind. Others may use its name too.
pub(crate) fn is_of_project(kind: ResourceKind) -> bool {
    custom_resource::is_defined(kind.group, kind.plural)
}

/// Returns whose the definition of a kind is.
///
/// # Errors
/// The API server doesn't answer.
pub(crate) async fn of(api: &Api, kind: ResourceKind) -> Result<Origin, ApiError> {
    match api.published(kind).await {
        Ok(published) => Ok(origin(&published, kind)),
        // What it publishes has another form than Kubernetes has today.
        Err(ApiError::Client(kube::Error::SerdeError(_))) => Ok(Origin::Unknown),
        Err(error) if error.code().is_some() => Ok(Origin::Unknown),
        Err(error) => Err(error),
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
            match observed.description == OBSERVED_GENERATION {
                true => Origin::Own,
                false => Origin::Foreign,
            }
        }
        None => Origin::Unknown,
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
        of(&server.api(), NOVA).await.unwrap()
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
    async fn kind_that_is_not_published_is_unknown() {
        assert_eq!(origin_of(None).await, Origin::Unknown);
        let others = json!({ "openapi": "3.0.0", "components": { "schemas": {} } });
        assert_eq!(origin_of(Some(others)).await, Origin::Unknown);
        assert_eq!(origin_of(Some(json!({}))).await, Origin::Unknown);
        let unreadable = json!({ "components": "none" });
        assert_eq!(origin_of(Some(unreadable)).await, Origin::Unknown);
    }
}
