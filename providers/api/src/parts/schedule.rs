//! When something is done again and again.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::rule::Rule;
use crate::text::textual;

/// What a schedule is written as.
const FORM: &str = "minute, hour, day of the month, month and day of the week (0 to 6, from Sunday) as cron takes them, for instance \
                    0 2 * * *";

/// The dates that are in no month. Other schedules that are never due, such as those of a range that ends before it starts, are for the
/// operators to find. What was stored before the rule existed stays writable.
const NEVER_DUE: Rule = Rule::with_optional_old(
    "oldSelf.orValue('') == self || !self.matches('^[^ ]+ [^ ]+ (3[01](,3[01])* (0?2|feb)|\
     31(,31)* (0?[2469]|11|feb|apr|jun|sep|nov)(,(0?[2469]|11|feb|apr|jun|sep|nov))*) [*]$')",
    "the schedule is never due, since none of its months has the day: set another day or month, for instance 0 2 1 * *",
);

/// A schedule in cron's form, as a CronJob takes it: minute, hour, day of the month, month, day of the week, or `@daily`
/// and its like (<https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax>).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule(String);

/// Names of schedules, and what they stand for.
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
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

/// The numbers of one field of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    bits: u64,
    /// Whether one of the ranges is `*`, which Kubernetes doesn't count as a restriction. `*/2` is one.
    pub is_any: bool,
    is_reversed: bool,
}

impl Numbers {
    /// Whether the field has this number.
    pub fn has(self, number: i8) -> bool {
        self.bits >> number.unsigned_abs() & 1 == 1
    }
}

/// The fields of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// From 0 to 59.
    pub minutes: Numbers,
    /// From 0 to 23.
    pub hours: Numbers,
    /// Days of the month, from 1 to 31.
    pub days: Numbers,
    /// From 1 to 12.
    pub months: Numbers,
    /// Days of the week, from 0, which is Sunday, to 6.
    pub weekdays: Numbers,
}

impl Fields {
    /// Whether one of the ranges ends before it starts, which a CronJob can't have, whatever the others are (`getRange` of
    /// github.com/robfig/cron/v3).
    pub fn has_reversed_range(self) -> bool {
        let fields = [
            self.minutes,
            self.hours,
            self.days,
            self.months,
            self.weekdays,
        ];
        fields.iter().any(|numbers| numbers.is_reversed)
    }

    /// Whether there is a time at which the schedule is due. There is none on the 30th of February, or where each range of a field ends
    /// before it starts.
    pub fn is_ever_due(self) -> bool {
        const LENGTHS: [i8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let is_weekday = (0..7).any(|day| self.weekdays.has(day));
        let has_day = |length| (1..=length).any(|day| self.days.has(day));
        let is_either = !self.days.is_any && !self.weekdays.is_any;
        let mut months = (1..).zip(LENGTHS);
        let has_date = months.any(|(month, length)| {
            self.months.has(month)
                && match is_either {
                    true => is_weekday || has_day(length),
                    false => is_weekday && has_day(length),
                }
        });
        let has_time = (0..24).any(|hour| self.hours.has(hour))
            && (0..60).any(|minute| self.minutes.has(minute));
        has_date && has_time
    }
}

impl Field {
    /// Parses a list of ranges, each with a step or without. A range whose end is before its start has no numbers.
    fn parse(&self, text: &str) -> Option<Numbers> {
        let mut numbers = Numbers::default();
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                Some((range, step)) if !step.starts_with('0') => (range, Some(number(step)?)),
                Some(_) => return None,
                None => (part, None),
            };
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (self.number(first)?, self.number(last)?),
                None if range == "*" => (self.0, self.1),
                // A step without an end, such as 5/15, continues to the highest number.
                None if step.is_some() => (self.number(range)?, self.1),
                None => (self.number(range)?, self.number(range)?),
            };
            let step = step.unwrap_or(1);
            numbers.is_reversed |= first > last;
            numbers.is_any |= range == "*" && step == 1;
            for number in (first..=last).step_by(step.into()) {
                numbers.bits |= 1 << number;
            }
        }
        Some(numbers)
    }

    fn number(&self, text: &str) -> Option<u8> {
        let named = self.3.iter().zip(self.0..).find(|(name, _)| **name == text);
        let number = named.map_or_else(|| number(text), |(_, number)| Some(number))?;
        (self.0..=self.1).contains(&number).then_some(number)
    }

    fn pattern(&self) -> String {
        let names: String = self.3.iter().map(|name| format!("|{name}")).collect();
        let value = format!("({}{names})", self.2);
        let part = format!(r"(\*|{value}(-{value})?)(/[1-9][0-9]?)?");
        format!("{part}(,{part})*")
    }
}

/// One or two digits.
fn number(text: &str) -> Option<u8> {
    let is_number = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn parse(text: &str) -> Option<Fields> {
    let named = MACROS.iter().find(|(name, _)| *name == text);
    let text = named.map_or(text, |(_, text)| text);
    let [minutes, hours, days, months, weekdays] = text.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let [minute, hour, day, month, weekday] = &FIELDS;
    Some(Fields {
        minutes: minute.parse(minutes)?,
        hours: hour.parse(hours)?,
        days: day.parse(days)?,
        months: month.parse(months)?,
        weekdays: weekday.parse(weekdays)?,
    })
}

impl Schedule {
    fn parse(text: &str) -> Option<Self> {
        parse(text).map(|_| Self(text.to_owned()))
    }

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

    /// Parses the fields. A schedule that was read always has them.
    pub fn fields(&self) -> Option<Fields> {
        parse(&self.0)
    }

    /// The schedule, as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

textual!(Schedule, ScheduleError("a valid schedule", FORM), {
    "title": FORM,
    "type": "string",
    "pattern": format!(
        "^({}|{})$",
        MACROS.map(|(name, _)| name).join("|"),
        FIELDS.map(|field| field.pattern()).join(" ")
    ),
    "maxLength": 128,
    "x-kubernetes-validations": [NEVER_DUE],
});
