//! The bodies of objects in little memory: there are many, each is read only now and then, and most of one is in others of its kind too.

use std::sync::Arc;

use lz4_flex::block::{compress_with_dict, decompress_with_dict};
use serde_json::{Map, Value};

/// The longest sample, in bytes: LZ4 looks no farther back (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>).
const LONGEST: usize = 64 * 1024;

/// The fields of a sample. Others, such as those with the values of Secrets and ConfigMaps, may be secret.
const PUBLIC: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// The dictionary by which bodies of one kind are compressed: one of them, without what may be secret, since that object may be deleted
/// before the sample is.
#[derive(Default)]
pub(crate) struct Sample(Arc<str>);

/// The JSON of an object.
#[derive(Clone)]
pub(crate) struct Body {
    bytes: Arc<[u8]>,
    /// Of the JSON, in bytes.
    length: usize,
    /// By which the bytes were compressed. None: they are the JSON.
    sample: Option<Arc<str>>,
}

impl Body {
    /// Of an object, not compressed yet.
    pub(crate) fn of(object: &Value) -> Self {
        let json = object.to_string().into_bytes();
        Self {
            length: json.len(),
            bytes: json.into(),
            sample: None,
        }
    }

    /// Length of the JSON, in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Compresses it where that makes it shorter.
    pub(crate) fn pack(&mut self, sample: &mut Sample) {
        if self.sample.is_some() {
            return;
        }
        let sample = sample.of(&self.bytes);
        let packed = compress_with_dict(&self.bytes, sample.as_bytes());
        if packed.len() < self.length {
            self.bytes = packed.into();
            self.sample = Some(sample);
        }
    }

    /// The object. None, as if it weren't here, if it can't be decompressed.
    pub(crate) fn value(&self) -> Option<Value> {
        let Some(sample) = &self.sample else {
            return serde_json::from_slice(&self.bytes).ok();
        };
        let json = decompress_with_dict(&self.bytes, self.length, sample.as_bytes());
        serde_json::from_slice(&json.ok()?).ok()
    }

    /// How much memory it takes besides the sample, in bytes.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }
}

impl Sample {
    /// Returns the sample for an object, which becomes the next sample if that is half as long again. Former ones stay in memory as long as
    /// a body needs them: by their lengths, all samples together have less than three times the longest.
    fn of(&mut self, json: &[u8]) -> Arc<str> {
        let longer = self.0.len() * 3 / 2 + 1..LONGEST;
        if longer.contains(&json.len()) {
            let next = public(json);
            if longer.contains(&next.len()) {
                self.0 = next.into();
            }
        }
        Arc::clone(&self.0)
    }
}

/// Returns the JSON of an object without what may be secret.
fn public(json: &[u8]) -> String {
    let mut fields: Map<String, Value> = serde_json::from_slice(json).unwrap_or_default();
    fields.retain(|name, _| PUBLIC.contains(&name.as_str()));
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.shift_remove("annotations");
    }
    Value::Object(fields).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// With so many labels.
    fn object(name: &str, labels: usize) -> Value {
        let labels = (0..labels).map(|label| (format!("example.com/{label}"), json!("the same")));
        let labels: Map<String, Value> = labels.collect();
        json!({ "kind": "Volume", "metadata": { "name": name, "labels": labels }, "data": { "key": name } })
    }

    fn packed(object: &Value, sample: &mut Sample) -> Body {
        let mut body = Body::of(object);
        body.pack(sample);
        body
    }

    #[test]
    fn body_is_read_as_it_was_packed() {
        let mut sample = Sample::default();
        let objects = [
            json!({}),
            object("é", 0),
            object("b", 40),
            object("c", 10_000),
            object("d", 1),
        ];
        let bodies = objects.each_ref().map(|object| packed(object, &mut sample));
        for (mut body, object) in bodies.into_iter().zip(objects) {
            assert_eq!(body.length(), object.to_string().len());
            assert_eq!(body.value(), Some(object.clone()));
            body.pack(&mut sample);
            assert_eq!(body.value(), Some(object));
        }
    }

    #[test]
    fn body_takes_little_memory_beside_another_of_its_kind() {
        let mut sample = Sample::default();
        packed(&object("first", 40), &mut sample);
        let second = packed(&object("second", 40), &mut sample);
        assert!(second.length() > 1000, "{} bytes", second.length());
        assert!(second.size() < 100, "{} bytes", second.size());
    }

    #[test]
    fn sample_has_nothing_that_may_be_secret() {
        let mut sample = Sample::default();
        let secret = json!({
            "kind": "Secret", "metadata": { "name": "a", "annotations": { "note": "s3cret" } },
            "data": { "key": "s3cret" }, "stringData": { "key": "s3cret" }, "binaryData": { "key": "s3cret" },
        });
        packed(&secret, &mut sample);
        assert_eq!(&*sample.0, r#"{"kind":"Secret","metadata":{"name":"a"}}"#);
    }

    #[test]
    fn sample_is_replaced_by_one_that_is_much_longer_and_not_too_long() {
        let mut sample = Sample::default();
        let mut taken = |object: &Value| sample.of(object.to_string().as_bytes());
        let first = taken(&object("a", 40));
        let long_by_its_data = json!({ "data": "x".repeat(5000) });
        for other in [
            object("a", 0),
            object("a", 50),
            object("a", 10_000),
            long_by_its_data,
        ] {
            assert!(Arc::ptr_eq(&first, &taken(&other)));
        }
        let second = taken(&object("a", 100));
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &taken(&object("a", 40))));
    }
}
