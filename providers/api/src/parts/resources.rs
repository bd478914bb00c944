//! CPU and memory of containers.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::is_default;
use crate::{rule::Rule, text::textual};

/// What Kubernetes takes of containers (pkg/apis/core/v1/validation, ValidateContainerResourceName).
const CONTAINER_RESOURCES: Rule = Rule::new(
    "self.all(name, name in ['cpu', 'memory', 'ephemeral-storage'] || name.startsWith('hugepages-') || name.contains('/'))",
    "a container has no such resource: use cpu, memory, ephemeral-storage, hugepages-2Mi and its like, or a name with a domain",
);

/// CPU and memory of a container, by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Resources {
    /// What the scheduler sets aside, for instance cpu 250m and memory 512Mi.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16, "x-kubernetes-validations" = [CONTAINER_RESOURCES]))]
    pub requests: BTreeMap<String, Quantity>,
    /// What a container may not exceed.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("maxProperties" = 16, "x-kubernetes-validations" = [CONTAINER_RESOURCES]))]
    pub limits: BTreeMap<String, Quantity>,
}

/// What a quantity is written as.
const FORM: &str = "a number and a suffix, for instance 250m, 1 or 512Mi";

/// An amount as Kubernetes writes it: a number that isn't negative, with or without a suffix or an exponent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Quantity(String);

/// Kubernetes takes a number without quotes too.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Text(String),
}

/// What each suffix multiplies by (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>).
const SUFFIXES: [(&str, f64); 14] = [
    ("", 1.0),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
];

impl Resources {
    /// What Kubernetes refuses of these amounts, and what to do. Operators and functions find it: up to Kubernetes 1.33 the API server
    /// takes an amount for 3 MB of text, whatever its `maxLength` (<https://github.com/kubernetes/kubernetes/pull/132837>), and refuses
    /// a definition with a rule that reads so much.
    pub fn problem(&self) -> Option<String> {
        let mut above = self.requests.iter().filter_map(|(name, request)| {
            let limit = self.limits.get(name)?;
            request.exceeds(limit).then_some((name, request, limit))
        });
        let (name, request, limit) = above.next()?;
        Some(format!(
            "requests.{name} {request} is above limits.{name} {limit}: raise the limit or lower the request"
        ))
    }

    /// The first problem of all requests and limits below a field, with its path, for instance `spec.api.resources`.
    pub fn problem_within(field: &Value, path: &str) -> Option<String> {
        match field {
            Value::Object(fields) => {
                let resources = match fields.contains_key("requests") {
                    true => Resources::deserialize(field).unwrap_or_default(),
                    false => Resources::default(),
                };
                let problem = resources.problem();
                let problem = problem.map(|problem| format!("{path}: {problem}"));
                problem.or_else(|| {
                    let mut fields = fields.iter();
                    fields.find_map(|(name, field)| {
                        Self::problem_within(field, &format!("{path}.{name}"))
                    })
                })
            }
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(index, item)| {
                    Self::problem_within(item, &format!("{path}[{index}]"))
                })
            }
            _ => None,
        }
    }
}

impl Quantity {
    fn parse(text: &str) -> Option<Self> {
        let is_number = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let (number, suffix) = split(text);
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (number, None),
        };
        let holds = is_number(whole, 18)
            && fraction.is_none_or(|fraction| is_number(fraction, 9))
            && factor(suffix).is_some();
        holds.then(|| Self(text.to_owned()))
    }

    /// The quantity, as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number of units, such as bytes or cores, that the quantity stands for.
    pub fn amount(&self) -> f64 {
        let (number, suffix) = split(&self.0);
        let number: f64 = number.parse().unwrap_or_default();
        number * factor(suffix).unwrap_or(1.0)
    }

    /// Whether the quantity is greater than another one.
    pub fn exceeds(&self, other: &Self) -> bool {
        // One amount may be two numbers that differ in their last digits, such as 1.1G and 1100M.
        self.amount() > other.amount() * (1.0 + 1e-12)
    }

    /// The number of bytes of memory that the quantity stands for, rounded.
    pub fn bytes(&self) -> u64 {
        self.amount().round() as u64
    }
}

/// The number of a quantity, and its suffix.
fn split(text: &str) -> (&str, &str) {
    let is_suffix = |character: char| !character.is_ascii_digit() && character != '.';
    text.split_at(text.find(is_suffix).unwrap_or(text.len()))
}

/// What a suffix or an exponent multiplies by.
fn factor(suffix: &str) -> Option<f64> {
    if let Some((_, factor)) = SUFFIXES.iter().find(|(other, _)| *other == suffix) {
        return Some(*factor);
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let is_exponent = matches!(exponent.len(), 1 | 2);
    let is_exponent = is_exponent && exponent.bytes().all(|byte| byte.is_ascii_digit());
    exponent
        .parse()
        .ok()
        .filter(|_| is_exponent)
        .map(|exponent| 10_f64.powi(exponent))
}

impl TryFrom<Written> for Quantity {
    type Error = QuantityError;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written::Number(number) => number.to_string().parse(),
            Written::Text(text) => text.parse(),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

textual!(Quantity, QuantityError("a valid quantity", FORM), {
    "title": FORM,
    "x-kubernetes-int-or-string": true,
    "pattern": r"^[0-9]{1,18}(\.[0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][0-9]{1,2})?$",
    "maxLength": 32,
});
