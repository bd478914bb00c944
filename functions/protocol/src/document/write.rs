//! From serde's types to the wire.

mod collections;

use serde::ser::{Serialize, Serializer};

use super::number::{exact, finite};
use super::wire::{self, Fields, Payload};
use super::{DocumentError, Result};
use collections::{FieldsWriter, ItemsWriter};

/// The entries of a value that is an object.
pub(super) fn entries<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
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
    fn integer(self, value: i128) -> Result<()> {
        self.number(exact(value)?)
    }

    fn number(self, value: f64) -> Result<()> {
        self.0.push(wire::NUMBER);
        self.0.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn null(self) -> Result<()> {
        self.0.extend_from_slice(&[wire::NULL, 0]);
        Ok(())
    }
}

macro_rules! integers {
    ($($method:ident $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<()> {
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

    fn serialize_u128(self, value: u128) -> Result<()> {
        self.integer(i128::try_from(value).unwrap_or(i128::MAX))
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        self.number(finite(value)?)
    }

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.0.extend_from_slice(&[wire::BOOL, value.into()]);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        wire::put_bytes(self.0, wire::STRING, value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<()> {
        Err(DocumentError::new(
            "JSON has no bytes; write them as a string",
        ))
    }

    fn serialize_none(self) -> Result<()> {
        self.null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.null()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.null()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let mut fields = FieldsWriter::open(self.0, None);
        fields.field(variant, value)?;
        fields.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ItemsWriter<'a>> {
        Ok(ItemsWriter::open(self.0, None))
    }

    fn serialize_tuple(self, _: usize) -> Result<ItemsWriter<'a>> {
        Ok(ItemsWriter::open(self.0, None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ItemsWriter<'a>> {
        Ok(ItemsWriter::open(self.0, None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ItemsWriter<'a>> {
        Ok(ItemsWriter::open(self.0, Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<FieldsWriter<'a>> {
        Ok(FieldsWriter::open(self.0, None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<FieldsWriter<'a>> {
        Ok(FieldsWriter::open(self.0, None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<FieldsWriter<'a>> {
        Ok(FieldsWriter::open(self.0, Some(variant)))
    }
}
