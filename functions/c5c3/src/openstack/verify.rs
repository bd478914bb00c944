//! What Tempest tests before the claim is Ready, and what it found.

use c5c3_api::Reason;
use c5c3_api::control_plane::{ControlPlaneStatus, TempestComponent, Verified};
use c5c3_api::tempest::{Tests, tested_services};
use function_protocol::Response;

use super::Recipe;
use crate::composed::Composed;
use crate::input::SizePreset;
use crate::observed::condition;
use crate::transitions;

/// The condition of the claim, and of its ControlPlane.
pub const TESTS_PASSED: &str = "TestsPassed";

/// What Tempest found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tests passed, or the claim wants none.
    Passed,
    /// They haven't ended.
    Pending,
    /// Some failed, or they could not be run.
    Failed,
}

impl Recipe<'_> {
    /// The ControlPlane's Tempest, where the claim wants it: it tests once for each change of what is tested. The first time it waits
    /// for all that isn't in the control plane, since its tests need hypervisors and storage.
    pub fn tempest(
        &self,
        preset: &SizePreset,
        composed: &Composed<'_>,
    ) -> Option<TempestComponent> {
        let verify = self.cluster.spec.verify.as_ref()?;
        let last = self.existing.spec.as_ref();
        let exists = last.is_some_and(|last| last.tempest.is_some());
        if !exists && !composed.all_ready() && !composed.is_rendered() {
            return None;
        }
        let services = &self.cluster.spec.services;
        let chosen = &verify.services;
        let wanted = tested_services().filter(|(name, _)| {
            services.is_enabled(name) && (chosen.is_empty() || chosen.contains(name))
        });
        let size = preset.tempest.as_ref();
        let usual = Tests::default().concurrency;
        Some(TempestComponent {
            enabled: true,
            suspend: true,
            logs: self.presets.tempest.logs.clone(),
            tests: Some(Tests {
                services: wanted.map(|(_, tested)| tested.to_owned()).collect(),
                concurrency: size.map_or(usual, |size| size.concurrency),
                include_regex: Some(self.presets.tempest.include_regex.clone()),
                exclude_regex: self.presets.tempest.exclude_regex.clone(),
            }),
            ..TempestComponent::default()
        })
    }

    /// What Tempest found, as the ControlPlane repeats it.
    pub fn verdict(&self, control_plane: &ControlPlaneStatus) -> Verdict {
        if self.cluster.spec.verify.is_none() {
            return Verdict::Passed;
        }
        let passed = condition(&control_plane.conditions, TESTS_PASSED);
        match passed.map(|passed| passed.status.as_str()) {
            Some("True") => Verdict::Passed,
            Some("False") => Verdict::Failed,
            _ => Verdict::Pending,
        }
    }

    /// The results of Tempest's last run, for a claim with `verify`.
    pub fn verified(&self, control_plane: &ControlPlaneStatus) -> Option<Verified> {
        self.cluster.spec.verify.as_ref()?;
        control_plane.verified.clone()
    }

    /// Says what Tempest found, for a claim with `verify`.
    pub fn tests_passed(&self, control_plane: &ControlPlaneStatus, response: &mut Response) {
        if self.cluster.spec.verify.is_none() {
            let (reason, message) = (Reason::NotVerified, "the claim has no verify");
            return transitions::lapse(response, TESTS_PASSED, None, reason, message);
        }
        let (reason, message) = match condition(&control_plane.conditions, TESTS_PASSED) {
            Some(passed) if !passed.reason.is_empty() => {
                (passed.reason.as_str(), passed.message.as_str())
            }
            _ => (
                Reason::Waiting.name(),
                "Tempest tests the control plane when everything else is ready",
            ),
        };
        let (holds, message) = match self.verdict(control_plane) {
            Verdict::Passed => {
                let verified = control_plane.verified.as_ref();
                (Some(true), verified.map(counted).unwrap_or_default())
            }
            Verdict::Pending => (None, message.to_owned()),
            Verdict::Failed => (
                Some(false),
                format!(
                    "{message}; correct the cause, then remove spec.verify and set it again to run the tests again"
                ),
            ),
        };
        transitions::result(response, TESTS_PASSED, holds, reason, message);
    }
}

/// How many tests passed, and how many were skipped, if any.
fn counted(verified: &Verified) -> String {
    let Verified {
        passed, skipped, ..
    } = verified;
    match skipped {
        0 => format!("{passed} tests passed"),
        _ => format!("{passed} tests passed, {skipped} were skipped"),
    }
}
