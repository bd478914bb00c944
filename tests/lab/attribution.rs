//! How long each step of a sequence waits for others, and how long for this project's operators, by the audit logs of API servers.

use std::fmt::{self, Display, Formatter};

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};

use crate::audit::Request;
use crate::operator::Operator;

/// Objects of a kind, as kubectl names it, whose names begin with the same.
pub type Objects = (&'static str, &'static str);

/// What names of objects begin with: in the audit log of a cluster, as `namespace/name` or `name`, and in steps. The first pair that
/// matches counts. Objects that match none are left out.
pub type Names = &'static [(&'static str, &'static str)];

/// A sequence of steps.
pub struct Path {
    /// What is created at the beginning.
    pub begin: Objects,
    /// The steps, in parts that several paths have.
    pub parts: &'static [&'static [Step]],
    /// How many seconds this project's operators may take, on a machine that does nothing else.
    pub limit: f64,
}

/// A step of a path.
#[derive(Clone, Copy)]
pub struct Step {
    what: &'static str,
    /// The step follows the last write of others to these.
    waits_for: &'static [Objects],
    moment: Moment,
    by: By,
}

/// When a step is done.
#[derive(Clone, Copy)]
pub enum Moment {
    /// When the first of these is created.
    Created(Objects),
    /// At the last write to these before the first of others is created, or before the end of the path. Only writes of those who do the
    /// step count.
    Last(&'static [Objects], Option<Objects>),
    /// At the end of the path.
    End,
}

/// Who does a step.
#[derive(Clone, Copy)]
enum By {
    /// This project's operators.
    Operators,
    /// The same, but they also wait for answers of another program, which no audit log has.
    Asking(&'static str),
    /// Others.
    Others(&'static str),
}

/// The steps of a path as they were done.
#[derive(Debug)]
pub struct Attribution {
    /// In the order of time.
    rows: Vec<Row>,
    /// What the audit logs don't have.
    unseen: Vec<String>,
    limit: f64,
}

#[derive(Debug)]
struct Row {
    what: String,
    /// Since the beginning.
    at: SignedDuration,
    /// From the step before to the last write of others that this one waits for.
    others: SignedDuration,
    /// From there on. None where others do the step, and where it isn't known what the step waited for.
    operators: Option<SignedDuration>,
    /// Whether that is the operators' time alone.
    is_alone: bool,
}

impl Step {
    /// A step of this project's operators, which follows the last write of others to some objects.
    pub const fn by_operators(
        what: &'static str,
        waits_for: &'static [Objects],
        moment: Moment,
    ) -> Self {
        Self {
            what,
            waits_for,
            moment,
            by: By::Operators,
        }
    }

    /// The same step, whose time isn't the operators' alone: they wait for answers of another program.
    #[must_use]
    pub const fn asking(self, whom: &'static str) -> Self {
        Self {
            by: By::Asking(whom),
            ..self
        }
    }

    /// A step of others.
    pub const fn by_others(what: &'static str, who: &'static str, moment: Moment) -> Self {
        Self {
            what,
            waits_for: &[],
            moment,
            by: By::Others(who),
        }
    }

    fn title(&self) -> String {
        match self.by {
            By::Operators => self.what.to_owned(),
            By::Asking(whom) => format!("{}, with answers of {whom}", self.what),
            By::Others(who) => format!("{} ({who})", self.what),
        }
    }

    /// When it was done, by the writes until the end of the path.
    fn done(&self, writes: &[&Request], end: Timestamp) -> Option<Timestamp> {
        match self.moment {
            Moment::Created(objects) => created(writes, objects),
            Moment::Last(objects, next) => {
                let before = match next {
                    Some(next) => created(writes, next)?,
                    None => end,
                };
                let by_operators = !matches!(self.by, By::Others(_));
                last(writes, objects, by_operators, before)
            }
            Moment::End => Some(end),
        }
    }

    /// When others had written what it waits for. Those who do the step themselves wait for nobody here.
    fn ready(&self, writes: &[&Request], done: Timestamp) -> Option<Timestamp> {
        match self.by {
            By::Others(_) => Some(done),
            By::Operators | By::Asking(_) => last(writes, self.waits_for, false, done),
        }
    }
}

impl Path {
    /// Attributes the time of the steps until the end of the path. The writes are in the order of time, as [`merged`] returns them.
    pub fn attribute(&self, writes: &[Request], end: Timestamp) -> Attribution {
        let writes: Vec<&Request> = writes.iter().filter(|write| write.time <= end).collect();
        let (mut done, mut unseen) = (Vec::new(), Vec::new());
        for step in self.parts.iter().copied().flatten() {
            match step.done(&writes, end) {
                Some(at) => done.push((at, step)),
                None => unseen.push(step.title()),
            }
        }
        // Parts of a control plane are created side by side.
        done.sort_by_key(|(at, _)| *at);
        let begun = created(&writes, self.begin);
        if begun.is_none() {
            unseen.push(format!("the beginning: {}", self.begin.0));
        }
        let first = done.first().map(|(at, _)| *at);
        let begun = begun.or(first).unwrap_or(end);
        let (mut rows, mut before) = (Vec::new(), begun);
        for (at, step) in done {
            let ready = step.ready(&writes, at);
            if ready.is_none() {
                unseen.push(format!("what others wrote before: {}", step.what));
            }
            let others = ready.unwrap_or(at).duration_since(before);
            rows.push(Row {
                what: step.title(),
                at: at.duration_since(begun),
                others: others.max(SignedDuration::ZERO),
                operators: match step.by {
                    By::Others(_) => None,
                    By::Operators | By::Asking(_) => ready.map(|ready| at.duration_since(ready)),
                },
                is_alone: matches!(step.by, By::Operators),
            });
            before = at;
        }
        Attribution {
            rows,
            unseen,
            limit: self.limit,
        }
    }
}

impl Attribution {
    /// The seconds of this project's operators. Those of steps side by side are added, too.
    fn operators(&self) -> f64 {
        let alone = self.rows.iter().filter(|row| row.is_alone);
        let times = alone.filter_map(|row| row.operators);
        let total = times.fold(SignedDuration::ZERO, |sum, time| sum + time);
        total.as_secs_f64()
    }

    /// Checks the time of this project's operators.
    ///
    /// # Errors
    /// They took as long as the limit, or longer.
    pub fn check(&self) -> Result<()> {
        let (operators, limit) = (self.operators(), self.limit);
        ensure!(
            operators < limit,
            "this project's operators took {operators:.2} s, and {limit} s are allowed"
        );
        Ok(())
    }
}

/// A table in Markdown.
impl Display for Attribution {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "| Step | at | other operators | this project |\n|---|---:|---:|---:|"
        )?;
        for row in &self.rows {
            let operators = match row.operators {
                Some(time) => format!("{:.2} s", time.as_secs_f64()),
                None => String::new(),
            };
            let (at, others) = (row.at.as_secs_f64(), row.others.as_secs_f64());
            writeln!(
                formatter,
                "| {} | {at:.1} s | {others:.1} s | {operators} |",
                row.what
            )?;
        }
        for what in &self.unseen {
            writeln!(formatter, "| {what} | not seen | | |")?;
        }
        write!(
            formatter,
            "| total of this project, of {} s | | | {:.2} s |",
            self.limit,
            self.operators()
        )
    }
}

/// The writes that succeeded in several clusters, whose API servers have one clock, in the order of time and with the names that steps
/// have.
pub fn merged(logs: impl IntoIterator<Item = (Vec<Request>, Names)>) -> Vec<Request> {
    let mut writes = Vec::new();
    for (requests, names) in logs {
        let written = requests
            .into_iter()
            .filter(|request| request.writes() && !request.is_dry_run && request.code < 300);
        writes.extend(written.filter_map(|request| {
            let name = renamed(&request.name, names)?;
            Some(Request { name, ..request })
        }));
    }
    writes.sort_by_key(|write| write.time);
    writes
}

fn renamed(name: &str, names: Names) -> Option<String> {
    names.iter().find_map(|(logged, wanted)| {
        let rest = name.strip_prefix(*logged)?;
        Some(format!("{wanted}{rest}"))
    })
}

/// When the first of some objects was created.
fn created(writes: &[&Request], objects: Objects) -> Option<Timestamp> {
    let mut writes = writes.iter();
    let first = writes.find(|write| write.code == 201 && is_of(write, objects));
    first.map(|write| write.time)
}

/// The last write to some objects before a moment, of this project's operators or of others.
fn last(
    writes: &[&Request],
    objects: &[Objects],
    by_operators: bool,
    before: Timestamp,
) -> Option<Timestamp> {
    let written = writes.iter().rev().find(|write| {
        write.time < before
            && objects.iter().any(|objects| is_of(write, *objects))
            && Operator::is_user(&write.user) == by_operators
    });
    written.map(|write| write.time)
}

/// Whether a request is about one of these.
fn is_of(request: &Request, (kind, name): Objects) -> bool {
    let plural = request.resource.split('/').next().unwrap_or_default();
    let is_kind = match kind.split_once('.') {
        Some((kind, group)) => plural == kind && request.group == group,
        None => plural == kind,
    };
    is_kind && request.name.starts_with(name)
}

#[cfg(test)]
mod tests;
