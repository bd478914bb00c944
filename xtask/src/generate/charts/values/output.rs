//! The files of values and of their schema.

use std::path::Path;

use anyhow::Result;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::generate::Files;
use crate::generate::charts::LIBRARY;

/// Values and their schema as files.
pub(super) fn written(values: &Value, mut schema: Value) -> Result<Files> {
    // Helm adds these to the values of a chart that has a dependency.
    for name in ["global", LIBRARY] {
        schema["properties"][name] = json!({"type": "object"});
    }
    close(&mut schema);
    let values = commented(values, &schema)?;
    let head = "# Made by `cargo xtask generate` from xtask/src/generate/charts/values.rs.";
    let schema = serde_json::to_string_pretty(&schema)?;
    Ok(Files::from([
        (Path::new("values.yaml").into(), format!("{head}\n{values}")),
        (
            Path::new("values.schema.json").into(),
            format!("{schema}\n"),
        ),
    ]))
}

/// The schema of values.
pub(super) fn schema<V: JsonSchema>() -> Value {
    // The draft that every Helm of version 3 reads.
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<V>().to_value();
    if let Value::Object(root) = &mut schema {
        // That of the root is the Rust type's name.
        root.remove("title");
    }
    schema
}

/// Refuses what an object doesn't have.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            object.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Values as YAML, with their descriptions as comments.
fn commented(values: &Value, schema: &Value) -> Result<String> {
    let mut text = String::new();
    for (name, value) in values.as_object().into_iter().flatten() {
        let schema = &schema["properties"][name];
        let description = schema["description"].as_str().unwrap_or_default();
        for line in description.lines() {
            text += &format!("# {line}\n");
        }
        let nested = value.as_object().is_some_and(|object| !object.is_empty());
        if nested && schema["properties"].is_object() {
            text += &format!("{name}:\n");
            for line in commented(value, schema)?.lines() {
                text += &format!("  {line}\n");
            }
        } else {
            let value = serde_saphyr::to_string(&json!({ name: value }))?;
            text += &format!("{}\n", value.trim_end());
        }
    }
    Ok(text)
}
