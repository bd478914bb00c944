//! Cron schedules.

use c5c3_api::parts::Schedule;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A cron schedule in UTC. If both the day of the month and the day of the week are given, one of them must match (crontab(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    either_day: bool,
}

/// The longest interval of a schedule in days: the 29th of February, across a year such as 2100 that isn't a leap year.
const LONGEST: usize = 8 * 366;

impl Cron {
    /// Parses the schedule of a resource. A validated schedule always parses.
    pub fn of(schedule: &Schedule) -> Option<Self> {
        Self::parse(schedule.as_str())
    }

    /// Parses a schedule.
    pub fn parse(text: &str) -> Option<Self> {
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let [minutes, hours, days, months, weekdays] = text.split(' ').collect::<Vec<_>>()[..]
        else {
            return None;
        };
        Some(Self {
            minutes: bits(minutes, 0, 59, &[])?,
            hours: bits(hours, 0, 23, &[])?,
            days: bits(days, 1, 31, &[])?,
            months: bits(months, 1, 12, &MONTHS)?,
            weekdays: bits(weekdays, 0, 6, &WEEKDAYS)?,
            either_day: !days.starts_with('*') && !weekdays.starts_with('*'),
        })
    }

    /// The first time after another that the schedule is due. `None` if it never is, as on the 30th of February.
    pub fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        let next = moment
            .to_zoned(TimeZone::UTC)
            .datetime()
            .checked_add(1.minute())
            .ok()?;
        let (mut date, mut minute) = (next.date(), minute_of_day(next));
        for _ in 0..LONGEST {
            if self.has_day(date)
                && let Some(found) = (minute..24 * 60).find(|minute| self.has_minute(*minute))
            {
                let time = date.at((found / 60) as i8, (found % 60) as i8, 0, 0);
                return Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp());
            }
            date = date.tomorrow().ok()?;
            minute = 0;
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let day = has(self.days, date.day());
        let days = match self.either_day {
            true => day || weekday,
            false => day && weekday,
        };
        days && has(self.months, date.month())
    }

    fn has_minute(&self, minute: u16) -> bool {
        has(self.hours, (minute / 60) as i8) && has(self.minutes, (minute % 60) as i8)
    }
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

fn minute_of_day(time: DateTime) -> u16 {
    u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs())
}

fn has(bits: u64, number: i8) -> bool {
    bits >> number.unsigned_abs() & 1 == 1
}

/// The numbers of one field, a bit for each.
fn bits(field: &str, lowest: u8, highest: u8, names: &[&str]) -> Option<u64> {
    let number = |text: &str| -> Option<u8> {
        let named = names.iter().position(|name| *name == text);
        let number = match named {
            Some(position) => u8::try_from(position).ok()? + lowest,
            None => text.parse().ok()?,
        };
        (lowest..=highest).contains(&number).then_some(number)
    };
    let mut bits = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (first, last) = match (range, range.split_once('-')) {
            ("*", _) => (lowest, highest),
            (_, Some((first, last))) => (number(first)?, number(last)?),
            // A step without an end, such as 5/15, continues to the highest number.
            (one, None) if part.contains('/') => (number(one)?, highest),
            (one, None) => (number(one)?, number(one)?),
        };
        for number in (first..=last).step_by(step) {
            bits |= 1 << number;
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        let cron = Cron::of(&schedule.parse().unwrap()).unwrap();
        cron.after(after.parse().unwrap())
            .map(|moment| moment.to_string())
    }

    #[rstest::rstest]
    #[case("0 0 * * 0", "2026-11-21T15:00:00Z", "2026-11-22T00:00:00Z")]
    #[case("0 0 * * 0", "2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z")]
    #[case("@hourly", "2026-11-22T00:59:59Z", "2026-11-22T01:00:00Z")]
    #[case("*/20 8-9 * * mon-fri", "2026-11-20T09:41:00Z", "2026-11-23T08:00:00Z")]
    #[case("5/15 * * * *", "2026-11-20T09:41:00Z", "2026-11-20T09:50:00Z")]
    #[case("0 0 29 feb *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z")]
    #[case("0 0 13 * 5", "2026-11-07T00:00:00Z", "2026-11-13T00:00:00Z")]
    #[case("0 0 13 * 5", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z")]
    #[case("30 23 31 12 *", "2026-12-31T23:30:00Z", "2027-12-31T23:30:00Z")]
    fn a_schedule_is_due(#[case] schedule: &str, #[case] after: &str, #[case] due: &str) {
        assert_eq!(next(schedule, after).as_deref(), Some(due));
    }

    #[test]
    fn a_day_that_never_comes_is_never_due() {
        assert_eq!(next("0 0 30 2 *", "2026-01-01T00:00:00Z"), None);
        assert_eq!(next("9-3 0 * * *", "2026-01-01T00:00:00Z"), None);
    }
}
