//! Fields of an input that no type has.
//!
//! A type that is part of another (`serde(flatten)`), such as what is said of every service, is read from all fields that are left, so
//! that no field there is unknown to serde, and neither is one of quotas, which are read as a map. Each name there is therefore looked up in the input's own schema, as `c5c3 plan` does. All
//! other types refuse unknown fields when they are read, so that their values are skipped.

use std::fmt;
use std::marker::PhantomData;

use c5c3_api::schema;
use schemars::JsonSchema;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::Input;

/// Which fields a value may have.
pub enum Fields {
    /// Any: it is no object, or one of which nothing is known.
    Any,
    /// Those of an object.
    Object {
        /// By name.
        named: Vec<(String, Fields)>,
        /// What fields of other names may have, where there may be some.
        others: Option<Box<Fields>>,
    },
    /// Those of each item of a list.
    Items(Box<Fields>),
}

/// The path of the first field of an input that its type doesn't have.
pub struct UnknownField<I> {
    /// The path.
    pub path: Option<String>,
    input: PhantomData<I>,
}

impl Fields {
    /// Those of the values at these paths in a type. In a path, `*` stands for each key of a map. Every other value may have any: its
    /// type refuses unknown fields by itself.
    pub fn of<T: JsonSchema>(paths: &[&str]) -> Self {
        Self::towards(&schema::structural::<T>(), paths)
    }

    /// Those of a value, in which these paths begin.
    fn towards(schema: &Value, paths: &[&str]) -> Self {
        if paths.is_empty() {
            return Self::Any;
        }
        if paths.contains(&"") {
            return Self::within(schema);
        }
        let named = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        let others = others.map_or(Self::Any, |others| {
            Self::towards(others, &below(paths, "*"))
        });
        Self::Object {
            named: named
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::towards(schema, &below(paths, name))))
                .filter(|(_, fields)| !matches!(fields, Self::Any))
                .collect(),
            others: Some(Box::new(others)),
        }
    }

    /// Those of a value and of all that is in it.
    fn within(schema: &Value) -> Self {
        if let Some(items) = schema.get("items") {
            return Self::Items(Box::new(Self::within(items)));
        }
        let is_open =
            schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        let named = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        let others = others.filter(|others| **others != Value::Bool(false));
        if is_open || (named.is_none() && others.is_none()) {
            return Self::Any;
        }
        let named = named.into_iter().flatten();
        Self::Object {
            named: named
                .map(|(name, schema)| (name.clone(), Self::within(schema)))
                .collect(),
            others: others.map(|others| Box::new(Self::within(others))),
        }
    }

    /// What the field of this name may have.
    fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object { named, others } => {
                let known = named.iter().find(|(known, _)| known == name);
                known.map(|(_, fields)| fields).or(others.as_deref())
            }
            Self::Any | Self::Items(_) => Some(&Self::Any),
        }
    }
}

/// What is left of the paths that begin with a name.
fn below<'a>(paths: &[&'a str], name: &str) -> Vec<&'a str> {
    let left = paths.iter().filter_map(|&path| {
        let (first, left) = path.split_once('.').unwrap_or((path, ""));
        (first == name).then_some(left)
    });
    left.collect()
}

fn joined(outer: &str, inner: &str) -> String {
    match inner.starts_with('[') {
        true => format!("{outer}{inner}"),
        false => format!("{outer}.{inner}"),
    }
}

impl<'de, I: Input> Deserialize<'de> for UnknownField<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = I::fields().deserialize(deserializer)?;
        Ok(Self {
            path,
            input: PhantomData,
        })
    }
}

/// Finds the path of a value's first field that isn't among these.
impl<'de> DeserializeSeed<'de> for &Fields {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self {
            Fields::Any => IgnoredAny::deserialize(deserializer).map(|_| None),
            Fields::Object { .. } | Fields::Items(_) => deserializer.deserialize_any(Walk(self)),
        }
    }
}

/// Visits a value of any type: one that isn't of its own type is refused where it is read.
struct Walk<'a>(&'a Fields);

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<String>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut unknown = None;
        while let Some(name) = map.next_key::<&str>()? {
            let Some(fields) = self.0.field(name) else {
                map.next_value::<IgnoredAny>()?;
                unknown.get_or_insert_with(|| name.to_owned());
                continue;
            };
            let path = map.next_value_seed(fields)?;
            unknown = unknown.or_else(|| path.map(|path| joined(name, &path)));
        }
        Ok(unknown)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let fields = match self.0 {
            Fields::Items(fields) => fields,
            Fields::Any | Fields::Object { .. } => &Fields::Any,
        };
        let mut unknown = None;
        let mut index = 0_usize;
        while let Some(path) = list.next_element_seed(fields)? {
            unknown = unknown.or_else(|| path.map(|path| joined(&format!("[{index}]"), &path)));
            index += 1;
        }
        Ok(unknown)
    }
}

#[cfg(test)]
mod tests {
    use function_protocol::Document;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::input::{ClusterPresets, OpenStackPresets};

    const UNKNOWN: &str = "noFieldHasThisName";

    /// For each object of a schema a value that has one unknown field, in that object, and the field's path.
    fn mistakes(schema: &Value) -> Vec<(String, Value)> {
        if let Some(items) = schema.get("items") {
            let items = mistakes(items).into_iter();
            return items
                .map(|(path, item)| (joined("[0]", &path), json!([item])))
                .collect();
        }
        let named = schema.get("properties").and_then(Value::as_object);
        // The name of a size, and as good a key as any in the other maps.
        let others = schema.get("additionalProperties");
        let others = others.map(|others| ("small", others));
        let is_closed = named.is_some() && others.is_none();
        let mut found = Vec::new();
        if is_closed {
            found.push((UNKNOWN.to_owned(), json!({ UNKNOWN: 1 })));
        }
        let named = named.into_iter().flatten();
        for (name, schema) in named
            .map(|(name, schema)| (name.as_str(), schema))
            .chain(others)
        {
            let inner = mistakes(schema).into_iter();
            found.extend(inner.map(|(path, value)| (joined(name, &path), json!({ name: value }))));
        }
        found
    }

    /// Whether [`crate::input::read`] refuses an unknown field. Required fields are missing, but serde comes to an unknown field before it
    /// misses any, unless the field is in a type with flattened parts.
    fn is_refused<I: Input>(path: &str, input: &Value) -> bool {
        let document = Document::from_value(input).unwrap();
        let refusal = format!("{path}: unknown field");
        let error = document.parse_strictly::<I>().err();
        let found = document.parse::<UnknownField<I>>().unwrap();
        error.is_some_and(|error| error.to_string() == refusal)
            || found.path.as_deref() == Some(path)
    }

    fn accepted<I: Input>() -> Vec<String> {
        let mut mistakes = mistakes(&schema::structural::<I>());
        mistakes.retain(|(path, input)| !is_refused::<I>(path, input));
        mistakes.into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn mistakes_are_in_every_object_of_a_schema() {
        let object = json!({ "properties": { "any": { "type": "string" } } });
        let schema = json!({ "properties": {
            "list": { "items": object },
            "map": { "additionalProperties": object },
        } });
        let found = mistakes(&schema);
        let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "noFieldHasThisName",
                "list[0].noFieldHasThisName",
                "map.small.noFieldHasThisName"
            ]
        );
        assert_eq!(found[1].1, json!({ "list": [{ "noFieldHasThisName": 1 }] }));
    }

    #[rstest]
    #[case::of_control_planes(accepted::<OpenStackPresets>())]
    #[case::of_clusters(accepted::<ClusterPresets>())]
    fn unknown_fields_are_refused_in_every_object(#[case] accepted: Vec<String>) {
        assert!(
            accepted.is_empty(),
            "`Input::fields` lacks types with flattened parts, or maps: add the paths of {accepted:?}"
        );
    }

    #[test]
    fn fields_of_types_without_flattened_parts_are_skipped() {
        let text = json!({ "any": 1, "sizes": { "small": { "share": { "any": 1 } } } }).to_string();
        let found: UnknownField<OpenStackPresets> = serde_json::from_str(&text).unwrap();
        assert_eq!(found.path, None);
    }

    #[rstest]
    #[case::of_a_service(json!({"nova": {"noVncProxy": {"replicas": 2}, "enabled": true}}), None)]
    #[case::of_no_service(json!({"nova": {"noVNCProxy": {"replicas": 2}}}), Some("nova.noVNCProxy"))]
    #[case::of_an_item(
        json!({"nova": {"extraConfigSecrets": [{"section": "DEFAULT"}, {"knwon": 1}]}}),
        Some("nova.extraConfigSecrets[1].knwon")
    )]
    #[case::of_a_map(json!({"nova": {"extraConfig": {"any": {"any": "1"}}}}), None)]
    #[case::below_a_scalar(json!({"nova": {"enabled": {"any": true}}}), None)]
    fn fields_that_no_type_has_are_found(#[case] services: Value, #[case] unknown: Option<&str>) {
        let text = json!({ "sizes": { "small": { "services": services } } }).to_string();
        let found: UnknownField<OpenStackPresets> = serde_json::from_str(&text).unwrap();
        let unknown = unknown.map(|path| format!("sizes.small.services.{path}"));
        assert_eq!(found.path, unknown);
    }
}
