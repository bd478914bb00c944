//! Objects and lists.

use std::collections::BTreeMap;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::keys::KeyReader;
use super::{DocumentError, Keys, Result, Within};
use crate::document::wire::{self, Entry, text};

/// The fields of an object.
pub(super) struct Fields<'de> {
    entries: wire::Fields<'de>,
    /// The value of the key that was read last, and that key.
    pending: Option<Entry<'de>>,
    last: Option<LastEntries<'de>>,
    within: Within,
}

/// For each key, how much of the object is left after its last entry.
struct LastEntries<'de>(BTreeMap<&'de [u8], usize>);

/// The items of a list.
pub(super) struct Items<'de> {
    items: wire::Fields<'de>,
    index: usize,
    within: Within,
}

impl<'de> Fields<'de> {
    pub(super) fn of(entries: &'de [u8], within: Within) -> Result<Self> {
        let entries = wire::Fields(entries);
        let last = match within.keys {
            Keys::Unique => None,
            Keys::LastCounts => Some(LastEntries::of(entries)?),
        };
        Ok(Self {
            entries,
            pending: None,
            last,
            within: within.one_deeper()?,
        })
    }

    pub(super) fn next_entry(&mut self) -> Result<Option<Entry<'de>>> {
        while let Some(entry) = self.entries.next_entry()? {
            if self
                .last
                .as_ref()
                .is_none_or(|last| last.counts(&entry, self.entries))
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    pub(super) fn within(&self) -> Within {
        self.within
    }
}

impl<'de> LastEntries<'de> {
    fn of(mut entries: wire::Fields<'de>) -> Result<Self> {
        let mut last = BTreeMap::new();
        while let Some(entry) = entries.next_entry()? {
            last.insert(entry.key, entries.0.len());
        }
        Ok(Self(last))
    }

    fn counts(&self, entry: &Entry<'de>, rest: wire::Fields<'de>) -> bool {
        self.0.get(entry.key) == Some(&rest.0.len())
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = DocumentError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.pending = self.next_entry()?;
        let Some(entry) = self.pending else {
            return Ok(None);
        };
        let key = text(entry.key)?;
        seed.deserialize(KeyReader(key))
            .map(Some)
            .map_err(|error| error.in_field(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        let entry = self
            .pending
            .take()
            .ok_or_else(|| DocumentError::new("a value was asked for before its key"))?;
        self.within
            .read(entry.value, seed)
            .map_err(|error| match text(entry.key) {
                Ok(key) => error.in_field(key),
                Err(malformed) => malformed,
            })
    }
}

impl<'de> Items<'de> {
    pub(super) fn of(items: &'de [u8], within: Within) -> Result<Self> {
        Ok(Self {
            items: wire::Fields(items),
            index: 0,
            within: within.one_deeper()?,
        })
    }
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = DocumentError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(item) = self.items.next_message()? else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        self.within
            .read(item, seed)
            .map(Some)
            .map_err(|error| error.in_item(index))
    }
}
