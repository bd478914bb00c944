//! A document as a field of the protocol's messages.

use prost::bytes::{Buf, BufMut, Bytes};
use prost::encoding::{self, DecodeContext, WireType, skip_field};
use prost::{DecodeError, Message};

use super::{Document, wire};

impl Message for Document {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(&self.entries);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != 1 {
            return skip_field(wire_type, tag, buf, context);
        }
        let mut entry = Bytes::new();
        encoding::bytes::merge(wire_type, &mut entry, buf, context)?;
        wire::put_bytes(&mut self.entries, wire::ENTRY, &entry);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.entries.len()
    }

    fn clear(&mut self) {
        self.entries.clear();
    }
}
