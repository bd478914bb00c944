//! Objects and lists.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::{DocumentError, Result, Writer};
use crate::document::wire::{self, Fields, Kind, Payload};

/// Writes the fields of an object.
pub(super) struct FieldsWriter<'a> {
    out: &'a mut Vec<u8>,
    nesting: Nesting,
    /// Where the entry began whose key is written and whose value is not.
    entry: usize,
}

/// Writes the items of a list.
pub(super) struct ItemsWriter<'a> {
    out: &'a mut Vec<u8>,
    nesting: Nesting,
    index: usize,
}

/// Where lengths are to be filled in at the end: of the collection, and of what an enum's variant wraps around it.
struct Nesting {
    variant: Option<[usize; 3]>,
    content: usize,
}

impl Nesting {
    /// Opens an object or a list, for a variant as the value in `{variant: ...}`.
    fn open(out: &mut Vec<u8>, variant: Option<&str>, key: u8) -> Self {
        let variant = variant.map(|variant| {
            let outer = wire::open(out, wire::STRUCT);
            let entry = wire::open(out, wire::ENTRY);
            wire::put_bytes(out, wire::ENTRY_KEY, variant.as_bytes());
            [wire::open(out, wire::ENTRY_VALUE), entry, outer]
        });
        Self {
            variant,
            content: wire::open(out, key),
        }
    }

    fn close(&self, out: &mut Vec<u8>) {
        wire::close(out, self.content);
        for start in self.variant.into_iter().flatten() {
            wire::close(out, start);
        }
    }
}

impl<'a> FieldsWriter<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>, variant: Option<&str>) -> Self {
        let nesting = Nesting::open(out, variant, wire::STRUCT);
        Self {
            out,
            nesting,
            entry: 0,
        }
    }

    pub(super) fn close(self) {
        self.nesting.close(self.out);
    }

    pub(super) fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<()> {
        self.entry = wire::open(self.out, wire::ENTRY);
        wire::put_text_key(self.out, key);
        self.value(value).map_err(|error| error.in_field(key))
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let start = wire::open(self.out, wire::ENTRY_VALUE);
        value.serialize(Writer(self.out))?;
        wire::close(self.out, start);
        wire::close(self.out, self.entry);
        Ok(())
    }
}

impl<'a> ItemsWriter<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>, variant: Option<&str>) -> Self {
        let nesting = Nesting::open(out, variant, wire::LIST);
        Self {
            out,
            nesting,
            index: 0,
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let start = wire::open(self.out, wire::ITEM);
        value
            .serialize(Writer(self.out))
            .map_err(|error| error.in_item(self.index))?;
        wire::close(self.out, start);
        self.index += 1;
        Ok(())
    }

    fn close(self) {
        self.nesting.close(self.out);
    }
}

impl SerializeMap for FieldsWriter<'_> {
    type Ok = ();
    type Error = DocumentError;

    /// A number or a bool is written as its text, as serde_json does.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.entry = wire::open(self.out, wire::ENTRY);
        let start = self.out.len();
        key.serialize(Writer(self.out))?;
        // Almost every key is a string. As a key, it differs in its first byte alone.
        if let [wire::STRING, length, ..] = self.out[start..]
            && length > 0
        {
            self.out[start] = wire::ENTRY_KEY;
            return Ok(());
        }
        let text = match Kind::of(&self.out[start..])? {
            Kind::String(_) => String::new(),
            Kind::Number(number) => number.to_string(),
            Kind::Bool(value) => value.to_string(),
            Kind::Null | Kind::Struct(_) | Kind::List(_) => {
                return Err(DocumentError::new("the key of an object must be a string"));
            }
        };
        self.out.truncate(start);
        wire::put_text_key(self.out, &text);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let key = self.entry..self.out.len();
        self.value(value)
            .map_err(|error| match Fields(&self.out[key]).next() {
                Ok(Some((_, Payload::Bytes(key)))) => error.in_field(&String::from_utf8_lossy(key)),
                _ => error.in_field(""),
            })
    }

    fn end(self) -> Result<()> {
        self.close();
        Ok(())
    }
}

/// Implements serde's traits for a writer by one of its methods. A row has a trait and the trait's method, with `key` if serde passes a key.
macro_rules! collections {
    ($($writer:ident $part:ident: $($trait:ident $method:ident($($key:ident)?)),*;)*) => {$($(
        impl $trait for $writer<'_> {
            type Ok = ();
            type Error = DocumentError;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<()> {
                self.$part($($key,)? value)
            }

            fn end(self) -> Result<()> {
                self.close();
                Ok(())
            }
        }
    )*)*};
}

collections! {
    FieldsWriter field:
        SerializeStruct serialize_field(key),
        SerializeStructVariant serialize_field(key);
    ItemsWriter item:
        SerializeSeq serialize_element(),
        SerializeTuple serialize_element(),
        SerializeTupleStruct serialize_field(),
        SerializeTupleVariant serialize_field();
}
