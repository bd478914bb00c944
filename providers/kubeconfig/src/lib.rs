//! The kubeconfig-operator's composer: kubeconfigs of Gardener's clusters, each in a Secret, and replaced every hour.
//!
//! While Gardener issues none, the Secret stays as it is, and the ShootKubeconfig isn't Ready once the next one is due or Gardener refuses
//! one.

pub mod garden;
mod life;
mod target;

use c5c3_api::shoot_kubeconfig::{ShootKubeconfigSpec, ShootKubeconfigStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{
    Composer, DesiredState, Failure, Metric, ObservedState, Progress, Reason, Resource,
    SecretValues, Subject, Use, second,
};

use crate::garden::{Access, Answer, Query, VALID};
use crate::life::{Life, later};
use crate::target::Held;

const OVERDUE: Metric = Metric {
    name: "shoot_kubeconfig_overdue",
    help: "Whether half of a kubeconfig's life has passed, and it can't be renewed.",
};

/// Composes ShootKubeconfigs.
pub struct ShootKubeconfig;

impl Composer for ShootKubeconfig {
    type Spec = ShootKubeconfigSpec;
    type Status = ShootKubeconfigStatus;
    const OPERATOR: &'static str = "kubeconfig-operator";

    fn uses(&self) -> Vec<Use> {
        // The garbage collector deletes the Secret, so that the operator needs no right to.
        vec![Use::keeps(Secret::KIND)]
    }

    fn compose(
        &self,
        subject: &Subject<ShootKubeconfigSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<ShootKubeconfigStatus, Failure> {
        let now = observed.now();
        let held = Held::observe(subject, observed)?;
        desired.keep(target::key(subject));
        let last = held.as_ref().map(|held| held.life);
        let is_overdue = last.is_some_and(|life| life.is_overdue(now));
        desired.gauge(OVERDUE, &[], is_overdue.into());
        let current = held
            .filter(|held| held.is_wanted && !held.life.is_due(now))
            .map(|held| held.life);
        let life = match current {
            Some(life) if now < life.refresh() => life,
            _ => match (issue(subject, observed), current) {
                (Ok((kubeconfig, life)), _) => {
                    let secret = target::secret(&subject.spec, kubeconfig, life);
                    desired.apply(subject.namespace(), &subject.spec.target.name, &secret);
                    life
                }
                // Nothing is missing before the next one is due. Only a person can correct a refusal, and it is told at once.
                (Err(progress), Some(life)) if !progress.is_stalled() => life,
                (Err(progress), _) => {
                    return unissued(subject, &progress, last, now, desired);
                }
            },
        };
        // Timers don't follow a clock that is set, nor count the time of a suspended machine: an hour is short enough.
        desired.requeue_at(life.refresh().max(again(now)));
        desired.conditions.set("Ready", &Progress::Ready);
        Ok(ShootKubeconfigStatus {
            expires: Some(second(life.expires)),
            next_renewal: Some(second(life.refresh())),
            ..ShootKubeconfigStatus::default()
        })
    }
}

/// When an answer of Gardener's no longer counts.
fn again(now: Timestamp) -> Timestamp {
    later(now, SignedDuration::from_secs(VALID.into()))
}

/// Requests a kubeconfig. Returns it with its life, or why there is none.
fn issue(
    subject: &Subject<ShootKubeconfigSpec>,
    observed: &ObservedState<'_>,
) -> Result<(String, Life), Progress> {
    let spec = &subject.spec;
    let (namespace, shoot) = (&spec.shoot.namespace, &spec.shoot.name);
    let query = Query {
        access: access(subject, observed)?,
        namespace: namespace.clone(),
        shoot: shoot.clone(),
        role: spec.role,
        seconds: spec.expiration_seconds,
    };
    match query.ask(observed) {
        Ok(Answer::Issued(issued)) => {
            let moment = |text: &str| text.parse::<Timestamp>().ok();
            let moments = moment(&issued.issued).zip(moment(&issued.expires));
            let (began, ends) = moments.ok_or_else(|| {
                let message = "Gardener's API says no valid time at which the kubeconfig expires";
                Progress::failing(Reason::SystemUnavailable, message)
            })?;
            let life = Life::of(began, ends, spec.expiration_seconds);
            match life.is_over(observed.now()) {
                false => Ok((issued.kubeconfig, life)),
                true => Err(Progress::failed(
                    Reason::SystemRefused,
                    // Without the time, which is another one at each attempt.
                    format!(
                        "the new kubeconfig of Shoot {shoot} expired before it was issued: correct the clock here or in Gardener"
                    ),
                )),
            }
        }
        Ok(Answer::Pending(why)) => Err(Progress::waiting(
            Reason::WaitingFor("Shoot"),
            format!("waits for Shoot {shoot} in {namespace}: {why}"),
        )),
        Ok(Answer::Refused(why)) => Err(Progress::failed(
            Reason::SystemRefused,
            format!("Gardener refuses a kubeconfig of Shoot {shoot} in {namespace}: {why}"),
        )),
        Err(why) => Err(Progress::failing(Reason::SystemUnavailable, why)),
    }
}

/// How Gardener's API is reached, from the Secret that the spec names.
fn access(
    subject: &Subject<ShootKubeconfigSpec>,
    observed: &ObservedState<'_>,
) -> Result<Access, Progress> {
    let garden = &subject.spec.garden;
    let purpose = "a kubeconfig of Gardener's API: create it, because spec.garden names it";
    let read = SecretValues::read(observed, subject.namespace(), &garden.name, purpose);
    let values = read.map_err(|progress| match progress {
        Progress::Unknown { message } => Progress::failing(Reason::LookupFailed, message),
        other => other,
    })?;
    Ok(Access {
        kubeconfig: values.text(&garden.key)?.to_owned(),
    })
}

/// Reports that no kubeconfig is issued now. The one in the Secret stays.
fn unissued(
    subject: &Subject<ShootKubeconfigSpec>,
    progress: &Progress,
    held: Option<Life>,
    now: Timestamp,
    desired: &mut DesiredState,
) -> Result<ShootKubeconfigStatus, Failure> {
    let reason = match progress {
        Progress::Failed { reason, .. } => *reason,
        // It will come, and nothing is used until then.
        _ if held.is_none() => {
            desired.conditions.set("Ready", progress);
            desired.requeue_at(again(now));
            return Ok(ShootKubeconfigStatus::default());
        }
        Progress::Waiting { reason, .. } => *reason,
        Progress::Ready | Progress::Unknown { .. } => Reason::LookupFailed,
    };
    let (is_stalled, why) = (progress.is_stalled(), progress.message());
    let Some(life) = held else {
        return Err(match is_stalled {
            true => Failure::new(reason, why),
            false => Failure::transient(reason, why),
        });
    };
    let expires = match life.is_over(now) {
        true => "expired at",
        false => "is valid until",
    };
    let message = format!(
        "the kubeconfig in Secret {} {expires} {}, and can't be renewed: {why}",
        subject.spec.target.name,
        second(life.expires)
    );
    Err(match (life.is_overdue(now), is_stalled) {
        (true, _) => Failure::new(Reason::RenewalOverdue, message),
        (false, true) => Failure::new(reason, message),
        (false, false) => Failure::transient(reason, message),
    })
}
