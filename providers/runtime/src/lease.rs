//! Leader election: one Lease for each operator, so that replicas share the operators.
//!
//! A holder's guard expires before its Lease does: it stops writing [`TIMEOUT`] before another replica may take over,
//! which is how long its last write may take. A candidate measures itself for how long the Lease hasn't changed, and
//! trusts no other clock.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use provider_composer::Key;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::api::{Api, ApiError, TIMEOUT};
use crate::lease_guard::{LeaseGuard, Until};

/// How long a Lease is valid without being renewed.
const DURATION: Duration = Duration::from_secs(15);
/// How often it is renewed.
const RENEW: Duration = Duration::from_secs(4);
/// How often a candidate that waits for the Lease reads it.
const LOOK: Duration = Duration::from_secs(2);

/// A candidate in the election for one operator.
pub(crate) struct LeaderElection {
    pub api: Api,
    pub namespace: String,
    pub operator: &'static str,
    /// The identity of this replica.
    pub identity: String,
    pub guard: LeaseGuard,
}

/// The Lease of another holder, and since when it hasn't changed.
struct Seen {
    version: String,
    since: Instant,
}

impl LeaderElection {
    /// Acquires the Lease whenever it is free, and renews it. Calls `leading` each time that it was acquired.
    pub(crate) async fn run(&self, leading: impl Fn()) {
        let mut seen: Option<Seen> = None;
        let mut held: Option<Value> = None;
        loop {
            let began = Instant::now();
            let renewal = self.acquire(&mut held, &mut seen).await;
            // Checked only now: a Lease that expired during its renewal has stopped reconciles, which must be woken.
            let was_leading = self.guard.is_valid();
            let pause = match renewal {
                Ok(true) => {
                    self.guard.set(Until::Moment(began + DURATION - TIMEOUT));
                    if !was_leading {
                        info!(
                            operator = self.operator,
                            identity = self.identity,
                            "leading"
                        );
                        leading();
                    }
                    RENEW
                }
                Ok(false) => {
                    self.guard.set(Until::Nobody);
                    if was_leading {
                        warn!(operator = self.operator, "another replica leads now");
                    }
                    LOOK
                }
                Err(error) => {
                    warn!(operator = self.operator, %error, was_leading, "the Lease can't be read or written");
                    LOOK
                }
            };
            sleep(pause.mul_f64(0.8 + fastrand::f64() * 0.2)).await;
        }
    }

    /// Releases the Lease, so that no replica has to wait for it.
    pub(crate) async fn release(&self) {
        self.guard.set(Until::Nobody);
        let key = self.key();
        match self.api.get(&key).await {
            Ok(Some(lease)) if self.is_holder(&lease) => {
                let free = self.written(lease, "");
                if let Err(error) = self.api.replace(&key, &free).await {
                    warn!(operator = self.operator, %error, "the Lease can't be given back");
                }
            }
            _ => {}
        }
    }

    /// Acquires or renews the Lease. Returns whether this replica holds it. `held` is the Lease as this replica wrote it last, so that a
    /// holder doesn't read it.
    async fn acquire(
        &self,
        held: &mut Option<Value>,
        seen: &mut Option<Seen>,
    ) -> Result<bool, ApiError> {
        let key = self.key();
        if let Some(lease) = held.take() {
            let lease = self.written(lease, &self.identity);
            *held = taken(self.api.replace(&key, &lease).await)?;
            // If it was changed meanwhile, it may still be this replica's.
            if held.is_some() {
                return Ok(true);
            }
        }
        *held = match self.api.get(&key).await? {
            Some(lease) if self.is_holder(&lease) || self.is_free(&lease, seen) => {
                let lease = self.written(lease, &self.identity);
                taken(self.api.replace(&key, &lease).await)?
            }
            Some(_) => None,
            None => {
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": { "name": key.name, "namespace": key.namespace },
                });
                let lease = self.written(lease, &self.identity);
                taken(self.api.create_lease(&key, &lease).await)?
            }
        };
        Ok(held.is_some())
    }

    fn is_free(&self, lease: &Value, seen: &mut Option<Seen>) -> bool {
        let holder = lease
            .pointer("/spec/holderIdentity")
            .and_then(Value::as_str);
        if holder.unwrap_or_default().is_empty() {
            return true;
        }
        let version = lease
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str);
        let version = version.unwrap_or_default();
        match seen {
            Some(seen) if seen.version == version => seen.since.elapsed() > DURATION,
            _ => {
                *seen = Some(Seen {
                    version: version.to_owned(),
                    since: Instant::now(),
                });
                false
            }
        }
    }

    fn is_holder(&self, lease: &Value) -> bool {
        lease
            .pointer("/spec/holderIdentity")
            .is_some_and(|holder| *holder == self.identity)
    }

    /// Returns the Lease with a new holder. Its resourceVersion ensures that it is unchanged since it was read.
    fn written(&self, mut lease: Value, holder: &str) -> Value {
        let now = Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
            .to_string();
        let changes = !self.is_holder(&lease);
        let spec = &mut lease["spec"];
        if changes {
            let transitions = spec["leaseTransitions"]
                .as_i64()
                .map_or(0, |count| count + 1);
            spec["leaseTransitions"] = json!(transitions);
            spec["acquireTime"] = json!(now);
        }
        spec["holderIdentity"] = json!(holder);
        spec["leaseDurationSeconds"] = json!(DURATION.as_secs());
        spec["renewTime"] = json!(now);
        lease
    }

    fn key(&self) -> Key {
        Key::of::<Lease>(&self.namespace, self.operator)
    }
}

/// The Lease as it was written; none where it was changed meanwhile.
fn taken(written: Result<Value, ApiError>) -> Result<Option<Value>, ApiError> {
    match written {
        Ok(lease) => Ok(Some(lease)),
        Err(error) if error.code() == Some(409) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use provider_composer::Resource;

    use super::*;
    use crate::testing::{Server, during, until};

    const NAMESPACE: &str = "default";
    const OPERATOR: &str = "test-operator";

    fn election(server: &Server) -> LeaderElection {
        LeaderElection {
            api: server.api(),
            namespace: NAMESPACE.to_owned(),
            operator: OPERATOR,
            identity: "one".to_owned(),
            guard: LeaseGuard::default(),
        }
    }

    /// Changes the Lease as another client does.
    fn change(server: &Server, change: impl FnOnce(&mut Value)) {
        let mut lease = server.get(Lease::KIND, NAMESPACE, OPERATOR).unwrap();
        change(&mut lease);
        server.put(Lease::KIND, NAMESPACE, OPERATOR, lease);
    }

    fn reads(server: &Server) -> usize {
        let requests = server.requests("/leases/");
        let reads = requests.iter().filter(|line| line.starts_with("GET"));
        reads.count()
    }

    #[tokio::test(start_paused = true)]
    async fn lease_is_renewed_by_one_request_and_read_where_somebody_has_changed_it() {
        let server = Server::default();
        let election = election(&server);
        let led = AtomicUsize::new(0);
        let elections = election.run(|| {
            led.fetch_add(1, Ordering::Relaxed);
        });
        during(elections, async {
            until("leadership", || election.guard.is_valid()).await;
            let renewed = server.requests("PUT").len() + 5;
            until("renewals", || server.requests("PUT").len() == renewed).await;
            assert_eq!(reads(&server), 1, "before it was created");

            change(&server, |lease| {
                lease["metadata"]["labels"] = json!({ "a": "b" })
            });
            until("a look", || reads(&server) == 2).await;
            until("renewals", || server.requests("PUT").len() == renewed + 4).await;
            assert_eq!(reads(&server), 2);
            assert_eq!(led.load(Ordering::Relaxed), 1, "it led all the time");
            let lease = server.get(Lease::KIND, NAMESPACE, OPERATOR).unwrap();
            assert_eq!(lease["metadata"]["labels"]["a"], "b");

            server.delete(Lease::KIND, NAMESPACE, OPERATOR);
            let created = || server.get(Lease::KIND, NAMESPACE, OPERATOR).is_some();
            until("another Lease", created).await;

            change(&server, |lease| {
                lease["spec"]["holderIdentity"] = json!("two")
            });
            until("the other leads", || !election.guard.is_valid()).await;
            assert_eq!(led.load(Ordering::Relaxed), 1);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn lease_that_lapses_during_a_renewal_wakes_subjects() {
        let server = Server::default();
        let election = election(&server);
        let led = AtomicUsize::new(0);
        let elections = election.run(|| {
            led.fetch_add(1, Ordering::Relaxed);
        });
        during(elections, async {
            until("leadership", || election.guard.is_valid()).await;
            // The Lease still holds for 6 s, and a renewal takes 9: it writes, reads, and writes.
            change(&server, |_| ());
            server.state().delay = Some(("leases", Duration::from_secs(3)));
            until("the lapse", || !election.guard.is_valid()).await;
            until("the renewal", || election.guard.is_valid()).await;
            assert_eq!(led.load(Ordering::Relaxed), 2);
        })
        .await;
    }
}
