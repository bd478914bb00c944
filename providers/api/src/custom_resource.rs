//! The CustomResourceDefinitions of what operators reconcile.

use serde_json::{Value, json};

use crate::{
    KINDS,
    kind::{Column, Kind},
    pattern::LABEL,
    schema,
};

/// A kind that an operator reconciles, by its spec.
pub trait CustomResource: Kind {
    /// Where its resources live.
    const SCOPE: Scope = Scope::Namespaced;
}

/// Where the resources of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each in a namespace.
    Namespaced,
    /// In none.
    Cluster,
}

/// Describes `status.observedGeneration` of every kind of this project. Definitions that others serve under the same names don't have
/// it, so it tells whose a definition is: it never changes.
pub const OBSERVED_GENERATION_DESCRIPTION: &str = "Generation of the spec that the status is of.";

const READY: Column = Column::new(
    "Ready",
    "string",
    ".status.conditions[?(@.type=='Ready')].status",
);

const AGE: Column = Column::new("Age", "date", ".metadata.creationTimestamp");

/// A kind of this project.
pub struct Registered {
    /// The API group.
    pub group: &'static str,
    /// The API version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The kind in the plural and lower case.
    pub plural: &'static str,
    is_dependency: bool,
    /// What Tempest calls the service.
    pub(crate) tested_as: Option<&'static str>,
    definition: fn() -> Value,
}

/// A kind that nothing waits for.
pub(crate) const fn registered<K: CustomResource>() -> Registered {
    Registered {
        group: K::GROUP,
        version: K::VERSION,
        kind: K::KIND,
        plural: K::PLURAL,
        is_dependency: false,
        tested_as: None,
        definition: custom_resource::<K>,
    }
}

/// A kind that `dependsOn` may name.
pub(crate) const fn dependency<K: CustomResource>() -> Registered {
    Registered {
        is_dependency: true,
        ..registered::<K>()
    }
}

/// A kind that `dependsOn` may name, and that Tempest tests. `name` is what Tempest calls the service: mostly its type in the
/// catalogue.
pub(crate) const fn tested<K: CustomResource>(name: &'static str) -> Registered {
    Registered {
        tested_as: Some(name),
        ..dependency::<K>()
    }
}

/// The kinds that `dependsOn` may name.
pub fn dependencies() -> impl Iterator<Item = &'static Registered> {
    KINDS.iter().filter(|kind| kind.is_dependency)
}

/// Every CustomResourceDefinition, apiextensions.k8s.io/v1.
pub fn custom_resources() -> Vec<Value> {
    KINDS.iter().map(|kind| (kind.definition)()).collect()
}

/// Whether one of [`custom_resources`] has the name `<plural>.<group>`.
pub fn is_defined(group: &str, plural: &str) -> bool {
    let mut kinds = KINDS.iter();
    kinds.any(|kind| kind.group == group && kind.plural == plural)
}

/// The schema of the resources of a kind in this version; none of a kind that isn't one of [`custom_resources`].
pub fn schema_of(group: &str, kind: &str) -> Option<Value> {
    let mut kinds = KINDS.iter();
    let known = kinds.find(|known| known.group == group && known.kind == kind)?;
    let mut definition = (known.definition)();
    let schema = definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema");
    schema.map(Value::take)
}

/// The CustomResourceDefinition of one kind, apiextensions.k8s.io/v1.
pub fn custom_resource<K: CustomResource>() -> Value {
    let columns: Vec<_> = [READY]
        .iter()
        .chain(K::COLUMNS)
        .chain(&[AGE])
        .copied()
        .collect();
    let scope = match K::SCOPE {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", K::PLURAL, K::GROUP) },
        "spec": {
            "group": K::GROUP,
            "scope": scope,
            "names": {
                "kind": K::KIND,
                "plural": K::PLURAL,
                "singular": K::KIND.to_lowercase(),
                "shortNames": [K::SHORT_NAME],
                "categories": ["openstack"],
            },
            "versions": [{
                "name": K::VERSION,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": whole::<K>() },
            }],
        },
    })
}

/// The schema of a whole resource.
fn whole<K: CustomResource>() -> Value {
    let spec = schema::structural::<K>();
    let mut rules = json!(K::RULES);
    if let (Value::Array(rules), Some(_)) = (&mut rules, spec["properties"].get("dependsOn")) {
        rules.push(waits_for_itself::<K>());
    }
    let mut root = json!({ "type": "object", "description": K::DESCRIPTION, "required": ["spec"] });
    if rules != json!([]) {
        root["x-kubernetes-validations"] = rules;
    }
    let mut name = json!({ "type": "string", "maxLength": K::MAX_NAME_LENGTH });
    // What has a certificate is a host of this name: with a dot it could be one of another namespace.
    if spec["properties"].get("tls").is_some() {
        name["pattern"] = json!(LABEL);
    }
    let mut status = schema::observed::<K::Status>();
    status["properties"]["observedGeneration"] = json!({
        "description": OBSERVED_GENERATION_DESCRIPTION,
        "type": "integer",
        "format": "int64",
    });
    root["properties"] = json!({
        "metadata": { "type": "object", "properties": { "name": name } },
        "spec": spec,
        "status": status,
    });
    root
}

/// The shortest of all circles of dependencies. Longer ones are for the operators to find.
fn waits_for_itself<K: CustomResource>() -> Value {
    let kind = K::KIND;
    json!({
        "rule": format!(
            "!has(self.spec.dependsOn) || \
             !self.spec.dependsOn.exists(other, other.kind == '{kind}' && other.name == self.metadata.name)"
        ),
        "message": "dependsOn names the resource itself, which would wait for ever: remove it",
    })
}
