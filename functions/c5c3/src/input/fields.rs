//! Fields of an input that no type has.
//!
//! A type that is part of another (`serde(flatten)`), such as what is said of every service, is read from all fields that are left, so
//! that no field there is unknown to serde. Each name is therefore looked up in the input's own schema, as `c5c3 plan` does.

use std::collections::BTreeMap;
use std::fmt;

use c5c3_api::schema;
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Which fields a value may have.
pub enum Fields {
    /// Any: it is no object, or one of which nothing is known.
    Any,
    /// Those of an object.
    Object {
        /// By name.
        named: BTreeMap<String, Fields>,
        /// What fields of other names may have, where there may be some.
        others: Option<Box<Fields>>,
    },
    /// Those of each item of a list.
    Items(Box<Fields>),
}

/// A value without its scalars: the names of its fields.
pub enum Names<'a> {
    /// The fields of an object, by name.
    Object(Vec<(&'a str, Names<'a>)>),
    /// The items of a list.
    List(Vec<Names<'a>>),
    /// A value without fields.
    Scalar,
}

impl Fields {
    /// Those of a type.
    pub fn of<T: JsonSchema>() -> Self {
        Self::within(&schema::structural::<T>())
    }

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

    /// The path of the first field of a value that isn't among these.
    pub fn unknown(&self, value: &Names<'_>) -> Option<String> {
        match (self, value) {
            (Self::Object { named, others }, Names::Object(fields)) => {
                fields.iter().find_map(|(name, value)| {
                    match named.get(*name).or(others.as_deref()) {
                        Some(fields) => fields.unknown(value).map(|path| joined(name, &path)),
                        None => Some((*name).to_owned()),
                    }
                })
            }
            (Self::Items(fields), Names::List(items)) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(index, item)| {
                    let path = fields.unknown(item)?;
                    Some(joined(&format!("[{index}]"), &path))
                })
            }
            _ => None,
        }
    }
}

fn joined(outer: &str, inner: &str) -> String {
    match inner.starts_with('[') {
        true => format!("{outer}{inner}"),
        false => format!("{outer}.{inner}"),
    }
}

impl<'de> Deserialize<'de> for Names<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Names<'de>, E> {
        Ok(Names::Scalar)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Names<'de>, E> {
        Ok(Names::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Names<'de>, E> {
        Ok(Names::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Names<'de>, E> {
        Ok(Names::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Names<'de>, E> {
        Ok(Names::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Names<'de>, E> {
        Ok(Names::Scalar)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Names::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Names::List(items))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::input::OpenStackPresets;

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
        let names: Names<'_> = serde_json::from_str(&text).unwrap();
        let found = Fields::of::<OpenStackPresets>().unknown(&names);
        let unknown = unknown.map(|path| format!("sizes.small.services.{path}"));
        assert_eq!(found, unknown);
    }
}
