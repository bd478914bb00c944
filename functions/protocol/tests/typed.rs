//! Documents read into and written from types, as serde_json would do it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use function_protocol::{Document, DocumentError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cluster<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    workers: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    sizes: BTreeMap<u16, i8>,
    #[serde(default)]
    flags: BTreeMap<bool, ()>,
    #[serde(default)]
    pools: Vec<Pool>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Pool {
    None,
    Named(String),
    Range(u8, u8),
    Ceph { osds: i64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Shared,
    Dedicated,
}

fn cluster() -> Cluster<'static> {
    Cluster {
        name: "eu-de-1".into(),
        workers: 3,
        ratio: Some(2.0),
        labels: [("tier".into(), "gold".into())].into(),
        sizes: [(1, -1), (2, -2)].into(),
        flags: [(true, ())].into(),
        pools: vec![
            Pool::None,
            Pool::Named("a".into()),
            Pool::Range(1, 2),
            Pool::Ceph { osds: -9 },
        ],
    }
}

fn read<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<T, String> {
    let message = |error: DocumentError| error.to_string();
    Document::from_value(value)
        .map_err(message)?
        .parse()
        .map_err(message)
}

fn refusal<T: for<'de> Deserialize<'de> + std::fmt::Debug>(value: &Value) -> String {
    read::<T>(value).err().unwrap_or_default()
}

fn refusal_to_write(value: &impl Serialize) -> String {
    Document::from_value(value)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn a_type_comes_back_and_its_json_is_that_of_serde_json() {
    let document = Document::from_value(&cluster()).unwrap();
    assert_eq!(document.parse::<Cluster>().unwrap(), cluster());
    // serde_json keeps the fraction of 2.0, the wire cannot.
    let mut expected = serde_json::to_value(cluster()).unwrap();
    expected["ratio"] = json!(2);
    assert_eq!(document.parse::<Value>().unwrap(), expected);
}

#[test]
fn strings_are_borrowed() {
    let document = Document::from_value(&cluster()).unwrap();
    let name = document.parse::<Cluster>().unwrap().name;
    assert!(matches!(name, Cow::Borrowed("eu-de-1")));
}

#[test]
fn numbers() {
    assert_eq!(
        read(&json!({"n": 3})),
        Ok(BTreeMap::from([("n".to_owned(), json!(3))]))
    );
    assert_eq!(
        read(&json!({"n": -3})),
        Ok(BTreeMap::from([("n".to_owned(), -3_i32)]))
    );
    assert_eq!(
        read(&json!({"n": 3})),
        Ok(BTreeMap::from([("n".to_owned(), 3.0_f32)]))
    );
    assert_eq!(
        read(&json!({"n": 9_007_199_254_740_992_u64})),
        Ok(BTreeMap::from([("n".to_owned(), 1_u64 << 53)]))
    );
    assert_eq!(
        read(&json!({"n": 1e300})),
        Ok(BTreeMap::from([("n".to_owned(), json!(1e300))]))
    );
    assert_eq!(
        refusal::<BTreeMap<String, u64>>(&json!({"n": 1e300})),
        "n: invalid type: number `1e300`, expected u64".to_owned()
    );
}

#[test]
fn a_refusal_says_where() {
    let cases = [
        (
            json!({"name": "a", "workers": "x"}),
            "workers: invalid type: string \"x\", expected u32",
        ),
        (
            json!({"name": "a", "workers": -1}),
            "workers: invalid value: integer `-1`, expected u32",
        ),
        (
            json!({"name": "a", "workers": 1.5}),
            "workers: invalid type: number `1.5`, expected u32",
        ),
        (
            json!({"name": "a", "workers": null}),
            "workers: invalid type: null, expected u32",
        ),
        (json!({"name": "a"}), "missing field `workers`"),
        (
            json!({"name": "a", "workers": 1, "pools": ["none", {"ceph": {"osds": true}}]}),
            "pools[1].ceph.osds: invalid type: boolean `true`, expected i64",
        ),
        (
            json!({"name": "a", "workers": 1, "pools": [{"range": [1, 2], "named": "b"}]}),
            "pools[0]: invalid type: map, expected a string or an object with one field",
        ),
        (
            json!({"name": "a", "workers": 1, "pools": ["nine"]}),
            "pools[0]: unknown value: string \"nine\", expected one of none, named, range, ceph",
        ),
        (
            json!({"name": "a", "workers": 1, "sizes": {"x": 1}}),
            "sizes.x: invalid type: string \"x\", expected an integer",
        ),
        (
            json!({"name": "a", "workers": 1, "sizes": {"1": 1e9}}),
            "sizes.1: invalid value: integer `1000000000`, expected i8",
        ),
        (
            json!({"name": "a", "workers": 1, "labels": []}),
            "labels: invalid type: sequence, expected a map",
        ),
    ];
    for (value, message) in cases {
        let document = Document::from_value(&value).unwrap();
        assert_eq!(
            document.parse::<Cluster>().unwrap_err().to_string(),
            message,
            "{value}"
        );
    }
}

#[test]
fn a_long_string_is_not_repeated_in_a_refusal() {
    let secret = "s".repeat(65);
    let message = refusal::<BTreeMap<String, u32>>(&json!({"password": secret}));
    assert_eq!(
        message,
        "password: invalid type: string of 65 bytes, expected u32"
    );
    let message = refusal::<BTreeMap<String, Mode>>(&json!({"mode": secret}));
    assert_eq!(
        message,
        "mode: unknown value: string of 65 bytes, expected one of shared, dedicated"
    );
}

#[test]
fn a_document_does_not_show_what_it_holds() {
    let document = Document::from_value(&json!({"password": "hunter2"})).unwrap();
    assert_eq!(format!("{document:?}"), "Document(23 bytes)");
}

#[test]
fn what_json_in_protobuf_cannot_hold_is_refused() {
    let cases: [(String, &str); 8] = [
        (
            refusal_to_write(&json!({"a": [0, 9_007_199_254_740_993_u64]})),
            "a[1]: 9007199254740993 is beyond 2^53",
        ),
        (
            refusal_to_write(&json!({"a": {"b": i64::MIN}})),
            "a.b: -9223372036854775808 is beyond 2^53",
        ),
        (
            refusal_to_write(&BTreeMap::from([("n", u128::MAX)])),
            "n: 170141183460469231731687303715884105727 is beyond",
        ),
        (
            refusal_to_write(&BTreeMap::from([("n", f64::NAN)])),
            "n: NaN is not a number that JSON has",
        ),
        (
            refusal_to_write(&BTreeMap::from([("n", f32::INFINITY)])),
            "n: inf is not a number that JSON has",
        ),
        (
            refusal_to_write(&BTreeMap::from([([1_u8], 1)])),
            "the key of an object must be a string",
        ),
        (
            refusal_to_write(&["not an object"]),
            "a document must be an object",
        ),
        (refusal_to_write(&()), "a document must be an object"),
    ];
    for (message, expected) in cases {
        assert!(
            message.starts_with(expected),
            "{message} should start with {expected}"
        );
    }
}

#[test]
fn an_absent_or_null_option_is_none() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Optional {
        a: Option<u8>,
        b: Option<u8>,
        c: Option<u8>,
    }
    let expected = Optional {
        a: None,
        b: None,
        c: Some(1),
    };
    assert_eq!(read(&json!({"b": null, "c": 1})), Ok(expected));
}

#[test]
fn a_field_that_nobody_knows_is_refused_where_that_is_asked_for() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Outer {
        inner: Inner,
    }
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Inner {
        #[serde(default)]
        known: u8,
    }
    let document =
        Document::from_value(&json!({"inner": {"known": 1, "knwon": {"deep": [2]}}})).unwrap();
    assert_eq!(
        document.parse::<Outer>().unwrap(),
        Outer {
            inner: Inner { known: 1 }
        }
    );
    let error = document.parse_strictly::<Outer>().unwrap_err();
    assert_eq!(error.to_string(), "inner.knwon: unknown field");
}
