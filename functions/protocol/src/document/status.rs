//! Documents with a status only, and joining two of them.

use std::collections::BTreeSet;

use super::wire::{self, Entry, Fields, Kind};
use super::{Document, Result};

const STATUS: &[u8] = b"status";

impl Document {
    /// The fields of both. None of them is in both.
    pub(crate) fn joined(mut self, other: Self) -> Self {
        self.entries.extend(other.entries);
        self
    }

    /// `{"status": status}`, on top of what an earlier step wants: all of its fields stay, except those of its status
    /// that are in `status` as well.
    pub(crate) fn with_status(earlier: Option<&Self>, status: &Self) -> Result<Self> {
        let mut entries = Vec::new();
        let mut earlier_status = None;
        let mut fields = Fields(earlier.map_or(&[], |earlier| &earlier.entries));
        while let Some(entry) = fields.next_entry()? {
            if entry.key == STATUS {
                earlier_status = Some(Kind::of(entry.value)?);
            } else {
                copy(&mut entries, entry);
            }
        }

        let entry = wire::open(&mut entries, wire::ENTRY);
        wire::put_bytes(&mut entries, wire::ENTRY_KEY, STATUS);
        let value = wire::open(&mut entries, wire::ENTRY_VALUE);
        let content = wire::open(&mut entries, wire::STRUCT);
        if let Some(Kind::Struct(earlier_status)) = earlier_status {
            let mut replaced = BTreeSet::new();
            let mut fields = Fields(&status.entries);
            while let Some(entry) = fields.next_entry()? {
                replaced.insert(entry.key);
            }
            let mut fields = Fields(earlier_status);
            while let Some(entry) = fields.next_entry()? {
                if !replaced.contains(entry.key) {
                    copy(&mut entries, entry);
                }
            }
        }
        entries.extend_from_slice(&status.entries);
        for start in [content, value, entry] {
            wire::close(&mut entries, start);
        }
        Ok(Self { entries })
    }
}

fn copy(out: &mut Vec<u8>, entry: Entry<'_>) {
    let start = wire::open(out, wire::ENTRY);
    wire::put_bytes(out, wire::ENTRY_KEY, entry.key);
    wire::put_bytes(out, wire::ENTRY_VALUE, entry.value);
    wire::close(out, start);
}
