//! Keys of objects are strings; a number or a bool is written as its text, as serde_json does.

use std::fmt::Display;

use serde::ser::{Impossible, Serialize, Serializer};

use super::DocumentError;
use crate::document::wire;

/// Writes the key of one entry.
pub(super) struct KeyWriter<'a>(pub(super) &'a mut Vec<u8>);

impl KeyWriter<'_> {
    fn shown(self, key: impl Display) -> Result<(), DocumentError> {
        self.serialize_str(&key.to_string())
    }
}

fn no_string<T>() -> Result<T, DocumentError> {
    Err(DocumentError::new("the key of an object must be a string"))
}

macro_rules! shown {
    ($($method:ident $type:ty,)*) => {$(
        fn $method(self, key: $type) -> Result<(), DocumentError> {
            self.shown(key)
        }
    )*};
}

macro_rules! refused {
    ($($method:ident($($type:ty),*) $ok:ty;)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<$ok, DocumentError> {
            no_string()
        }
    )*};
}

impl Serializer for KeyWriter<'_> {
    type Ok = ();
    type Error = DocumentError;
    type SerializeSeq = Impossible<(), DocumentError>;
    type SerializeTuple = Impossible<(), DocumentError>;
    type SerializeTupleStruct = Impossible<(), DocumentError>;
    type SerializeTupleVariant = Impossible<(), DocumentError>;
    type SerializeMap = Impossible<(), DocumentError>;
    type SerializeStruct = Impossible<(), DocumentError>;
    type SerializeStructVariant = Impossible<(), DocumentError>;

    fn serialize_str(self, key: &str) -> Result<(), DocumentError> {
        wire::put_text_key(self.0, key);
        Ok(())
    }

    shown! {
        serialize_bool bool,
        serialize_char char,
        serialize_i8 i8,
        serialize_i16 i16,
        serialize_i32 i32,
        serialize_i64 i64,
        serialize_i128 i128,
        serialize_u8 u8,
        serialize_u16 u16,
        serialize_u32 u32,
        serialize_u64 u64,
        serialize_u128 u128,
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), DocumentError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        key: &T,
    ) -> Result<(), DocumentError> {
        key.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, key: &T) -> Result<(), DocumentError> {
        key.serialize(self)
    }

    refused! {
        serialize_f32(f32) ();
        serialize_f64(f64) ();
        serialize_bytes(&[u8]) ();
        serialize_none() ();
        serialize_unit() ();
        serialize_unit_struct(&'static str) ();
        serialize_seq(Option<usize>) Self::SerializeSeq;
        serialize_tuple(usize) Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) Self::SerializeTupleVariant;
        serialize_map(Option<usize>) Self::SerializeMap;
        serialize_struct(&'static str, usize) Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) Self::SerializeStructVariant;
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _key: &T,
    ) -> Result<(), DocumentError> {
        no_string()
    }
}
