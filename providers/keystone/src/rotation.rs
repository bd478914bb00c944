//! When keys change.

use c5c3_api::keystone::Fernet;
use jiff::SignedDuration;
use provider_composer::{DesiredState, Failure, Progress, Reason};
use provider_openstack::{Config, Cron, Jobs, Program, Service, Task};

use crate::keyring::{Keyring, Rules, settled};
use crate::keys::{Keys, Purpose};

/// The Job that encrypts credentials anew.
const RECRYPT: &str = "recrypt";
/// When the keys of credentials change: seldom, since every credential is encrypted anew.
const MONTHLY: &str = "@monthly";
/// Most keys of credentials: one to come, one in use, one before it
/// (<https://docs.openstack.org/keystone/latest/admin/credential-encryption.html>).
const CREDENTIAL_KEYS: usize = 3;

/// Rotates the keys that tokens are encrypted with, by their schedule. A key is kept until no token needs it any more:
/// where `maxActiveKeys` is too small for that, the next rotation is postponed.
///
/// # Errors
/// The schedule is never due, or maxActiveKeys is less than three.
pub fn tokens(
    service: &Service<'_>,
    fernet: &Fernet,
    config: Option<&Config>,
    desired: &mut DesiredState,
) -> Result<Progress, Failure> {
    let schedule = Cron::of_field("fernet.rotationSchedule", &fernet.rotation_schedule)?;
    if fernet.max_active_keys < 3 {
        let message = format!(
            "fernet.maxActiveKeys is {}, and a key to come, one in use and one before it are 3: give at least 3",
            fernet.max_active_keys
        );
        return Err(Failure::new(Reason::Invalid, message));
    }
    let keys = match Keys::read(service, Purpose::Tokens, desired) {
        Ok(keys) => keys,
        Err(progress) => return Ok(progress),
    };
    let lifetime = config.map(lifetime);
    let spent = |since| settled(since).checked_add(lifetime?).ok();
    let most = usize::try_from(fernet.max_active_keys).unwrap_or(usize::MAX);
    let progress = keys.rotate(
        service,
        &Rules {
            schedule: &schedule,
            most,
            spent: &spent,
        },
        desired,
    );
    Ok(progress)
}

/// How long a token may be asked about: until it expires, and by services, which finish what they began, for some time
/// after. Keystone's defaults count where the configuration doesn't say.
fn lifetime(config: &Config) -> SignedDuration {
    let seconds = |option, default| config.number("token", option).unwrap_or(default);
    let (expiration, window) = (
        seconds("expiration", 3600),
        seconds("allow_expired_window", 172_800),
    );
    SignedDuration::from_secs(i64::from(expiration) + i64::from(window))
}

/// Rotates the keys that credentials in the database are encrypted with. After each rotation a Job encrypts all of them
/// with the new key; only then a key that nothing needs any more is deleted.
pub fn credentials(
    service: &Service<'_>,
    jobs: &Jobs<'_>,
    program: Option<&Program>,
    desired: &mut DesiredState,
) -> Result<Progress, Failure> {
    let Some(schedule) = Cron::parse(MONTHLY) else {
        let message = format!("{MONTHLY} is not a valid schedule");
        return Err(Failure::new(Reason::InternalError, message));
    };
    let keys = match Keys::read(service, Purpose::Credentials, desired) {
        Ok(keys) => keys,
        Err(progress) => {
            jobs.keep(&[RECRYPT], desired);
            return Ok(progress);
        }
    };
    let older = keys.ring().filter(|ring| ring.has_older());
    let rotated = older.filter(|ring| ring.is_settled(service.observed.now()));
    if let (Some(ring), None) = (older, rotated) {
        desired.requeue_at(settled(ring.since()));
    }
    let migrated = match (rotated, program, service.installed) {
        (Some(ring), Some(program), Some(_)) => jobs.once(&migration(ring, program), desired),
        // It may run, with the configuration that there was.
        (Some(_), None, Some(_)) => {
            jobs.keep(&[RECRYPT], desired);
            Progress::Ready
        }
        _ => Progress::Ready,
    };
    let done = rotated.is_some()
        && program.is_some()
        && service.installed.is_some()
        && migrated.is_ready();
    let spent = |since| done.then_some(since);
    let rules = Rules {
        schedule: &schedule,
        most: CREDENTIAL_KEYS,
        spent: &spent,
    };
    let shown = keys.rotate(service, &rules, desired);
    // Old keys are still there while the Job works, so nothing is missing.
    Ok(match shown.is_ready() && migrated.is_failed() {
        true => migrated,
        false => shown,
    })
}

fn migration(ring: &Keyring, program: &Program) -> Task {
    Task {
        name: RECRYPT,
        purpose: format!("credential key {}", ring.primary()),
        migrates: None,
        program: crate::manage(program, &["credential_migrate"]),
        often:
            "a credential was encrypted with a key that is gone, or the database can't be reached"
                .to_owned(),
    }
}
