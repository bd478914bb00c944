//! What a composer answers.

use std::time::Duration;

use function_protocol::{Condition, ConditionStatus, Fatal, Match, Readiness, Selector, Severity};
use function_sdk_rust::proto::v1::{self, Target};
use function_sdk_rust::response::{self, ResourceMatch};
use function_sdk_rust::{Error, resource};
use serde::{Deserialize, Serialize};

use crate::Request;

/// The answer to one call.
pub struct Response {
    message: v1::RunFunctionResponse,
    observed_conditions: Vec<Observed>,
}

#[derive(Deserialize)]
struct Observed {
    r#type: String,
    status: String,
    #[serde(default)]
    reason: String,
}

#[derive(Default, Deserialize)]
struct Composite {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Observed>,
}

impl Response {
    pub(crate) fn to(message: &v1::RunFunctionRequest) -> Self {
        Self {
            message: response::to(message, response::DEFAULT_TTL),
            observed_conditions: Vec::new(),
        }
    }

    pub(crate) fn after(self, request: &Request) -> Self {
        let composite: Composite = request.composite().unwrap_or_default();
        Self {
            observed_conditions: composite.status.conditions,
            ..self
        }
    }

    /// Wants this composed resource.
    ///
    /// # Errors
    /// The manifest has no wire form.
    pub fn desire<T: Serialize + ?Sized>(
        &mut self,
        name: impl Into<String>,
        manifest: &T,
        ready: Readiness,
    ) -> Result<(), Fatal> {
        let desired = response::desired_composed(&mut self.message, name);
        resource::update(desired, manifest).map_err(fatal)?;
        resource::set_ready(desired, readiness(ready));
        Ok(())
    }

    /// Wants this status of the composite resource.
    ///
    /// # Errors
    /// The status has no wire form.
    pub fn status<T: Serialize + ?Sized>(&mut self, status: &T) -> Result<(), Fatal> {
        let composite = response::desired_composite(&mut self.message);
        resource::update_status(composite, status).map_err(fatal)
    }

    /// Says whether the composite resource is ready.
    pub fn composite_ready(&mut self, ready: Readiness) {
        let composite = response::desired_composite(&mut self.message);
        resource::set_ready(composite, readiness(ready));
    }

    /// Sets a condition.
    pub fn condition(&mut self, condition: Condition) {
        let add = match condition.status {
            ConditionStatus::True => response::condition_true,
            ConditionStatus::False => response::condition_false,
            ConditionStatus::Unknown => response::condition_unknown,
        };
        let added = add(&mut self.message, condition.type_, condition.reason);
        added.message = Some(condition.message);
        added.target = Some(Target::CompositeAndClaim.into());
    }

    /// Sets a condition, with an event if it is news.
    pub fn transition(&mut self, condition: Condition, severity: Severity) {
        let status = match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        };
        let known = self.observed_conditions.iter().any(|observed| {
            observed.r#type == condition.type_
                && observed.status == status
                && observed.reason == condition.reason
        });
        if !known {
            let add = match severity {
                Severity::Normal => response::normal,
                Severity::Warning => response::warning,
            };
            let added = add(&mut self.message, condition.message.clone());
            added.reason = Some(condition.reason.clone());
            added.target = Some(Target::CompositeAndClaim.into());
        }
        self.condition(condition);
    }

    /// Asks for resources.
    pub fn require(&mut self, name: impl Into<String>, selector: Selector) {
        let by = match selector.by {
            Match::Name(name) => ResourceMatch::Name(name),
            Match::Labels(labels) => ResourceMatch::Labels(labels.into_iter().collect()),
        };
        let Selector {
            api_version,
            kind,
            namespace,
            ..
        } = selector;
        response::require_resources(
            &mut self.message,
            name,
            api_version,
            kind,
            Some(by),
            namespace,
        );
    }

    /// Says how long the core may reuse this answer.
    pub fn ttl(&mut self, ttl: Duration) {
        let meta = self.message.meta.get_or_insert_default();
        meta.ttl = Some(ttl.into());
    }

    pub(crate) fn into_message(self) -> v1::RunFunctionResponse {
        self.message
    }

    pub(crate) fn into_fatal(mut self, fatal: &Fatal) -> v1::RunFunctionResponse {
        response::fatal(&mut self.message, fatal.message.clone());
        self.message
    }
}

fn readiness(ready: Readiness) -> v1::Ready {
    match ready {
        Readiness::Unspecified => v1::Ready::Unspecified,
        Readiness::True => v1::Ready::True,
        Readiness::False => v1::Ready::False,
    }
}

fn fatal(error: Error) -> Fatal {
    Fatal::new(error.to_string())
}
