//! Parts that are written as texts: what Rust reads is what the API server takes.

use std::fmt::Display;
use std::str::FromStr;

use c5c3_api::{
    parts::{HostPort, Quantity, Resources, Schedule, Size},
    schema,
};
use regex::Regex;
use schemars::JsonSchema;
use serde_json::json;

/// Reads each text as Rust and as the schema does; what is taken is written as it was read.
fn assert_reads<T: JsonSchema + FromStr + Display>(taken: &[&str], refused: &[&str]) {
    let schema = schema::structural::<T>();
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    let longest = schema["maxLength"].as_u64().unwrap() as usize;
    for text in taken {
        let read = text.parse::<T>().ok().map(|read| read.to_string());
        assert_eq!(read.as_deref(), Some(*text));
        assert!(pattern.is_match(text), "{text:?} in the schema");
        assert!(text.len() <= longest, "{text:?} is too long");
    }
    for text in refused {
        assert!(text.parse::<T>().is_err(), "{text:?}");
        assert!(!pattern.is_match(text), "{text:?} in the schema");
    }
}

#[test]
fn servers() {
    assert_reads::<HostPort>(
        &[
            "rabbitmq-0.rabbitmq:5672",
            "external-rmq",
            "10.0.0.1:11211",
            "[2001:db8::1]:5672",
            "[::ffff:10.0.0.1]",
            "a:1",
            "a:65535",
        ],
        &[
            "",
            ":5672",
            "a:",
            "a:0",
            "a:05672",
            "a:65536",
            "a:99999",
            "a:b",
            "a:1:2",
            "2001:db8::1",
            "[]:1",
            "[a.b]:1",
            "[::1",
            "[::1]1",
            "-a:1",
            "a-:1",
            "a_b:1",
            "amqp://a:1",
            "a b",
            "a:1\n",
        ],
    );
    let server: HostPort = "[2001:db8::1]:5672".parse().unwrap();
    assert_eq!((server.host(), server.port()), ("2001:db8::1", Some(5672)));
    let error = "a:0".parse::<HostPort>().unwrap_err().to_string();
    assert!(
        error.starts_with("\"a:0\" is not a valid server: write host:port"),
        "{error}"
    );
}

#[test]
fn every_port() {
    let schema = schema::structural::<HostPort>();
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    for port in 0..70_000 {
        let text = format!("a:{port}");
        let taken = (1..=65_535).contains(&port);
        assert_eq!(text.parse::<HostPort>().is_ok(), taken, "{text}");
        assert_eq!(pattern.is_match(&text), taken, "{text} in the schema");
    }
}

#[test]
fn sizes() {
    assert_reads::<Size>(
        &["1Mi", "512Mi", "100Gi", "2Ti", "500M", "20G", "999999T"],
        &[
            "",
            "100",
            "0Gi",
            "-1Gi",
            "1.5Gi",
            "01Gi",
            "1Ki",
            "1Pi",
            "1gi",
            "1 Gi",
            "1GiB",
            "1000000Ti",
            "Gi",
        ],
    );
    let bytes = |text: &str| text.parse::<Size>().unwrap().bytes();
    assert_eq!(bytes("1Gi"), 1_073_741_824);
    assert_eq!(bytes("1G"), 1_000_000_000);
    assert_eq!(bytes("999999Ti"), 999_999 * 1_099_511_627_776);
}

#[test]
fn requests_above_limits_are_found_with_their_field() {
    let problem = |spec| Resources::problem_within(&spec, "spec");
    let database =
        json!({ "requests": { "memory": "8Gi", "cpu": 2 }, "limits": { "memory": "4Gi" } });
    assert_eq!(
        problem(json!({ "infrastructure": { "mariadb": { "resources": database } } })).as_deref(),
        Some(
            "spec.infrastructure.mariadb.resources: requests.memory 8Gi is above limits.memory 4Gi: raise the limit or lower the request"
        )
    );
    let cell = json!({ "requests": { "cpu": 4 }, "limits": { "cpu": "500m" } });
    assert_eq!(
        problem(json!({ "cells": [{}, { "conductor": { "resources": cell } }] })).as_deref(),
        Some(
            "spec.cells[1].conductor.resources: requests.cpu 4 is above limits.cpu 500m: raise the limit or lower the request"
        )
    );
    for taken in [
        json!({ "requests": { "cpu": 2 } }),
        json!({ "limits": { "cpu": 2 } }),
        json!({ "requests": { "cpu": 2, "memory": "1.1G" }, "limits": { "cpu": "2000m", "memory": "1100M" } }),
        json!({ "requests": "many", "limits": "few" }),
        json!(null),
    ] {
        assert_eq!(problem(json!({ "resources": taken })), None, "{taken}");
    }
}

#[test]
fn quantities() {
    assert_reads::<Quantity>(
        &[
            "0", "1", "250m", "0.5", "1.25Gi", "512Mi", "1k", "1E", "2Ei", "1e9", "1.5E09",
        ],
        &[
            "", "-1", "+1", ".5", "1.", "1..5", "1mi", "1K", "1e", "1e123", "1e-3", "1e3Mi",
            "1 Gi", "m",
        ],
    );
    let number: Quantity = serde_json::from_value(json!(2)).unwrap();
    assert_eq!(number.as_str(), "2");
    assert!(serde_json::from_value::<Quantity>(json!(0.5)).is_err());
    assert!(serde_json::from_value::<Quantity>(json!(true)).is_err());
    let amount = |text: &str| text.parse::<Quantity>().unwrap().amount();
    assert_eq!(amount("500Ti"), 500.0 * 1024_f64.powi(4));
    assert_eq!(amount("1.5T"), 1.5e12);
    assert_eq!(amount("7"), 7.0);
    assert_eq!(amount("250m"), 0.25);
    assert_eq!(amount("1.5e3"), 1500.0);
    assert_eq!(amount("1E"), 1e18);
    let bytes = |text: &str| text.parse::<Quantity>().unwrap().bytes();
    for text in [
        "8Gi",
        "8192Mi",
        "8388608Ki",
        "8589934592",
        "8589934592000m",
        "8.589934592G",
        "8.589934592e9",
    ] {
        assert_eq!(bytes(text), 8 << 30, "{text}");
    }
    assert_eq!(bytes("7.5Gi"), 15 << 29);
}

#[test]
fn schedules() {
    assert_reads::<Schedule>(
        &[
            "0 2 * * *",
            "0 0 * * 0",
            "*/5 * * * *",
            "0,15,30,45 8-18/2 1 jan-mar mon-fri",
            "59 23 31 12 6",
            "05 09 01 02 00",
            "* * * * *",
            "@daily",
            "@hourly",
        ],
        &[
            "",
            "0 2 * *",
            "0 2 * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 0 *",
            "* * * 13 *",
            "* * * * 7",
            "* * * * funday",
            "* * mon * *",
            "*/0 * * * *",
            "*/ * * * *",
            "1- * * * *",
            "1-2-3 * * * *",
            ", * * * *",
            "0  2 * * *",
            " 0 2 * * *",
            "0 2 * * * ",
            "0 2 * * *\n",
            "@sometimes",
            "@every 1h",
            "weekly",
        ],
    );
}

#[test]
fn every_number_of_a_schedule() {
    let schema = schema::structural::<Schedule>();
    let pattern = Regex::new(schema["pattern"].as_str().unwrap()).unwrap();
    for number in 0..=120 {
        for text in [
            format!("{number} * * * *"),
            format!("* {number} * * *"),
            format!("* * {number} * *"),
            format!("* * * {number} *"),
            format!("* * * * {number}"),
            format!("*/{number} * * * *"),
            format!("{number:02}-59 * * * *"),
        ] {
            let taken = text.parse::<Schedule>().is_ok();
            assert_eq!(taken, pattern.is_match(&text), "{text:?}");
        }
    }
}
