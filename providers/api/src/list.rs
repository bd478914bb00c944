//! Lists whose items have a key: the API server refuses two items of one key, and merges what several writers apply
//! (<https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy>).

use schemars::Schema;
use serde_json::json;

/// A list of conditions.
pub(crate) fn by_type(schema: &mut Schema) {
    keyed(schema, &["type"]);
}

/// A list of named things.
pub(crate) fn by_name(schema: &mut Schema) {
    keyed(schema, &["name"]);
}

/// A list of what is waited for.
pub(crate) fn by_dependency(schema: &mut Schema) {
    keyed(schema, &["kind", "name", "condition"]);
}

/// A list of options of a configuration file.
pub(crate) fn by_option(schema: &mut Schema) {
    keyed(schema, &["section", "option"]);
}

/// A list of how physical networks are reached.
pub(crate) fn by_physical_network(schema: &mut Schema) {
    keyed(schema, &["physicalNetwork"]);
}

/// A list in which nothing stands twice.
pub(crate) fn set(schema: &mut Schema) {
    schema.insert("x-kubernetes-list-type".to_owned(), json!("set"));
}

fn keyed(schema: &mut Schema, keys: &[&str]) {
    schema.insert("x-kubernetes-list-type".to_owned(), json!("map"));
    schema.insert("x-kubernetes-list-map-keys".to_owned(), json!(keys));
}
