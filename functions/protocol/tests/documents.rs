//! Documents against serde_json's values and prost's own encoding.

use function_protocol::Document;
use proptest::prelude::*;
use prost::Message;
use prost_types::value::Kind;
use serde_json::{Map, Value, json};

/// What serde_json has, with objects in the order of their keys and integers that f64 holds.
fn values() -> impl Strategy<Value = Value> {
    let exact = 1_i64 << 53;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-exact..=exact).prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite, with a fraction", |value| value.fract() != 0.0
                && value.is_finite())
            .prop_map(Value::from),
        ".{0,200}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 200, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            objects(inner).prop_map(Value::from),
        ]
    })
}

fn objects(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map(".{0,40}", inner, 0..12)
        .prop_map(|fields| fields.into_iter().collect())
}

fn wire_struct(fields: &Map<String, Value>) -> prost_types::Struct {
    let fields = fields
        .iter()
        .map(|(key, value)| (key.clone(), wire_value(value)))
        .collect();
    prost_types::Struct { fields }
}

fn wire_value(value: &Value) -> prost_types::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(*value),
        Value::Number(value) => Kind::NumberValue(value.as_f64().unwrap_or(f64::NAN)),
        Value::String(value) => Kind::StringValue(value.clone()),
        Value::Array(items) => Kind::ListValue(prost_types::ListValue {
            values: items.iter().map(wire_value).collect(),
        }),
        Value::Object(fields) => Kind::StructValue(wire_struct(fields)),
    };
    prost_types::Value { kind: Some(kind) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_written_is_read(fields in objects(values())) {
        let document = Document::from_value(&fields).unwrap();
        prop_assert_eq!(document.parse::<Map<String, Value>>().unwrap(), fields);
    }

    #[test]
    fn the_bytes_are_those_of_prost(fields in objects(values())) {
        let document = Document::from_value(&fields).unwrap();
        prop_assert_eq!(document.encode_to_vec(), wire_struct(&fields).encode_to_vec());
    }

    #[test]
    fn a_decoded_document_encodes_to_the_same_bytes(fields in objects(values())) {
        let bytes = wire_struct(&fields).encode_to_vec();
        prop_assert_eq!(Document::decode(&*bytes).unwrap().encode_to_vec(), bytes);
    }
}

#[test]
fn a_string_of_every_length_around_a_longer_length_prefix() {
    for length in (0..400).chain(16_200..16_500).chain(2_097_140..2_097_155) {
        let value = json!({"a": {"b": ["x".repeat(length)]}});
        let fields = value.as_object().unwrap();
        let document = Document::from_value(fields).unwrap();
        assert_eq!(
            document.encode_to_vec(),
            wire_struct(fields).encode_to_vec(),
            "{length}"
        );
    }
}
