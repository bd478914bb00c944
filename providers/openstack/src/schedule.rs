//! Cron schedules.

use c5c3_api::parts::{Schedule, schedule::Fields};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use provider_composer::{Failure, Reason};

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

    /// Parses the schedule of a field, which must be due at some time.
    ///
    /// # Errors
    /// The schedule is never due, as on the 30th of February, or has a range that no CronJob may have.
    pub fn of_field(field: &str, schedule: &Schedule) -> Result<Self, Failure> {
        let problem = match schedule.fields() {
            Some(fields) if fields.has_reversed_range() => "has a range that ends before it starts",
            Some(fields) if fields.is_ever_due() => return Ok(Self(fields)),
            _ => "is never due",
        };
        let message = format!(
            "{field} {:?} {problem}: write minute, hour, day of the month, month and day of the week, for instance \"0 2 * * *\"",
            schedule.as_str()
        );
        Err(Failure::new(Reason::Invalid, message))
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

    #[rstest::rstest]
    #[case("0 0 30 2 *", "is never due")]
    #[case("0 0 30-31 feb *", "is never due")]
    #[case("0 0 31 2,4,6,9,11 *", "is never due")]
    #[case("9-3 0 * * *", "has a range that ends before it starts")]
    #[case("0 23-1 * * *", "has a range that ends before it starts")]
    #[case("0 0 20-10 * *", "has a range that ends before it starts")]
    #[case("0 0 * 12-1 *", "has a range that ends before it starts")]
    #[case("0 0 * * fri-mon", "has a range that ends before it starts")]
    #[case("9-3,5 * * * *", "has a range that ends before it starts")]
    #[case("0 0,23-1/2 * * *", "has a range that ends before it starts")]
    #[case("0 0 20-10 * 1", "has a range that ends before it starts")]
    #[case("0 0 1 * fri-mon", "has a range that ends before it starts")]
    fn schedule_of_a_field_that_no_cron_job_may_have_or_is_never_due_is_refused(
        #[case] schedule: &str,
        #[case] problem: &str,
    ) {
        let schedule: Schedule = schedule.parse().unwrap();
        let failure = Cron::of_field("backup.schedule", &schedule).unwrap_err();
        let says = format!("backup.schedule {:?} {problem}: write", schedule.as_str());
        assert!(failure.to_string().starts_with(&says), "{failure}");
    }

    #[rstest::rstest]
    #[case("0 0 29 2 *")]
    #[case("0 0 31 1,2 *")]
    #[case("0 0 30 2 1")]
    #[case("5-5 0 * * *")]
    #[case("55/30 * * * *")]
    #[case("* * * * *")]
    fn schedule_of_a_field_that_is_due_at_some_time_is_taken(#[case] schedule: &str) {
        let schedule: Schedule = schedule.parse().unwrap();
        assert!(Cron::of_field("backup.schedule", &schedule).is_ok());
        assert!(next(schedule.as_str(), "2026-01-01T00:00:00Z").is_some());
    }
}
