//! JSON in little room: there are very many objects, each is looked at only now and then, and most of one is what another of
//! its kind has too.

use std::sync::{Arc, Mutex, PoisonError};

use lz4_flex::block::{compress_with_dict, decompress_with_dict};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longest sample that is kept, in bytes: farther back LZ4 doesn't look
/// (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>).
const LONGEST: usize = 64 * 1024;

/// What objects of one kind look like: the JSON of one of them.
#[derive(Default)]
pub(crate) struct Sample(Mutex<Chosen>);

#[derive(Default)]
struct Chosen {
    /// Without what is worth hiding.
    json: Arc<str>,
    /// Length of the whole object's JSON, in bytes.
    length: usize,
}

/// JSON, as it differs from a sample.
#[derive(Clone)]
pub(crate) struct Packed {
    bytes: Box<[u8]>,
    /// Of the JSON.
    length: usize,
    sample: Arc<str>,
}

impl Sample {
    /// Packs an object of the kind. One that has much more to it than the sample becomes the next.
    pub(crate) fn pack(&self, value: &Value) -> Packed {
        let json = value.to_string();
        let mut chosen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if (chosen.length * 3 / 2 + 1..LONGEST).contains(&json.len()) {
            *chosen = Chosen {
                json: public(value).to_string().into(),
                length: json.len(),
            };
        }
        let sample = chosen.json.clone();
        drop(chosen);
        Packed::of(&json, sample)
    }
}

/// An object without what is worth hiding, which is different in each anyway.
fn public(value: &Value) -> Value {
    let mut public = value.clone();
    if let Some(fields) = public.as_object_mut() {
        fields.shift_remove("data");
    }
    public
}

impl Packed {
    fn of(json: &str, sample: Arc<str>) -> Self {
        Self {
            bytes: compress_with_dict(json.as_bytes(), sample.as_bytes()).into(),
            length: json.len(),
            sample,
        }
    }

    /// Packs something else that looks like it.
    pub(crate) fn again(&self, value: &Value) -> Self {
        Self::of(&value.to_string(), self.sample.clone())
    }

    /// What was packed, as far as it is asked for.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self) -> T {
        let json = decompress_with_dict(&self.bytes, self.length, self.sample.as_bytes());
        let value = json
            .ok()
            .and_then(|json| serde_json::from_slice(&json).ok());
        value.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn volume(name: &str, labels: usize) -> Value {
        let labels: serde_json::Map<String, Value> = (0..labels)
            .map(|label| {
                (
                    format!("example.com/label-{label}"),
                    json!("the same in all"),
                )
            })
            .collect();
        json!({ "kind": "Volume", "metadata": { "name": name, "labels": labels }, "data": { "key": name } })
    }

    #[test]
    fn whatever_was_packed_is_read() {
        let sample = Sample::default();
        let values = [
            json!({}),
            json!("ö"),
            volume("a", 1),
            volume("b", 40),
            volume("c", 4000),
            volume("d", 0),
        ];
        let packed: Vec<Packed> = values.iter().map(|value| sample.pack(value)).collect();
        for (packed, value) in packed.iter().zip(&values) {
            assert_eq!(packed.read::<Value>(), *value);
            assert_eq!(
                packed.again(&json!([value])).read::<Value>(),
                json!([value])
            );
        }
    }

    #[test]
    fn the_second_of_a_kind_takes_little_room() {
        let sample = Sample::default();
        let first = sample.pack(&volume("first", 40));
        let second = sample.pack(&volume("second", 40));
        assert!(second.length > 1500 && second.length == first.length + 2);
        assert!(second.bytes.len() < 100, "{} bytes", second.bytes.len());
    }

    #[test]
    fn a_sample_of_objects_with_much_data_is_kept() {
        let sample = Sample::default();
        let secret = |name: &str| json!({ "metadata": { "name": name }, "data": { "key": "x".repeat(4000) } });
        let first = sample.pack(&secret("first"));
        let second = sample.pack(&secret("second"));
        assert!(Arc::ptr_eq(&first.sample, &second.sample));
        assert!(!first.sample.is_empty());
    }

    #[test]
    fn no_data_is_kept_beyond_its_object() {
        let sample = Sample::default();
        sample.pack(&volume("s3cret", 40));
        let kept = sample.0.lock().unwrap().json.clone();
        assert!(
            kept.contains("label-39") && !kept.contains("\"key\""),
            "{kept}"
        );
    }
}
