//! How long time-outs are: as long as they are written for two quiet cores of the usual speed, longer on a slower machine, and while
//! another scenario takes the same cores.
//!
//! The run measures both by programs that compute, and gives each scenario its scale in a variable.

use std::env;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::say::say;

/// The variable by which a run gives scenarios their scale. A run that finds it measures nothing, and refuses what isn't a scale.
pub const TIME_SCALE: &str = "LAB_TIME_SCALE";

/// How long `gzip` takes for the text, where time-outs are as long as they are written.
const USUAL: Duration = Duration::from_millis(180);

/// How many bytes the text has.
const TEXT: usize = 4 << 20;

/// How many processors a scenario keeps busy when it doesn't wait.
const BUSY: usize = 2;

/// How often it is measured. The fastest counts: a moment's noise says nothing of the machine.
const ROUNDS: usize = 2;

/// The longest time-outs: a run that hangs must end, too.
const MOST: f64 = 4.0;

/// How many times as long as written time-outs are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale(f64);

/// The scales of a run.
pub(crate) struct Scales {
    /// Of a scenario that runs alone, and of budgets.
    pub alone: Scale,
    /// Of scenarios that run side by side.
    pub side_by_side: Scale,
}

/// A time as it has to be in this scenario.
pub fn scaled(time: Duration) -> Duration {
    static SCALE: OnceLock<Scale> = OnceLock::new();
    SCALE
        .get_or_init(|| given().ok().flatten().unwrap_or(Scale::AS_WRITTEN))
        .of(time)
}

/// The scale in the variable, if it is set.
fn given() -> Result<Option<Scale>> {
    let text = env::var_os(TIME_SCALE);
    text.map(|text| Scale::parse(&text.to_string_lossy()))
        .transpose()
}

impl Scale {
    const AS_WRITTEN: Self = Self(1.0);

    /// That of a machine on which `gzip` took so long.
    fn measured(took: Duration) -> Self {
        Self(took.div_duration_f64(USUAL).clamp(1.0, MOST))
    }

    fn parse(text: &str) -> Result<Self> {
        let number: Option<f64> = text.parse().ok();
        let scale = number.filter(|scale| (1.0..=MOST).contains(scale));
        scale.map(Self).with_context(|| {
            format!("{TIME_SCALE} must be a number from 1 to {MOST}, and is {text:?}: unset it, and the machine is measured")
        })
    }

    /// A time on this scale.
    pub fn of(self, time: Duration) -> Duration {
        time.mul_f64(self.0)
    }
}

/// As [`TIME_SCALE`] has it.
impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.0)
    }
}

impl Scales {
    /// Those of this machine with so many scenarios side by side, as it is now, or those that the variable gives.
    ///
    /// # Errors
    /// When the variable's value isn't a scale.
    pub fn of_run(side_by_side: usize) -> Result<Self> {
        let all = |scale| Self {
            alone: scale,
            side_by_side: scale,
        };
        Ok(match given()? {
            Some(scale) => all(scale),
            None => Self::measured(side_by_side).unwrap_or_else(|error| {
                say(format_args!(
                    "time-outs are as they are written, as the machine's speed is unknown: {error:#}"
                ));
                all(Scale::AS_WRITTEN)
            }),
        })
    }

    fn measured(side_by_side: usize) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let sample = folder.path().join("text");
        fs::write(&sample, text()).context("cannot write a temporary file")?;
        Ok(Self {
            alone: Scale::measured(fastest(&sample, BUSY)?),
            side_by_side: Scale::measured(fastest(&sample, BUSY * side_by_side)?),
        })
    }
}

impl fmt::Display for Scales {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            alone,
            side_by_side,
        } = self;
        write!(
            f,
            "time-outs are {alone} times as long as written, {side_by_side} times while scenarios run side by side"
        )
    }
}

/// The shortest time in which so many programs compress a file at once.
fn fastest(file: &Path, programs: usize) -> Result<Duration> {
    let mut shortest = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let running: Vec<Child> = (0..programs)
            .map(|_| compress(file))
            .collect::<Result<_>>()?;
        for mut program in running {
            let status = program.wait().context("cannot wait for gzip")?;
            ensure!(status.success(), "gzip failed: {status}");
        }
        shortest = shortest.min(began.elapsed());
    }
    Ok(shortest)
}

/// Starts `gzip`, which every Debian has. It needs the processor and its caches, as most of what a scenario runs does, and no instructions
/// that only some processors have.
fn compress(file: &Path) -> Result<Child> {
    Command::new("gzip")
        .stdin(File::open(file)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("gzip can't be started")
}

/// Letters in no order, the same ones each time.
fn text() -> Vec<u8> {
    let mut state = 1_u64;
    let mut letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let [first, ..] = state.to_be_bytes();
        b'a' + (first >> 4)
    };
    (0..TEXT).map(|_| letter()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_machine_has_more_time_up_to_a_limit() {
        let written = Duration::from_secs(10);
        let on = |took| Scale::measured(took).of(written);
        assert_eq!(on(USUAL / 2), written);
        assert_eq!(on(USUAL), written);
        assert_eq!(on(USUAL * 3 / 2), written * 3 / 2);
        assert_eq!(on(USUAL * 100), written * 4);
    }

    #[test]
    fn scenario_reads_the_scale_of_its_run() {
        let scale = Scale::measured(USUAL * 5 / 2);
        assert_eq!(scale.to_string(), "2.50");
        assert_eq!(Scale::parse("2.50").unwrap(), scale);
    }

    #[test]
    fn variable_without_a_scale_is_refused_with_those_that_there_are() {
        for wrong in ["", "slow", "0.5", "5", "NaN", "inf", "-1"] {
            assert_eq!(
                Scale::parse(wrong).unwrap_err().to_string(),
                format!(
                    "LAB_TIME_SCALE must be a number from 1 to 4, and is {wrong:?}: unset it, and the machine is measured"
                )
            );
        }
    }

    #[test]
    fn text_is_the_same_each_time_and_compresses_to_half() -> Result<()> {
        let letters = text();
        assert!(letters.starts_with(b"gikgmiibndlimfdl"));
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("text");
        fs::write(&file, &letters)?;
        let output = Command::new("gzip").stdin(File::open(&file)?).output()?;
        let compressed = output.stdout.len();
        assert!(
            (TEXT / 2..TEXT * 2 / 3).contains(&compressed),
            "{compressed}"
        );
        Ok(())
    }
}
