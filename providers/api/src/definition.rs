//! The CompositeResourceDefinitions that make Crossplane serve the kinds.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    ControlPlaneClusterSpec, HypervisorClusterSpec, OpenStackClusterSpec, StorageClusterSpec,
    kind::{Claim, Column},
    rule::Rule,
    schema,
};

/// The two ways in which Crossplane serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// Claims, each with a cluster-scoped composite resource behind it. Crossplane 1.x, and 2.x still.
    V1,
    /// Namespaced composite resources. Crossplane 2.x.
    V2,
}

impl Generation {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V1, Self::V2];

    /// The version of Crossplane's API, `v1` or `v2`.
    pub fn version(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// The definitions of all kinds.
pub fn definitions(generation: Generation) -> Vec<Definition> {
    vec![
        definition::<OpenStackClusterSpec>(generation),
        definition::<ControlPlaneClusterSpec>(generation),
        definition::<HypervisorClusterSpec>(generation),
        definition::<StorageClusterSpec>(generation),
    ]
}

/// The definition of one kind.
pub fn definition<K: Claim>(generation: Generation) -> Definition {
    let names = Names {
        categories: ["c5c3"],
        kind: K::KIND.to_owned(),
        plural: K::PLURAL.to_owned(),
        short_names: [K::SHORT_NAME.to_owned()],
        singular: K::KIND.to_lowercase(),
    };
    let (names, claim_names, scope) = match generation {
        Generation::V1 => (names.composite(), Some(names), None),
        Generation::V2 => (names, None, Some("Namespaced")),
    };
    Definition {
        api_version: format!("apiextensions.crossplane.io/{}", generation.version()),
        kind: "CompositeResourceDefinition",
        metadata: Named {
            name: format!("{}.{}", names.plural, K::GROUP),
        },
        spec: DefinitionSpec {
            group: K::GROUP,
            scope,
            names,
            default_composite_delete_policy: claim_names.as_ref().map(|_| "Foreground"),
            claim_names,
            default_composition_ref: Named {
                name: K::COMPOSITION.to_owned(),
            },
            versions: [Version {
                name: K::VERSION,
                served: true,
                referenceable: true,
                additional_printer_columns: K::COLUMNS,
                schema: Validation {
                    open_api_v3_schema: whole::<K>(generation),
                },
            }],
        },
    }
}

/// The schema of a whole resource.
///
/// Crossplane keeps the rules at the root from 2.0 on and drops them before; it always keeps those of the spec. It takes
/// the longest name for claims and their composite resources alike, whose names are longer, so only a namespaced
/// composite resource can have one.
fn whole<K: Claim>(generation: Generation) -> Value {
    let mut rules = K::RULES.to_vec();
    let mut properties = json!({
        "spec": schema::structural::<K>(),
        "status": schema::observed::<K::Status>(),
    });
    properties["status"]["properties"]["observedGeneration"] = json!({
        "type": "integer",
        "format": "int64",
        "description": "The generation that the status is about, of a namespaced composite resource. Crossplane copies the status of \
                        another to its claim, which has a generation of its own.",
    });
    if generation == Generation::V2 {
        rules.extend(K::NAME_RULES);
        if K::MAX_NAME_LENGTH < 63 {
            properties["metadata"] = json!({
                "type": "object",
                "properties": { "name": { "type": "string", "maxLength": K::MAX_NAME_LENGTH } },
            });
        }
    }
    root(K::DESCRIPTION, &rules, properties)
}

fn root(description: &str, rules: &[Rule], properties: Value) -> Value {
    let mut root = json!({ "type": "object", "description": description, "required": ["spec"] });
    if !rules.is_empty() {
        root["x-kubernetes-validations"] = json!(rules);
    }
    root["properties"] = properties;
    root
}

/// A CompositeResourceDefinition of Crossplane's, apiextensions.crossplane.io/v1 or v2.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// Group and version.
    pub api_version: String,
    /// CompositeResourceDefinition.
    pub kind: &'static str,
    /// Its name: plural and group.
    pub metadata: Named,
    /// What it defines.
    pub spec: DefinitionSpec,
}

/// Something by its name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The name.
    pub name: String,
}

/// What a CompositeResourceDefinition defines.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionSpec {
    /// The API group.
    pub group: &'static str,
    /// `Namespaced` in v2; v1 has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// What the composite resource is called.
    pub names: Names,
    /// What the claim is called, in v1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_names: Option<Names>,
    /// With `Foreground` a claim, and so its name, stays until all that was composed for it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_composite_delete_policy: Option<&'static str>,
    /// The Composition of a resource that chooses none.
    pub default_composition_ref: Named,
    /// The one version.
    pub versions: [Version; 1],
}

/// What a kind is called.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Names {
    /// Groups of kinds for `kubectl get`.
    pub categories: [&'static str; 1],
    /// The kind.
    pub kind: String,
    /// In the plural, lower case.
    pub plural: String,
    /// Short for `kubectl`.
    pub short_names: [String; 1],
    /// In the singular, lower case.
    pub singular: String,
}

impl Names {
    /// The names of the composite resource behind a claim of these names.
    fn composite(&self) -> Self {
        Self {
            categories: self.categories,
            kind: format!("X{}", self.kind),
            plural: format!("x{}", self.plural),
            short_names: self.short_names.clone().map(|name| format!("x{name}")),
            singular: format!("x{}", self.singular),
        }
    }
}

/// A version of a kind.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The version.
    pub name: &'static str,
    /// Whether the API server serves it.
    pub served: bool,
    /// Whether Compositions may be of it.
    pub referenceable: bool,
    /// What `kubectl get` shows.
    pub additional_printer_columns: &'static [Column],
    /// What a resource looks like.
    pub schema: Validation,
}

/// What a resource looks like.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// A structural schema.
    #[serde(rename = "openAPIV3Schema")]
    pub open_api_v3_schema: Value,
}
