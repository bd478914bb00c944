//! What Flux applies from the repository, as far as this one uses Kustomize and Flux.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::given::root;

/// The management clusters, by their folders in `clusters`.
pub const OVERLAYS: [&str; 3] = ["management", "management-v1", "staging"];

/// The namespace of Flux.
pub const FLUX: &str = "flux-system";

/// The sources that are this repository.
const THIS: [&str; 3] = [FLUX, "c5c3-gitops", "tenant"];

/// Which object something is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

impl Id {
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        let [kind, namespace, name] = [kind, namespace, name].map(str::to_owned);
        Self {
            kind,
            namespace,
            name,
        }
    }

    pub fn of(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self::new(
            text(&object["kind"]),
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        )
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// A Kustomization of Flux, and the objects that it applies.
pub struct Applied {
    pub kustomization: Value,
    pub objects: Vec<Value>,
}

impl Applied {
    /// Whether the objects are applied in another cluster.
    pub fn is_remote(&self) -> bool {
        !self.kustomization["spec"]["kubeConfig"].is_null()
    }
}

/// A file or a folder of the repository.
pub fn gitops(path: &str) -> PathBuf {
    root("examples/gitops").join(path)
}

/// A text, or an empty one.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The items of a list, or none.
pub fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The text of a file.
pub fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The documents of a file.
pub fn documents(file: &Path) -> Vec<Value> {
    let text = read(file);
    let documents = text
        .split("---\n")
        .map(|text| match serde_saphyr::from_str::<Value>(text) {
            Ok(document) => document,
            Err(error) => panic!("{}: {error}", file.display()),
        });
    documents.collect()
}

/// What Kustomize builds of a folder: resources, and files of patches by strategic merge.
pub fn built(folder: &Path) -> Vec<Value> {
    let kustomization = documents(&folder.join("kustomization.yaml")).remove(0);
    let mut objects: Vec<Value> = Vec::new();
    for resource in items(&kustomization["resources"]) {
        let path = folder.join(text(resource));
        match path.is_dir() {
            true => objects.extend(built(&path)),
            false => objects.extend(documents(&path)),
        }
    }
    for patch in items(&kustomization["patches"]) {
        let file = folder.join(text(&patch["path"]));
        for change in documents(&file) {
            let id = Id::of(&change);
            match objects.iter_mut().find(|object| Id::of(object) == id) {
                Some(object) => merge(object, change),
                None => panic!("{}: there is no {id} to patch", file.display()),
            }
        }
    }
    objects
}

fn merge(target: &mut Value, change: Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (name, change) in change {
                merge(target.entry(name).or_insert(Value::Null), change);
            }
        }
        (target, change) => *target = change,
    }
}

/// Everything that Flux applies for a management cluster, beginning with what the FluxInstance syncs.
pub fn site(overlay: &str) -> Vec<Applied> {
    let mut pending = vec![json!({
        "kind": "Kustomization",
        "metadata": { "name": FLUX, "namespace": FLUX },
        "spec": {
            "sourceRef": { "kind": "GitRepository", "name": FLUX },
            "path": format!("./clusters/{overlay}"),
            "prune": true,
            "deletionPolicy": "Orphan",
        },
    })];
    let mut applied = Vec::new();
    while let Some(kustomization) = pending.pop() {
        let objects = contents(&kustomization);
        let is_kustomization = |object: &&Value| object["kind"] == "Kustomization";
        pending.extend(objects.iter().filter(is_kustomization).cloned());
        applied.push(Applied {
            kustomization,
            objects,
        });
    }
    applied
}

/// The objects of a Kustomization whose source is this repository; those of others aren't here.
fn contents(kustomization: &Value) -> Vec<Value> {
    let spec = &kustomization["spec"];
    let source = text(&spec["sourceRef"]["name"]);
    let Some(path) = text(&spec["path"]).strip_prefix("./") else {
        panic!("{}: spec.path must begin with ./", Id::of(kustomization));
    };
    if !THIS.contains(&source) {
        let here = source.starts_with("c5c3");
        assert!(
            !here || root(path).is_dir(),
            "{path} of {source} isn't here"
        );
        return Vec::new();
    }
    let objects = built(&gitops(path));
    match spec["postBuild"]["substitute"].as_object() {
        Some(variables) => objects
            .iter()
            .map(|object| substituted(object, variables))
            .collect(),
        None => objects,
    }
}

/// An object with the values of variables. Flux refuses variables that have none.
fn substituted(object: &Value, variables: &Map<String, Value>) -> Value {
    let mut written = object.to_string();
    for (name, value) in variables {
        written = written.replace(&format!("${{{name}}}"), text(value));
    }
    assert!(
        !written.contains("${"),
        "a variable has no value: {written}"
    );
    serde_json::from_str(&written).unwrap()
}
