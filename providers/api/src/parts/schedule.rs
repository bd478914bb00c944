//! When something is done again and again.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A schedule in cron's form, as a CronJob takes it: minute, hour, day of the month, month, day of the week, or `@daily`
/// and its like (<https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax>).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule(String);

/// Why a text is not a valid schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a valid schedule: write minute, hour, day of the month, month and day of the week as cron takes them, for \
     instance \"0 2 * * *\""
)]
pub struct ScheduleError(String);

const MACROS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// One of the five fields: its lowest and highest number, those numbers as a pattern, and their names.
struct Field(u8, u8, &'static str, &'static [&'static str]);

const FIELDS: [Field; 5] = [
    Field(0, 59, "[0-5]?[0-9]", &[]),
    Field(0, 23, "[01]?[0-9]|2[0-3]", &[]),
    Field(1, 31, "0?[1-9]|[12][0-9]|3[01]", &[]),
    Field(1, 12, "0?[1-9]|1[0-2]", &MONTHS),
    Field(0, 6, "0?[0-6]", &DAYS),
];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Field {
    /// A list of ranges, each with a step or without.
    fn takes(&self, text: &str) -> bool {
        text.split(',').all(|part| {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) => (range, Some(step)),
                None => (part, None),
            };
            let ranged = match range.split_once('-') {
                Some((first, last)) => self.has(first) && self.has(last),
                None => range == "*" || self.has(range),
            };
            ranged && step.is_none_or(|step| is_number(step) && !step.starts_with('0'))
        })
    }

    fn has(&self, text: &str) -> bool {
        let within = |number: u8| (self.0..=self.1).contains(&number);
        self.3.contains(&text) || is_number(text) && text.parse().is_ok_and(within)
    }

    fn pattern(&self) -> String {
        let names: String = self.3.iter().map(|name| format!("|{name}")).collect();
        let value = format!("({}{names})", self.2);
        let part = format!(r"(\*|{value}(-{value})?)(/[1-9][0-9]?)?");
        format!("{part}(,{part})*")
    }
}

/// One or two digits.
fn is_number(text: &str) -> bool {
    (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Schedule {
    /// Every night at two.
    pub(crate) fn nightly() -> Self {
        Self::known("0 2 * * *")
    }

    /// Every Sunday at midnight.
    pub(crate) fn weekly() -> Self {
        Self::known("0 0 * * 0")
    }

    /// A schedule that is known to be one.
    pub(crate) fn known(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// The schedule, as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fields: Vec<_> = text.split(' ').collect();
        let timed = fields.len() == FIELDS.len()
            && FIELDS
                .iter()
                .zip(&fields)
                .all(|(field, text)| field.takes(text));
        match timed || MACROS.contains(&text) {
            true => Ok(Self(text.to_owned())),
            false => Err(ScheduleError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Schedule {
    type Error = ScheduleError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> Self {
        schedule.0
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl JsonSchema for Schedule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Schedule".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fields = FIELDS.map(|field| field.pattern()).join(" ");
        schemars::json_schema!({
            "type": "string",
            "pattern": format!("^({}|{fields})$", MACROS.join("|")),
            "maxLength": 128,
        })
    }
}
