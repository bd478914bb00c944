//! What runs report: the termination messages of their pods, and the status that follows from them.

use c5c3_api::Condition;
use c5c3_api::tempest::{TempestStatus, TestResults, TestRun};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStateTerminated, Pod};
use provider_composer::{Live, Progress, Reason, second};
use provider_openstack::Service;
use serde::Deserialize;

/// How many names and runs a status has.
const NAMES: usize = 20;
/// How many of the names a message has.
const SHOWN: usize = 3;
const RUNS: usize = 10;
/// The longest name or message, in characters.
const LENGTH: usize = 1000;

/// The condition of the last run's tests.
pub const PASSED: &str = "TestsPassed";
/// The condition of what the last run left behind.
pub const CLEANED_UP: &str = "CleanedUp";

/// What `run.py` writes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Report {
    passed: u32,
    failed: u32,
    skipped: u32,
    failures: Vec<String>,
    /// Names of skipped tests.
    skips: Vec<String>,
    seconds: u32,
    /// What the user has to correct.
    refused: Option<String>,
    /// Why there are no results.
    error: Option<String>,
    /// What the cloud lacks without which tests are skipped.
    lacking: Option<String>,
    /// Whether nothing is left behind. None where nothing was created.
    cleaned: Option<bool>,
    /// Kinds and names of what is left behind.
    left: Vec<String>,
}

/// A run that has ended.
pub struct Run<'a> {
    pod: &'a str,
    finished: Timestamp,
    report: Report,
}

impl<'a> Run<'a> {
    /// The run of a pod, if it has ended.
    pub fn of(pod: &'a Live<Pod>) -> Option<Self> {
        let status = pod.body.status.as_ref()?;
        let containers = status.container_statuses.as_deref().unwrap_or_default();
        let mut ends = containers
            .iter()
            .filter_map(|container| container.state.as_ref()?.terminated.as_ref());
        let end = ends.next()?;
        Some(Self {
            pod: &pod.metadata.name,
            finished: end.finished_at.as_ref()?.0,
            report: Report::of(end),
        })
    }

    /// When it ended.
    pub fn finished(&self) -> Timestamp {
        self.finished
    }

    /// Takes the run as the last one.
    pub fn record(&self, service: &Service<'_>, status: &mut TempestStatus) {
        let finished = second(self.finished);
        let duration = duration(self.report.seconds);
        status.last_run = Some(finished.clone());
        status.last_duration = Some(duration.clone());
        status.failures = names(&self.report.failures);
        status.skipped = names(&self.report.skips);
        status.results = Some(self.report.results()).filter(|_| self.report.ran());
        if let Some(results) = status.results {
            let run = TestRun {
                finished,
                duration,
                release: service.release.to_string(),
                results,
            };
            status.history.insert(0, run);
            status.history.truncate(RUNS);
        }
    }

    /// Whether its tests passed, and it left nothing behind.
    pub fn passed(&self, service: &Service<'_>) -> Progress {
        let (report, logs) = (&self.report, self.logs(service));
        if let Some(refused) = &report.refused {
            return Progress::failed(Reason::Invalid, line(refused));
        }
        if !report.ran() {
            let error = report.error.as_deref().unwrap_or("it says nothing");
            let message = format!(
                "the last run ended without results: {}; {logs}",
                line(error)
            );
            return Progress::failing(Reason::TestsNotRun, message);
        }
        let all = report.results().total_tests;
        match (report.failed, report.unproven()) {
            (0, None) if report.cleaned == Some(false) => Progress::failing(
                Reason::NotCleanedUp,
                format!(
                    "{} of {all} tests passed and none failed, but the run left {}; {logs}",
                    report.passed,
                    report.left_behind()
                ),
            ),
            (0, None) => Progress::Ready,
            (0, Some(why)) => Progress::failing(
                Reason::TestsSkipped,
                format!(
                    "{} of {all} tests were skipped: {why}; {logs}",
                    report.skipped
                ),
            ),
            (failed, _) => Progress::failing(
                Reason::TestsFailed,
                format!(
                    "{failed} of {all} tests failed{}; {logs}",
                    report.first_failures()
                ),
            ),
        }
    }

    /// Whether it left nothing behind. None where it doesn't say.
    pub fn cleaned_up(&self, service: &Service<'_>, prefix: &str) -> Option<Progress> {
        Some(match self.report.cleaned? {
            true => Progress::Ready,
            false => Progress::failing(
                Reason::NotCleanedUp,
                format!(
                    "the last run could not delete {} of the domain {prefix}; the next one tries again; {}",
                    self.report.left_behind(),
                    self.logs(service)
                ),
            ),
        })
    }

    fn logs(&self, service: &Service<'_>) -> String {
        format!("see `kubectl logs -n {} {}`", service.namespace, self.pod)
    }
}

impl Report {
    fn of(end: &ContainerStateTerminated) -> Self {
        let message = end.message.as_deref().unwrap_or_default();
        serde_json::from_str(message).unwrap_or_else(|_| {
            let reason = end.reason.as_deref().unwrap_or("no reason given");
            let code = end.exit_code;
            Self {
                error: Some(format!("its container ended with {code} ({reason})")),
                ..Self::default()
            }
        })
    }

    fn results(&self) -> TestResults {
        let (passed, failed, skipped) = (self.passed, self.failed, self.skipped);
        TestResults {
            passed_tests: passed,
            failed_tests: failed,
            skipped_tests: skipped,
            total_tests: passed.saturating_add(failed).saturating_add(skipped),
        }
    }

    /// The first failed tests, for a message.
    fn first_failures(&self) -> String {
        let first = &self.failures[..self.failures.len().min(SHOWN)];
        match first.is_empty() {
            true => String::new(),
            false => format!(", for instance {}", line(&first.join(", "))),
        }
    }

    /// What it left in the cloud. Runs of earlier versions don't say.
    fn left_behind(&self) -> String {
        match self.left.is_empty() {
            true => "something".to_owned(),
            false => line(&self.left.join(", ")),
        }
    }

    /// Whether there are results.
    fn ran(&self) -> bool {
        self.results().total_tests > 0
    }

    /// Why a run in which no test failed doesn't show that the services work.
    fn unproven(&self) -> Option<String> {
        match self.lacking.as_deref().filter(|_| self.skipped > 0) {
            Some(lacking) => Some(line(lacking)),
            None if self.passed == 0 => Some(
                "none shows that a service works, so correct the reasons in the log, or choose other tests"
                    .to_owned(),
            ),
            None => None,
        }
    }
}

/// The progress that a condition reported before. None where it was Unknown.
pub fn before(conditions: &[Condition], type_: &str) -> Option<Progress> {
    let condition = conditions.iter().find(|other| other.type_ == type_)?;
    match condition.status.as_str() {
        "True" => Some(Progress::Ready),
        "False" => {
            let reason = Reason::reported(&condition.reason);
            Some(Progress::failing(reason, &condition.message))
        }
        _ => None,
    }
}

/// A duration such as 45m12s.
fn duration(seconds: u32) -> String {
    format!("{:#}", SignedDuration::from_secs(seconds.into())).replace(' ', "")
}

/// The first names, for a status.
fn names(all: &[String]) -> Vec<String> {
    all.iter().take(NAMES).map(|name| line(name)).collect()
}

/// Text of one line and limited length: it comes from a program that runs tests.
fn line(text: &str) -> String {
    let shown = text.chars().map(|character| match character.is_control() {
        true => ' ',
        false => character,
    });
    shown.take(LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, "0s")]
    #[case(2712, "45m12s")]
    #[case(3600, "1h")]
    #[case(21_605, "6h5s")]
    fn duration_is_shown_by_its_units(#[case] seconds: u32, #[case] shown: &str) {
        assert_eq!(duration(seconds), shown);
    }
}
