//! Bytes that no honest encoder writes: an answer, never a panic.

use function_protocol::Document;
use proptest::prelude::*;
use prost::Message;
use prost_types::Struct;
use prost_types::value::Kind;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Deserialize)]
struct Claim {
    #[serde(default)]
    region: String,
    #[serde(default)]
    workers: u32,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, String>,
}

/// The wire form of one field: number, wire type, content.
fn field(number: u8, wire_type: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | wire_type];
    if wire_type == 2 {
        prost::encode_length_delimiter(content.len(), &mut bytes).unwrap_or_default();
    }
    bytes.extend_from_slice(content);
    bytes
}

/// One entry of a Struct, with this Value.
fn entry(key: &str, value: &[u8]) -> Vec<u8> {
    field(
        1,
        2,
        &[field(1, 2, key.as_bytes()), field(2, 2, value)].concat(),
    )
}

fn string(value: &str) -> Vec<u8> {
    field(3, 2, value.as_bytes())
}

fn number(value: f64) -> Vec<u8> {
    field(2, 1, &value.to_le_bytes())
}

fn document(bytes: &[u8]) -> Document {
    Document::decode(bytes).unwrap_or_default()
}

fn refusal(bytes: &[u8]) -> String {
    document(bytes)
        .parse::<Value>()
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

/// `{"a": [[[ ... true ... ]]]}`
fn nested(levels: usize, wrap: fn(&[u8]) -> Vec<u8>) -> Document {
    let innermost = field(4, 0, &[1]);
    document(&entry(
        "a",
        &(0..levels).fold(innermost, |value, _| wrap(&value)),
    ))
}

fn in_list(value: &[u8]) -> Vec<u8> {
    field(6, 2, &field(1, 2, value))
}

fn in_object(value: &[u8]) -> Vec<u8> {
    field(5, 2, &entry("a", value))
}

/// Any bytes, or pieces that look like the wire form, put together at will.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = prop::collection::vec(any::<u8>(), 0..60);
    any_bytes.prop_recursive(12, 200, 6, |inner| {
        let content = prop::collection::vec(inner, 0..6).prop_map(|parts| parts.concat());
        (0_u8..8, prop_oneof![8 => Just(2_u8), 1 => 0_u8..8], content)
            .prop_map(|(number, wire_type, content)| field(number, wire_type, &content))
    })
}

/// An honest document with a few bytes changed.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let honest = json!({
        "region": "eu-de-1",
        "workers": 3,
        "labels": {"tier": "gold", "zone": "a"},
        "list": [null, true, -1.5, "x", [], {}],
    });
    let honest = Document::from_value(&honest)
        .map(|document| document.encode_to_vec())
        .unwrap_or_default();
    let changes = prop::collection::vec((0..honest.len(), any::<u8>()), 0..4);
    changes.prop_map(move |changes| {
        let mut bytes = honest.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes_get_an_answer(bytes in prop_oneof![pieces(), mutated()]) {
        if let Ok(document) = Document::decode(&*bytes) {
            let _ = document.parse::<Value>();
            let _ = document.parse::<Claim>();
            prop_assert!(document.parse::<IgnoredAny>().is_ok());
            for path in [&["list"][..], &["labels", "tier"], &["a", "a"], &[]] {
                let Ok(items) = document.items(path) else { continue };
                for item in items.flatten() {
                    let _ = item.parse::<Value>();
                }
                let Ok(items) = document.items(path) else { continue };
                prop_assert!(items.mentioning("").count() <= bytes.len());
            }
            prop_assert_eq!(Document::decode(&*document.encode_to_vec()).unwrap(), document);
        }
    }

    #[test]
    fn where_prost_has_an_answer_ours_is_the_same(bytes in prop_oneof![pieces(), mutated()]) {
        let (Ok(document), Ok(theirs)) = (Document::decode(&*bytes), Struct::decode(&*bytes)) else { return Ok(()) };
        let Ok(ours) = document.parse::<Value>() else { return Ok(()) };
        prop_assert_eq!(ours, Value::Object(theirs.fields.iter().map(|(key, value)| (key.clone(), json_of(value))).collect()));
    }
}

fn json_of(value: &prost_types::Value) -> Value {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(value)) => json!(value),
        Some(Kind::NumberValue(value)) if value.fract() == 0.0 && value.abs() <= 2_f64.powi(53) => {
            json!(*value as i64)
        }
        Some(Kind::NumberValue(value)) => json!(value),
        Some(Kind::StringValue(value)) => json!(value),
        Some(Kind::ListValue(list)) => list.values.iter().map(json_of).collect(),
        Some(Kind::StructValue(object)) => object
            .fields
            .iter()
            .map(|(key, value)| (key.clone(), json_of(value)))
            .collect(),
    }
}

#[test]
fn nesting_is_read_up_to_a_hundred_levels() {
    assert!(nested(99, in_list).parse::<Value>().is_ok());
    assert!(nested(99, in_object).parse::<Value>().is_ok());
    for levels in [100, 10_000] {
        for wrap in [in_list, in_object] {
            let message = nested(levels, wrap)
                .parse::<Value>()
                .unwrap_err()
                .to_string();
            assert!(
                message.ends_with("nested more than 100 levels deep"),
                "{message}"
            );
        }
    }
}

#[test]
fn what_is_not_asked_for_is_not_read() {
    for levels in [99, 10_000] {
        let document = nested(levels, in_list);
        assert_eq!(document.parse::<Claim>().unwrap().workers, 0);
    }
    let bytes = [
        entry("junk", &string("\u{0}")),
        entry("workers", &number(3.0)),
    ]
    .concat();
    assert_eq!(document(&bytes).parse::<Claim>().unwrap().workers, 3);
}

#[test]
fn numbers_that_json_has_not() {
    assert_eq!(
        refusal(&entry("n", &number(f64::NAN))),
        "n: NaN is not a number that JSON has"
    );
    assert_eq!(
        refusal(&entry("n", &number(f64::NEG_INFINITY))),
        "n: -inf is not a number that JSON has"
    );
    let huge = document(&entry("workers", &number(1e300)));
    assert!(
        huge.parse::<Claim>()
            .unwrap_err()
            .to_string()
            .starts_with("workers: invalid type: number `1e300`")
    );
    assert_eq!(huge.parse::<Value>().unwrap(), json!({"workers": 1e300}));
}

#[test]
fn the_last_of_two_equal_keys_counts() {
    let twice = [
        entry("region", &string("one")),
        entry("workers", &number(1.0)),
        entry("region", &string("two")),
        entry(
            "labels",
            &field(
                5,
                2,
                &[entry("a", &string("x")), entry("a", &string("y"))].concat(),
            ),
        ),
    ];
    let document = document(&twice.concat());
    let claim = document.parse::<Claim>().unwrap();
    assert_eq!(claim.region, "two");
    assert_eq!(claim.workers, 1);
    assert_eq!(claim.labels["a"], "y");
    assert_eq!(
        document.parse::<Value>().unwrap(),
        json!({"region": "two", "workers": 1, "labels": {"a": "y"}})
    );
}

#[test]
fn items_are_those_of_the_last_of_two_equal_keys() {
    let list = |name: &str| field(6, 2, &field(1, 2, &string(name)));
    let bytes = [entry("list", &list("one")), entry("list", &list("two"))].concat();
    let document = document(&bytes);
    let items = document.items(&["list"]).unwrap();
    let items: Result<Vec<String>, _> = items.map(|item| item?.parse()).collect();
    assert_eq!(items.unwrap(), ["two"]);
}

#[test]
fn items_end_where_they_are_cut_off() {
    let list = [field(1, 2, &string("one")), vec![0x0a, 0x09, b'x']].concat();
    let document = document(&entry("list", &field(6, 2, &list)));
    let mut items = document.items(&["list"]).unwrap();
    assert_eq!(items.next().unwrap().unwrap().parse::<&str>(), Ok("one"));
    let error = items.next().unwrap().err().unwrap();
    assert_eq!(
        error.to_string(),
        "list: malformed document: it ends too soon"
    );
    assert!(items.next().is_none());
}

#[test]
fn a_value_without_a_kind_is_null_and_unknown_fields_are_skipped() {
    assert_eq!(
        document(&entry("a", &[])).parse::<Value>().unwrap(),
        json!({"a": null})
    );
    assert_eq!(
        document(&entry("a", &field(9, 2, b"new")))
            .parse::<Value>()
            .unwrap(),
        json!({"a": null})
    );
    let value = [field(7, 0, &[1]), string("x"), field(8, 5, &[0; 4])].concat();
    let bytes = [
        field(2, 2, b"unknown"),
        entry("a", &value),
        field(3, 1, &[0; 8]),
    ]
    .concat();
    assert_eq!(
        document(&bytes).parse::<Value>().unwrap(),
        json!({"a": "x"})
    );
}

#[test]
fn malformed_bytes_are_named() {
    let cases = [
        (
            entry("a", &field(3, 2, &[0xff])),
            "a: malformed document: a string is not UTF-8",
        ),
        (
            entry("a", &field(3, 0, &[1])),
            "a: malformed document: a field has the wrong wire type",
        ),
        (
            entry("a", &[string("x"), string("y")].concat()),
            "a: malformed document: a value has two kinds",
        ),
        (
            entry("a", &[0x1a, 0x09, b'x']),
            "a: malformed document: it ends too soon",
        ),
        (
            entry(
                "a",
                &[
                    0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
                ],
            ),
            "a: malformed document: a number has too many bytes",
        ),
        (
            entry("a", &[0x1b]),
            "a: malformed document: unknown wire type",
        ),
        (
            field(1, 2, &field(1, 0, &[1])),
            "malformed document: a field has the wrong wire type",
        ),
        (
            field(1, 2, &[field(1, 2, b"a"), field(1, 2, b"b")].concat()),
            "malformed document: an entry has two keys or two values",
        ),
    ];
    for (bytes, message) in cases {
        assert_eq!(refusal(&bytes), message);
    }
}

#[test]
fn a_document_that_is_cut_off_is_not_decoded() {
    for bytes in [
        &[0x0a][..],
        &[0x0a, 0x05, 1],
        &[0x08, 0x01],
        &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    ] {
        assert!(Document::decode(bytes).is_err(), "{bytes:?}");
    }
}
