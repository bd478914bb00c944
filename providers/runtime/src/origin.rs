//! Whose a definition of this project's kinds is, and whether it has all fields of this version.
//!
//! It is asked before a kind is read for the first time, and after the kind was missing. A definition that becomes another project's, or an
//! earlier version's, in place isn't noticed before the next start.
//!
//! The API server drops fields that a definition doesn't have, of a status without an error. Operators remember in it what nothing else
//! says, for instance which nodes a share has lost.
//!
//! cobaltcore serves kinds of the same names with other schemas, for instance novas.nova.openstack.c5c3.io
//! (<https://github.com/C5C3/cobaltcore>, operators/nova/config/crd/bases). The API server publishes every schema as OpenAPI 3, which
//! each authenticated user may read, so no rights over definitions are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use c5c3_api::custom_resource::{self, OBSERVED_GENERATION_DESCRIPTION};
use provider_composer::ResourceKind;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::api::{Api, ApiError};

/// Whose a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This project's, of this version or a later one, or of a kind that this project doesn't define.
    Own,
    /// An earlier version's: it lacks fields that this version writes.
    Outdated,
    /// Another's: its resources have other fields.
    Foreign,
    /// The API server doesn't publish the kind, or not yet.
    Unpublished,
    /// What is published may not be read, or can't be.
    Unknown,
}

/// Of each group and version, the kinds that are known to have this project's definition, so that it is asked for once, and not by kind
/// and namespace.
#[derive(Default)]
pub(crate) struct Origins(Mutex<BTreeMap<Version, Arc<Mutex<Own>>>>);

/// A group, and a version of it.
type Version = (&'static str, &'static str);

/// Names of kinds.
type Own = BTreeSet<String>;

impl Origins {
    /// Returns whose the definition of a kind is. Of kinds that this project doesn't define, nothing is asked.
    ///
    /// # Errors
    /// The API server doesn't answer now.
    pub(crate) async fn of(&self, api: &Api, kind: ResourceKind) -> Result<Origin, ApiError> {
        if !custom_resource::is_defined(kind.group, kind.plural) {
            return Ok(Origin::Own);
        }
        // Locked until the API server has answered: whoever asks for a kind of the group meanwhile needs the same answer.
        let own = self.group(kind).await;
        let mut own = own.lock().await;
        if own.contains(kind.kind) {
            return Ok(Origin::Own);
        }
        ask(api, kind, &mut own).await
    }

    /// Forgets a kind that is missing.
    pub(crate) async fn forget(&self, kind: ResourceKind) {
        self.group(kind).await.lock().await.remove(kind.kind);
    }

    async fn group(&self, kind: ResourceKind) -> Arc<Mutex<Own>> {
        let mut groups = self.0.lock().await;
        Arc::clone(groups.entry((kind.group, kind.version)).or_default())
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

/// A schema of a kind, or of a field.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Schema {
    #[serde(rename = "x-kubernetes-group-version-kind")]
    kinds: Vec<Names>,
    #[serde(rename = "description", deserialize_with = "is_marker")]
    is_marker: bool,
    properties: BTreeMap<String, Schema>,
    items: Option<Box<Schema>>,
}

#[derive(Deserialize)]
struct Names {
    group: String,
    version: String,
    kind: String,
}

/// Whether a description is the one that tells whose a definition is. Others are long, and not kept.
fn is_marker<'de, D: Deserializer<'de>>(description: D) -> Result<bool, D::Error> {
    let description = String::deserialize(description)?;
    Ok(description == OBSERVED_GENERATION_DESCRIPTION)
}

/// Asks for a kind, and notes which of its group are this project's.
async fn ask(api: &Api, kind: ResourceKind, own: &mut Own) -> Result<Origin, ApiError> {
    match api.published::<Published>(kind).await {
        Ok(published) => {
            let origin = published.origin(kind);
            if own.is_empty() {
                // At the start. Later, another kind may have gone since the document was written.
                own.extend(published.own_besides(kind));
            }
            if origin == Origin::Own {
                own.insert(kind.kind.to_owned());
            }
            Ok(origin)
        }
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

impl Published {
    /// Whose the definition of a kind is.
    fn origin(&self, kind: ResourceKind) -> Origin {
        let mut kinds = self.kinds(kind);
        match kinds.find(|(names, _)| names.kind == kind.kind) {
            Some((names, schema)) => schema.origin(names),
            None => Origin::Unpublished,
        }
    }

    /// The other kinds of the same group and version whose definitions are this project's and have all fields.
    fn own_besides(&self, kind: ResourceKind) -> impl Iterator<Item = String> {
        let others = self
            .kinds(kind)
            .filter(move |(names, _)| names.kind != kind.kind);
        let own = others.filter(|(names, schema)| schema.origin(names) == Origin::Own);
        own.map(|(names, _)| names.kind.clone())
    }

    /// All kinds of the same group and version, with their schemas.
    fn kinds(&self, kind: ResourceKind) -> impl Iterator<Item = (&Names, &Schema)> {
        let schemas = self.components.schemas.values();
        let all = schemas.flat_map(|schema| schema.kinds.iter().map(move |names| (names, schema)));
        all.filter(move |(names, _)| names.version == kind.version && names.group == kind.group)
    }
}

impl Schema {
    /// Whose it is, where it is that of a kind.
    fn origin(&self, names: &Names) -> Origin {
        if !self.is_own() {
            return Origin::Foreign;
        }
        let ours = custom_resource::schema_of(&names.group, &names.kind).unwrap_or_default();
        let mut parts = ["spec", "status"].into_iter();
        let has_all = parts.all(|part| {
            let published = self.properties.get(part);
            published.is_some_and(|published| published.has_all(&ours["properties"][part]))
        });
        match has_all {
            true => Origin::Own,
            false => Origin::Outdated,
        }
    }

    fn is_own(&self) -> bool {
        let status = self.properties.get("status");
        let observed = status.and_then(|status| status.properties.get("observedGeneration"));
        observed.is_some_and(|observed| observed.is_marker)
    }

    /// Whether it has all fields of this version's schema, those in values of maps left aside.
    fn has_all(&self, ours: &Value) -> bool {
        let mut fields = ours["properties"].as_object().into_iter().flatten();
        let has_fields = fields.all(|(name, ours)| {
            let published = self.properties.get(name);
            published.is_some_and(|published| published.has_all(ours))
        });
        let items = &ours["items"];
        let mut published = self.items.iter();
        has_fields && (items.is_null() || published.any(|published| published.has_all(items)))
    }
}

#[cfg(test)]
mod tests {
    use c5c3_api::control_plane::ControlPlaneSpec;
    use c5c3_api::credential_rotation::CredentialRotationSpec;
    use c5c3_api::nova::NovaSpec;
    use serde_json::json;

    use super::*;
    use crate::testing::Server;

    const NOVA: ResourceKind = ResourceKind::of::<NovaSpec>();

    fn schema_of(kind: ResourceKind) -> Value {
        custom_resource::schema_of(kind.group, kind.kind).unwrap()
    }

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
    async fn definition_is_own_by_its_fields_whatever_is_said_of_them_and_added_later() {
        let mut schema = schema_of(NOVA);
        // As the API server publishes it.
        schema["properties"]["metadata"] =
            json!({ "allOf": [{ "$ref": "#/components/schemas/ObjectMeta" }] });
        assert_eq!(origin_of(Some(published(&schema))).await, Origin::Own);
        schema["description"] = json!("Nova in other words.");
        schema["properties"]["spec"]["properties"]["cells"]["description"] = json!("Its cells.");
        schema["properties"]["status"]["properties"]["later"] = json!({ "type": "string" });
        assert_eq!(origin_of(Some(published(&schema))).await, Origin::Own);
    }

    #[tokio::test]
    async fn definition_without_a_field_is_outdated() {
        for (place, field) in [
            ("/properties/spec/properties", "cells"),
            ("/properties/spec/properties/cells/items/properties", "name"),
            ("/properties/status/properties", "conditions"),
        ] {
            let mut schema = schema_of(NOVA);
            let fields = schema.pointer_mut(place).and_then(Value::as_object_mut);
            assert!(fields.unwrap().remove(field).is_some());
            let origin = origin_of(Some(published(&schema))).await;
            assert_eq!(origin, Origin::Outdated, "{place}/{field}");
        }
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
        server.state().published = Some(published(&schema_of(NOVA)));
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
    async fn kinds_of_a_group_are_asked_for_together() {
        let kinds = [
            ResourceKind::of::<ControlPlaneSpec>(),
            ResourceKind::of::<CredentialRotationSpec>(),
        ];
        assert_eq!(kinds[0].group, kinds[1].group);
        let schemas = kinds.map(|kind| {
            let mut schema = schema_of(kind);
            let names = json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
            schema["x-kubernetes-group-version-kind"] = json!([names]);
            (kind.kind, schema)
        });
        let schemas = BTreeMap::from(schemas);
        let server = Server::default();
        server.state().published = Some(json!({ "components": { "schemas": schemas } }));
        let (origins, api) = (Origins::default(), server.api());
        for kind in kinds {
            assert_eq!(origins.of(&api, kind).await.unwrap(), Origin::Own);
        }
        assert_eq!(server.requests("/openapi/v3/").len(), 1);
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
