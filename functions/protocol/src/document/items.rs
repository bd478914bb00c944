//! Lists of which only some items are read.

use memchr::memmem::Finder;
use serde::Deserialize;

use super::read::{self, Unknown};
use super::wire::{Fields, Kind};
use super::{Document, DocumentError};

/// The items of a list, one after another. An item that isn't parsed is skipped by its length.
pub struct Items<'de> {
    /// The names of the fields that lead to the list.
    path: &'de [&'de str],
    unread: Fields<'de>,
    index: usize,
}

/// An item of a list.
#[derive(Clone, Copy)]
pub struct Item<'de> {
    path: &'de [&'de str],
    index: usize,
    value: &'de [u8],
}

impl Document {
    /// The items of the list to which the fields of these names lead. There are none where one of the fields is missing.
    ///
    /// # Errors
    /// The document is malformed on the way to the list, or has something else than an object or the list there.
    pub fn items<'de>(&'de self, path: &'de [&'de str]) -> Result<Items<'de>, DocumentError> {
        let mut found = Kind::Struct(&self.entries);
        for (depth, name) in path.iter().enumerate() {
            let (above, through) = (&path[..depth], &path[..=depth]);
            let value = match found {
                Kind::Struct(entries) => last(Fields(entries), name),
                other => Err(read::unexpected(other, &"an object")),
            };
            let Some(value) = value.map_err(|error| within(error, above))? else {
                return Ok(Items::of(&[], path));
            };
            found = Kind::of(value).map_err(|error| within(error, through))?;
        }
        match found {
            Kind::List(items) => Ok(Items::of(items, path)),
            other => Err(within(read::unexpected(other, &"a list"), path)),
        }
    }
}

impl<'de> Items<'de> {
    fn of(items: &'de [u8], path: &'de [&'de str]) -> Self {
        Self {
            path,
            unread: Fields(items),
            index: 0,
        }
    }

    /// The items in which a text is, without parsing the others: a string has its own bytes on the wire. The text may be in any
    /// field, and the bytes may be part of another string or of none.
    pub fn mentioning(
        mut self,
        text: &str,
    ) -> impl Iterator<Item = Result<Item<'de>, DocumentError>> {
        let text = Finder::new(text);
        std::iter::from_fn(move || {
            let unread = self.unread.0;
            let from_text_on = unread.len() - text.find(unread)?;
            loop {
                let item = self.next()?;
                if item.is_err() || self.unread.0.len() < from_text_on {
                    return Some(item);
                }
            }
        })
    }
}

impl<'de> Iterator for Items<'de> {
    type Item = Result<Item<'de>, DocumentError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.unread.next_message().map(|value| {
            value.map(|value| Item {
                path: self.path,
                index: self.index,
                value,
            })
        });
        self.index += 1;
        if item.is_err() {
            self.unread = Fields(&[]);
        }
        item.map_err(|error| within(error, self.path)).transpose()
    }
}

impl<'de> Item<'de> {
    /// Reads the item, as [`Document::parse`] does.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn parse<T: Deserialize<'de>>(&self) -> Result<T, DocumentError> {
        let parsed = Kind::of(self.value).and_then(|kind| read::value(kind, Unknown::Skipped));
        parsed.map_err(|error| within(error.in_item(self.index), self.path))
    }
}

/// The value of a field. The last one counts of several.
fn last<'de>(mut fields: Fields<'de>, name: &str) -> Result<Option<&'de [u8]>, DocumentError> {
    let mut found = None;
    while let Some(entry) = fields.next_entry()? {
        if entry.key == name.as_bytes() {
            found = Some(entry.value);
        }
    }
    Ok(found)
}

fn within(error: DocumentError, path: &[&str]) -> DocumentError {
    let fields = path.iter().rev();
    fields.fold(error, |error, field| error.in_field(field))
}
