//! Keys of objects: strings, read as what a map's key type asks for.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::{DocumentError, Result};

pub(super) struct KeyReader<'de>(pub(super) &'de str);

/// Reads a key that is the text of a number or a bool.
macro_rules! parsed {
    ($($method:ident $visit:ident $expected:literal,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(DocumentError::invalid_type(Unexpected::Str(self.0), &$expected)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for KeyReader<'de> {
    type Error = DocumentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed! {
        deserialize_bool visit_bool "a bool",
        deserialize_i8 visit_i8 "an integer",
        deserialize_i16 visit_i16 "an integer",
        deserialize_i32 visit_i32 "an integer",
        deserialize_i64 visit_i64 "an integer",
        deserialize_i128 visit_i128 "an integer",
        deserialize_u8 visit_u8 "an integer",
        deserialize_u16 visit_u16 "an integer",
        deserialize_u32 visit_u32 "an integer",
        deserialize_u64 visit_u64 "an integer",
        deserialize_u128 visit_u128 "an integer",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(BorrowedStrDeserializer::<DocumentError>::new(self.0))
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}
