//! Cron schedules.

use c5c3_api::parts::{Schedule, schedule::Fields};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A cron schedule in UTC. If both the day of the month and the day of the week are restricted, one of them must match, as for a
/// CronJob (`dayMatches` of github.com/robfig/cron/v3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron(Fields);

/// The longest interval of a schedule in days: the 29th of February, across a year such as 2100 that isn't a leap year.
const LONGEST: usize = 8 * 366;

impl Cron {
    /// Parses the schedule of a resource. A validated schedule always parses.
    pub fn of(schedule: &Schedule) -> Option<Self> {
        schedule.fields().map(Self)
    }

    /// Parses a schedule.
    pub fn parse(text: &str) -> Option<Self> {
        Self::of(&text.parse().ok()?)
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
        let Self(fields) = self;
        let weekday = fields.weekdays.has(date.weekday().to_sunday_zero_offset());
        let day = fields.days.has(date.day());
        let days = match fields.days.is_any || fields.weekdays.is_any {
            true => day && weekday,
            false => day || weekday,
        };
        days && fields.months.has(date.month())
    }

    fn has_minute(&self, minute: u16) -> bool {
        self.0.hours.has((minute / 60) as i8) && self.0.minutes.has((minute % 60) as i8)
    }
}

fn minute_of_day(time: DateTime) -> u16 {
    u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs())
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
    #[case("0 0 */2 * 1", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")]
    #[case("0 0 */1 * 1", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z")]
    #[case("0 0 *,5 * 1", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z")]
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
