//! Lists of which only some items are read.

use function_protocol::{Document, DocumentError};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

const PATH: [&str; 2] = ["status", "consumers"];

#[derive(Debug, PartialEq, Deserialize)]
struct Named<'a> {
    name: &'a str,
}

fn document(consumers: &Value) -> Document {
    let value =
        json!({"spec": {}, "status": {"phase": "Ready", "consumers": consumers, "zones": []}});
    Document::from_value(&value).unwrap_or_default()
}

fn read(document: &Document) -> Result<Vec<Value>, DocumentError> {
    let items = document.items(&PATH)?;
    items.map(|item| item?.parse()).collect()
}

/// The items in which a text is.
fn mentioning(document: &Document, text: &str) -> Result<Vec<Value>, DocumentError> {
    let items = document.items(&PATH)?.mentioning(text);
    items.map(|item| item?.parse()).collect()
}

fn refusal(value: &Value) -> String {
    let document = Document::from_value(value).unwrap_or_default();
    let refused = read(&document).err();
    refused.map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn items_are_those_of_the_list_at_the_path() {
    let consumers = json!([{"name": "a"}, 1, null, ["x"], "y"]);
    assert_eq!(Value::from(read(&document(&consumers)).unwrap()), consumers);
    assert_eq!(read(&document(&json!([]))), Ok(vec![]));
}

#[test]
fn items_of_a_missing_field_are_none() {
    for value in [
        json!({}),
        json!({"status": {}}),
        json!({"status": {"phase": "x"}}),
    ] {
        let document = Document::from_value(&value).unwrap();
        assert_eq!(read(&document), Ok(vec![]), "{value}");
        assert_eq!(mentioning(&document, "x"), Ok(vec![]), "{value}");
    }
}

#[test]
fn items_of_something_else_are_refused() {
    assert_eq!(
        refusal(&json!({"status": "x"})),
        "status: invalid type: string \"x\", expected an object"
    );
    assert_eq!(
        refusal(&json!({"status": {"consumers": {}}})),
        "status.consumers: invalid type: map, expected a list"
    );
    assert_eq!(
        refusal(&json!({"status": {"consumers": null}})),
        "status.consumers: invalid type: null, expected a list"
    );
}

#[test]
fn an_item_is_refused_with_its_path_and_the_others_are_not_read() {
    let document = document(&json!([{"name": 1}, {"name": "b"}, "c"]));
    let named = |(at, item): (usize, Result<_, DocumentError>)| {
        let item: function_protocol::Item<'_> = item.unwrap();
        let named = item.parse::<Named<'_>>();
        (at, named.map_err(|error| error.to_string()))
    };
    let items = document.items(&PATH).unwrap().enumerate();
    assert_eq!(
        items.map(named).collect::<Vec<_>>(),
        [
            (
                0,
                Err(
                    "status.consumers[0].name: invalid type: integer `1`, expected a borrowed string"
                        .to_owned()
                )
            ),
            (1, Ok(Named { name: "b" })),
            (
                2,
                Err(
                    "status.consumers[2]: invalid type: string \"c\", expected struct Named"
                        .to_owned()
                )
            ),
        ]
    );
    let mut items = document.items(&PATH).unwrap().mentioning("b");
    let only = items.next().unwrap().unwrap();
    assert_eq!(only.parse(), Ok(Named { name: "b" }));
    assert!(items.next().is_none());
}

#[test]
fn item_is_found_wherever_it_is() {
    let names = ["one", "two", "three", "four"];
    let consumers = names.map(|name| json!({"name": name, "namespace": "tenant"}));
    let document = document(&json!(consumers));
    for (name, consumer) in names.into_iter().zip(&consumers) {
        assert_eq!(mentioning(&document, name), Ok(vec![consumer.clone()]));
    }
    assert_eq!(mentioning(&document, "five"), Ok(vec![]));
    assert_eq!(mentioning(&document, "tenant"), Ok(consumers.to_vec()));
    assert_eq!(mentioning(&document, ""), Ok(consumers.to_vec()));
}

/// Texts that are often part of others, and of what is between them on the wire: lengths and keys are control characters.
fn texts() -> impl Strategy<Value = String> {
    "[ab\n\r\u{12}\u{1a}]{0,6}"
}

fn has(value: &Value, text: &str) -> bool {
    let mut fields = value.as_object().into_iter().flatten();
    fields
        .any(|(key, value)| key.contains(text) || value.as_str().unwrap_or_default().contains(text))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn item_that_has_a_text_is_never_missed(
        items in prop::collection::vec(prop::collection::btree_map(texts(), texts(), 0..4), 0..8),
        text in texts(),
    ) {
        let items = json!(items);
        let document = document(&items);
        let all = read(&document).unwrap();
        prop_assert_eq!(&Value::from(all.clone()), &items);
        let having = |values: Vec<Value>| values.into_iter().filter(|value| has(value, &text)).collect::<Vec<_>>();
        prop_assert_eq!(having(mentioning(&document, &text).unwrap()), having(all));
    }
}
