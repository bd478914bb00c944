//! From serde's types to the wire.

mod collections;

use serde::ser::{Serialize, Serializer};

use super::DocumentError;
use super::number::{exact, finite};
use super::wire::{self, Fields, Payload};
use collections::{FieldsWriter, ItemsWriter};

/// The entries of a value that is an object.
pub(super) fn entries<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, DocumentError> {
    let mut out = Vec::new();
    value.serialize(Writer(&mut out))?;
    let content = match Fields(&out).next()? {
        Some((5, Payload::Bytes(content))) => content.len(),
        _ => return Err(DocumentError::new("a document must be an object")),
    };
    out.drain(..out.len() - content);
    Ok(out)
}

/// Writes one `Value`.
struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn integer(self, value: i128) -> Result<(), DocumentError> {
        self.number(exact(value)?)
    }

    fn number(self, value: f64) -> Result<(), DocumentError> {
        self.0.push(wire::NUMBER);
        self.0.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn null(self) -> Result<(), DocumentError> {
        self.0.extend_from_slice(&[wire::NULL, 0]);
        Ok(())
    }
}

macro_rules! integers {
    ($($method:ident $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<(), DocumentError> {
            self.integer(i128::from(value))
        }
    )*};
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = DocumentError;
    type SerializeSeq = ItemsWriter<'a>;
    type SerializeTuple = ItemsWriter<'a>;
    type SerializeTupleStruct = ItemsWriter<'a>;
    type SerializeTupleVariant = ItemsWriter<'a>;
    type SerializeMap = FieldsWriter<'a>;
    type SerializeStruct = FieldsWriter<'a>;
    type SerializeStructVariant = FieldsWriter<'a>;

    integers! {
        serialize_i8 i8,
        serialize_i16 i16,
        serialize_i32 i32,
        serialize_i64 i64,
        serialize_i128 i128,
        serialize_u8 u8,
        serialize_u16 u16,
        serialize_u32 u32,
        serialize_u64 u64,
    }

    fn serialize_u128(self, value: u128) -> Result<(), DocumentError> {
        self.integer(i128::try_from(value).unwrap_or(i128::MAX))
    }

    fn serialize_f32(self, value: f32) -> Result<(), DocumentError> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), DocumentError> {
        self.number(finite(value)?)
    }

    fn serialize_bool(self, value: bool) -> Result<(), DocumentError> {
        self.0.extend_from_slice(&[wire::BOOL, value.into()]);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), DocumentError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), DocumentError> {
        wire::put_bytes(self.0, wire::STRING, value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, _value: &[u8]) -> Result<(), DocumentError> {
        Err(DocumentError::new(
            "JSON has no bytes; write them as a string",
        ))
    }

    fn serialize_none(self) -> Result<(), DocumentError> {
        self.null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), DocumentError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), DocumentError> {
        self.null()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), DocumentError> {
        self.null()
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
        value: &T,
    ) -> Result<(), DocumentError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), DocumentError> {
        let mut fields = FieldsWriter::open(self.0, None);
        fields.field(variant, value)?;
        fields.close();
        Ok(())
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<ItemsWriter<'a>, DocumentError> {
        Ok(ItemsWriter::open(self.0, None))
    }

    fn serialize_tuple(self, _length: usize) -> Result<ItemsWriter<'a>, DocumentError> {
        Ok(ItemsWriter::open(self.0, None))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<ItemsWriter<'a>, DocumentError> {
        Ok(ItemsWriter::open(self.0, None))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<ItemsWriter<'a>, DocumentError> {
        Ok(ItemsWriter::open(self.0, Some(variant)))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<FieldsWriter<'a>, DocumentError> {
        Ok(FieldsWriter::open(self.0, None))
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<FieldsWriter<'a>, DocumentError> {
        Ok(FieldsWriter::open(self.0, None))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<FieldsWriter<'a>, DocumentError> {
        Ok(FieldsWriter::open(self.0, Some(variant)))
    }
}
