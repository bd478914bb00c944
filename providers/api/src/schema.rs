//! From a Rust type to the structural schema that Kubernetes wants.
//!
//! Kubernetes takes a part of JSON Schema only: no references, no alternatives where one type would do, two integer
//! formats (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>).

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The structural schema of a type, with defaults. A string that nothing else is said of holds no control character: many end
/// as one line of a configuration file. One that has a form says it when it is refused.
pub fn structural<T: JsonSchema>() -> Value {
    let mut schema = described::<T>();
    refuse_control_characters(&mut schema);
    say_forms(&mut schema);
    schema
}

fn described<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Value::Object(schema) = &mut schema {
        // That of the root is the Rust type's name.
        schema.remove("title");
    }
    tidy(&mut schema);
    schema
}

/// The structural schema of a type without defaults, for what is observed and not wished.
pub fn observed<T: JsonSchema>() -> Value {
    let mut schema = described::<T>();
    remove_defaults(&mut schema);
    schema
}

fn tidy(schema: &mut Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    unwrap_option(schema);
    flatten_enum(schema);
    name_integer(schema);
    join_lines(schema);
    children(schema).for_each(tidy);
    shorten_default(schema);
    sort(schema);
}

/// A text of several lines, without other control characters.
pub(crate) const LINES: &str = r"^[^\x00-\x09\x0b-\x1f\x7f]*$";

/// An http or https URL.
pub(crate) const URL: &str = r"^https?://[^\s/?#]+[^\s]*$";

/// What a URL is written as.
const URL_FORM: &str =
    "a URL with http:// or https://, for instance https://keystone.example.com/v3";

/// Puts what a reader looks for first, and what is long last.
fn sort(schema: &mut Map<String, Value>) {
    const FIRST: [&str; 6] = ["title", "description", "type", "format", "enum", "default"];
    const LAST: [&str; 4] = [
        "x-kubernetes-validations",
        "items",
        "additionalProperties",
        "properties",
    ];
    let place = |key: &str| match FIRST.iter().position(|first| *first == key) {
        Some(place) => place,
        None => {
            FIRST.len()
                + LAST
                    .iter()
                    .position(|last| *last == key)
                    .map_or(0, |place| place + 1)
        }
    };
    let mut entries: Vec<_> = std::mem::take(schema).into_iter().collect();
    entries.sort_by_key(|(key, _)| place(key));
    schema.extend(entries);
}

/// The schemas within a schema: of properties, of items, of a map's values.
fn children(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    schema
        .iter_mut()
        .flat_map(|(key, value)| -> Vec<&mut Value> {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => properties.values_mut().collect(),
                ("items" | "additionalProperties", value) => vec![value],
                _ => Vec::new(),
            }
        })
}

/// An optional field is one that may be left out, not one that may be null.
fn unwrap_option(schema: &mut Map<String, Value>) {
    let null = json!("null");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| *kind != null);
        if let [kind] = types.as_slice() {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(mut alternatives)) = schema.remove("anyOf") {
        alternatives.retain(|alternative| alternative["type"] != null);
        for (key, value) in alternatives.into_iter().filter_map(object).flatten() {
            schema.entry(key).or_insert(value);
        }
    }
}

/// Variants with a description each come as alternatives. They become one `enum`, described below one another.
fn flatten_enum(schema: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = schema.remove("oneOf") else {
        return;
    };
    let mut description = text(schema.get("description"));
    let mut names = Vec::new();
    for variant in variants {
        description += &format!(
            "\n\n{}: {}",
            text(variant.get("const")),
            text(variant.get("description"))
        );
        names.push(variant["const"].clone());
    }
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("description".to_owned(), json!(description));
    schema.insert("enum".to_owned(), Value::Array(names));
}

/// Kubernetes knows int32 and int64. What Rust's own types say of their range is left out, but for the zero of a count.
fn name_integer(schema: &mut Map<String, Value>) {
    let (format, most) = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => ("int32", Some(u64::from(u8::MAX))),
        Some("uint16") => ("int32", None),
        Some("uint32" | "uint64") => ("int64", None),
        _ => return,
    };
    schema.insert("format".to_owned(), json!(format));
    if most.is_some() && schema.get("maximum").and_then(Value::as_u64) == most {
        schema.remove("maximum");
    }
}

fn refuse_control_characters(schema: &mut Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    let said = ["enum", "pattern", "format"].map(|key| schema.contains_key(key));
    if schema.get("type") == Some(&json!("string")) && said == [false; 3] {
        schema.insert("pattern".to_owned(), json!(r"^[^\x00-\x1f\x7f]*$"));
        sort(schema);
    }
    children(schema).for_each(refuse_control_characters);
}

/// The API server shows a pattern of what doesn't match it. It checks rules, too, where nothing but patterns is violated
/// (`hasBlockingErr` of apiextensions-apiserver, pkg/registry/customresource/strategy.go), so that a rule can say the form.
fn say_forms(schema: &mut Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    if schema.get("pattern") == Some(&json!(URL)) {
        schema.insert("title".to_owned(), json!(URL_FORM));
    }
    if let Some(rule) = form_rule(schema) {
        let rules = schema
            .entry("x-kubernetes-validations")
            .or_insert_with(|| json!([]));
        if let Value::Array(rules) = rules {
            rules.push(rule);
        }
        sort(schema);
    }
    children(schema).for_each(say_forms);
}

/// The rule that a text has the form that its title says. Amounts have none: they aren't of one type, and cost too much.
fn form_rule(schema: &Map<String, Value>) -> Option<Value> {
    let said = |key: &str| schema.get(key).and_then(Value::as_str);
    let (pattern, form) = (said("pattern")?, said("title")?);
    (said("type") == Some("string")).then(|| {
        json!({
            "rule": format!("self.matches(r'{pattern}')"),
            "message": format!("not valid: write {form}"),
        })
    })
}

/// Comments are wrapped for the reader of the source; blank lines stay.
fn join_lines(schema: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let paragraphs: Vec<_> = description
            .split("\n\n")
            .map(|lines| lines.replace('\n', " "))
            .collect();
        *description = paragraphs.join("\n\n");
    }
}

/// The API server fills a default in step by step: where its properties have all of an object's default, it is enough
/// that the object is there.
fn shorten_default(schema: &mut Map<String, Value>) {
    let Some(mut default) = schema.shift_remove("default") else {
        return;
    };
    remove_empty(&mut default);
    if is_empty(&default) || default.is_null() {
        return;
    }
    if default == filled(schema) {
        default = json!({});
    }
    schema.insert("default".to_owned(), default);
}

/// What the API server makes of an empty object.
fn filled(schema: &Map<String, Value>) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let fill = |(name, property): (&String, &Value)| {
        let property = property.as_object()?;
        let default = match property.get("default")? {
            Value::Object(default) if default.is_empty() => filled(property),
            default => default.clone(),
        };
        Some((name.clone(), default))
    };
    Value::Object(properties.into_iter().flatten().filter_map(fill).collect())
}

/// An empty object or list in a default is as good as none.
fn remove_empty(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.values_mut().for_each(remove_empty);
        fields.retain(|_, field| !is_empty(field));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn remove_defaults(schema: &mut Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    schema.remove("default");
    children(schema).for_each(remove_defaults);
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
