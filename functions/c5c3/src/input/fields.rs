//! Fields of an input that no type has.
//!
//! A type that is part of another (`serde(flatten)`), such as what is said of every service, is read from all fields that are left, so
//! that no field there is unknown to serde. Each name is therefore looked up in the input's own schema, as `c5c3 plan` does.

use std::collections::BTreeMap;
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
        named: BTreeMap<String, Fields>,
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

    /// What the field of this name may have.
    fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object { named, others } => named.get(name).or(others.as_deref()),
            Self::Any | Self::Items(_) => Some(&Self::Any),
        }
    }
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
        let found: UnknownField<OpenStackPresets> = serde_json::from_str(&text).unwrap();
        let unknown = unknown.map(|path| format!("sizes.small.services.{path}"));
        assert_eq!(found.path, unknown);
    }
}
