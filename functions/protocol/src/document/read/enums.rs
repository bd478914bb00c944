//! Enums, as serde_json has them: a string, or an object with one field.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};

use super::collections::Fields;
use super::{DocumentError, Reader, Result, unexpected};
use crate::document::wire::{Kind, text};

const EXPECTED: &str = "a string or an object with one field";

impl<'de> Reader<'de> {
    pub(super) fn read_enum<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.kind {
            Kind::String(bytes) => {
                visitor.visit_enum(BorrowedStrDeserializer::<DocumentError>::new(text(bytes)?))
            }
            Kind::Struct(entries) => {
                let mut fields = Fields::of(entries, self.within)?;
                let (Some(only), None) = (fields.next_entry()?, fields.next_entry()?) else {
                    return Err(unexpected(self.kind, &EXPECTED));
                };
                let name = text(only.key)?;
                let content = Reader {
                    kind: Kind::of(only.value)?,
                    within: fields.within(),
                };
                visitor
                    .visit_enum(Variant { name, content })
                    .map_err(|error| error.in_field(name))
            }
            _ => Err(unexpected(self.kind, &EXPECTED)),
        }
    }
}

struct Variant<'de> {
    name: &'de str,
    content: Reader<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = DocumentError;
    type Variant = Reader<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Reader<'de>)> {
        let name = seed.deserialize(BorrowedStrDeserializer::<DocumentError>::new(self.name))?;
        Ok((name, self.content))
    }
}

impl<'de> VariantAccess<'de> for Reader<'de> {
    type Error = DocumentError;

    fn unit_variant(self) -> Result<()> {
        match self.kind {
            Kind::Null => Ok(()),
            _ => Err(unexpected(self.kind, &"null")),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }
}
