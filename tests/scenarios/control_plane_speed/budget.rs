//! What is measured, and what it may come to.

use std::fmt;

use lab::{Result, ensure};

/// Everything that was measured.
#[derive(Default)]
pub struct Budget(Vec<Measured>);

struct Measured {
    what: String,
    is: f64,
    /// The target; none: it is only reported.
    most: Option<f64>,
    unit: &'static str,
}

impl Budget {
    /// Notes what has a target, that it may not exceed.
    pub fn limit(&mut self, what: &str, is: f64, most: f64, unit: &'static str) {
        self.note(what, is, Some(most), unit);
    }

    /// Notes what is worth knowing.
    pub fn report(&mut self, what: &str, is: f64, unit: &'static str) {
        self.note(what, is, None, unit);
    }

    fn note(&mut self, what: &str, is: f64, most: Option<f64>, unit: &'static str) {
        let measured = Measured {
            what: what.to_owned(),
            is,
            most,
            unit,
        };
        println!("{measured}");
        self.0.push(measured);
    }

    /// Fine when nothing came to more than it may.
    pub fn check(&self) -> Result<()> {
        let broken = self.0.iter().filter(|measured| measured.is_broken());
        let broken: Vec<String> = broken.map(ToString::to_string).collect();
        ensure!(broken.is_empty(), "{}", broken.join("\n"));
        Ok(())
    }
}

impl Measured {
    fn is_broken(&self) -> bool {
        // What can't be measured is broken too.
        let is_within = |most: f64| {
            self.is
                .partial_cmp(&most)
                .is_some_and(|order| order.is_le())
        };
        self.most.is_some_and(|most| !is_within(most))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            is,
            most,
            unit,
        } = self;
        write!(out, "{what}: {is:.1}{unit}")?;
        most.map_or(Ok(()), |most| write!(out, " of {most}{unit}"))
    }
}
