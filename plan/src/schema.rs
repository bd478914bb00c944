//! The kinds of this project as an API server serves them.

use std::sync::LazyLock;

use c5c3_admission::{Problem, Validator, defaulted, near, object};
use c5c3_api::{Generation, custom_resources, definitions};
use serde_json::{Value, json};

use crate::kind::ClaimKind;
use crate::manifest::Manifest;
use crate::secret;

/// The kind of Secrets.
const SECRET: &str = "Secret";

/// A kind that an API server serves once the definitions of this project are installed.
pub struct Served {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// What it is a claim for, or the composite resource of; none for what operators reconcile.
    pub claim: Option<ClaimKind>,
    /// The schema of a whole resource.
    schema: Value,
}

impl Served {
    /// Returns the kind of this API version and name.
    pub fn named(api_version: &str, kind: &str) -> Option<&'static Self> {
        KINDS
            .iter()
            .find(|served| served.kind == kind && served.api_version == api_version)
    }

    /// Returns the kind that is probably meant by an API version and kind that nothing has: the same kind of another
    /// version or group, or one of the same API version with a name much like it.
    pub fn meant(api_version: &str, kind: &str) -> Option<&'static Self> {
        let same = KINDS.iter().find(|served| served.kind == kind);
        same.or_else(|| {
            let alike = KINDS
                .iter()
                .filter(|served| served.api_version == api_version);
            let name = near(kind, alike.map(|served| served.kind.as_str()))?;
            Self::named(api_version, name)
        })
    }

    /// Whether an API version is of a group of this project.
    pub fn owns(api_version: &str) -> bool {
        let Some((group, _)) = api_version.split_once('/') else {
            return false;
        };
        let mut kinds = KINDS.iter();
        kinds.any(|served| served.api_version.starts_with(&format!("{group}/")))
    }

    /// Returns a resource as the API server keeps it, with defaults.
    pub fn defaulted(&self, manifest: &Manifest) -> Manifest {
        let spec = &self.schema["properties"]["spec"];
        let spec = defaulted(spec, manifest.spec().clone());
        manifest.clone().changed(|fields| {
            fields.insert("spec".to_owned(), spec);
        })
    }

    /// Returns every reason why the API server refuses a document of this kind.
    pub fn problems(&self, validator: &mut Validator, document: &Value) -> Vec<Problem> {
        let document = defaulted(&self.schema, document.clone());
        let problems = validator.problems(&self.schema, &document, None);
        match problems.is_empty() && self.kind == SECRET {
            true => secret::problems(&document),
            false => problems,
        }
    }
}

static KINDS: LazyLock<Vec<Served>> = LazyLock::new(|| {
    // Whoever names a claim sees the rules about names, whichever generation of Crossplane enforces them.
    let generations = [Generation::V2, Generation::V1].into_iter();
    let claims = generations.flat_map(definitions).map(|definition| {
        let (group, kind) = (definition.spec.group, definition.spec.names.kind);
        let [version] = definition.spec.versions;
        let api_version = format!("{group}/v1alpha1");
        Served {
            claim: ClaimKind::named(&api_version, &kind),
            schema: served_by_crossplane(object(version.schema.open_api_v3_schema)),
            api_version,
            kind,
        }
    });
    let custom = custom_resources().into_iter().map(|definition| {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = &spec["versions"][0];
        Served {
            api_version: format!("{}/{}", text(&spec["group"]), text(&version["name"])),
            kind: text(&spec["names"]["kind"]),
            claim: None,
            schema: object(version["schema"]["openAPIV3Schema"].clone()),
        }
    });
    let secret = Served {
        api_version: "v1".to_owned(),
        kind: SECRET.to_owned(),
        claim: None,
        schema: object(json!({
            "type": "object",
            "properties": {
                "data": texts(),
                "immutable": { "type": "boolean" },
                "stringData": texts(),
                "type": { "type": "string" },
            },
        })),
    };
    claims.chain(custom).chain([secret]).collect()
});

/// The schema of a map of texts.
fn texts() -> Value {
    json!({ "type": "object", "additionalProperties": { "type": "string" } })
}

/// Adds what Crossplane adds to the schema of claims and composite resources (crossplane 1.20, internal/xcrd).
fn served_by_crossplane(mut schema: Value) -> Value {
    let any = json!({ "x-kubernetes-preserve-unknown-fields": true });
    let text = json!({ "type": "string" });
    let named = json!({ "type": "object", "required": ["name"], "properties": { "name": text } });
    let selector = json!({
        "type": "object",
        "required": ["matchLabels"],
        "properties": { "matchLabels": texts() },
    });
    let choice = [
        ("compositionRef", &named),
        ("compositionSelector", &selector),
        ("compositionRevisionRef", &named),
        ("compositionRevisionSelector", &selector),
        ("compositionUpdatePolicy", &text),
    ];
    let of_the_claim = [
        ("claimRef", &any),
        ("compositeDeletePolicy", &text),
        ("publishConnectionDetailsTo", &any),
        ("resourceRef", &any),
        ("resourceRefs", &any),
        ("writeConnectionSecretToRef", &any),
    ];
    let mut crossplane = any.clone();
    for (name, property) in choice {
        crossplane["properties"][name] = property.clone();
    }
    let spec = &mut schema["properties"]["spec"]["properties"];
    for (name, property) in choice.iter().chain(&of_the_claim) {
        spec[*name] = (*property).clone();
    }
    spec["crossplane"] = crossplane;
    schema["properties"]["status"]["x-kubernetes-preserve-unknown-fields"] = json!(true);
    schema
}
