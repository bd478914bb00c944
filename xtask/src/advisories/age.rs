//! How long ago each package was looked up.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use jiff::civil::Date;
use serde::Deserialize;

use super::Database;

/// What `package/advisories.yaml` says of when packages of PyPI were looked up by hand.
#[derive(Default, Deserialize)]
pub struct ByHand {
    /// Names, by day.
    #[serde(rename = "lookedUp")]
    looked_up: BTreeMap<String, BTreeSet<String>>,
}

/// The packages of one registry that were looked up last on one day.
#[derive(Debug, PartialEq, Eq)]
pub struct LookUp {
    /// The day.
    day: Date,
    /// Their names, sorted.
    packages: Vec<String>,
}

impl LookUp {
    /// What the user reads, if it is more than so many days ago.
    pub fn outdated(&self, registry: &str, today: Date, days: u32) -> Result<Option<String>> {
        let age = self.day.until(today)?.get_days();
        let count = self.packages.len();
        let packages = if count == 1 { "package" } else { "packages" };
        Ok((i64::from(age) > i64::from(days)).then(|| {
            format!(
                "{}, {age} days ago: {count} {packages} of {registry}\n  {}",
                self.day,
                self.packages.join(" ")
            )
        }))
    }
}

/// The last look-ups, the oldest first: of each package in a database on the day of its newest record, or by hand on a later one.
///
/// # Errors
/// When a day is no date, or a package was looked up by hand that the project doesn't pin.
pub fn look_ups(database: &Database, by_hand: &ByHand) -> Result<Vec<LookUp>> {
    let mut last: BTreeMap<&str, Date> = BTreeMap::new();
    let newest = date(&database.newest)?;
    last.extend(database.affected.keys().map(|name| (name.as_str(), newest)));
    for (day, names) in &by_hand.looked_up {
        let day = date(day)?;
        for name in names {
            let known = last.get_mut(name.as_str()).with_context(|| {
                format!(
                    "lookedUp in package/advisories.yaml has {name}, which isn't pinned: remove it"
                )
            })?;
            *known = day.max(*known);
        }
    }
    let mut days: BTreeMap<Date, Vec<String>> = BTreeMap::new();
    for (name, day) in last {
        days.entry(day).or_default().push(name.to_owned());
    }
    let look_ups = days
        .into_iter()
        .map(|(day, packages)| LookUp { day, packages });
    Ok(look_ups.collect())
}

fn date(text: &str) -> Result<Date> {
    text.parse()
        .with_context(|| format!("{text:?} is not a date"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Database {
        let names = ["flask", "jinja2", "pbr"];
        Database {
            newest: "2024-10-10".to_owned(),
            affected: names.map(|name| (name.to_owned(), BTreeMap::new())).into(),
        }
    }

    fn by_hand(days: &[(&str, &[&str])]) -> ByHand {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let days = days
            .iter()
            .map(|(day, packages)| ((*day).to_owned(), names(packages)));
        ByHand {
            looked_up: days.collect(),
        }
    }

    #[test]
    fn the_last_look_up_of_a_package_counts() -> Result<()> {
        let by_hand = by_hand(&[
            ("2023-01-01", &["pbr"]),
            ("2026-11-24", &["flask", "jinja2"]),
            ("2026-11-25", &["flask"]),
        ]);
        let look_ups = look_ups(&database(), &by_hand)?;
        let found: Vec<_> = look_ups
            .iter()
            .map(|found| (found.day.to_string(), found.packages.join(" ")))
            .collect();
        let expected = [
            ("2024-10-10", "pbr"),
            ("2026-11-24", "jinja2"),
            ("2026-11-25", "flask"),
        ];
        assert_eq!(
            found,
            expected.map(|(day, names)| (day.to_owned(), names.to_owned()))
        );
        Ok(())
    }

    #[test]
    fn what_is_older_than_so_many_days_is_outdated() -> Result<()> {
        let look_up = LookUp {
            day: date("2026-11-01")?,
            packages: vec!["flask".to_owned(), "pbr".to_owned()],
        };
        let today = date("2026-11-25")?;
        let said = look_up.outdated("PyPI", today, 23)?;
        assert_eq!(
            said.as_deref(),
            Some("2026-11-01, 24 days ago: 2 packages of PyPI\n  flask pbr")
        );
        assert_eq!(look_up.outdated("PyPI", today, 24)?, None);
        Ok(())
    }

    #[test]
    fn only_pins_are_looked_up() {
        let error = look_ups(&database(), &by_hand(&[("2026-11-24", &["django"])]));
        assert!(error.is_err_and(|error| error.to_string().contains("django")));
        assert!(look_ups(&database(), &by_hand(&[("yesterday", &[])])).is_err());
    }
}
