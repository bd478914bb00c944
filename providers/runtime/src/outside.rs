//! Systems outside Kubernetes: their drivers, and what they answered lately.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use provider_composer::{Outside, Seen};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::driver::{Driver, DriverError};

/// How long an answer counts, unless its driver says otherwise. Nothing tells when it changes, so whoever asked is composed again then.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(300);

/// How many requests of external systems are under way at once. Others wait.
const REQUESTS: usize = 16;

/// How long a driver may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers by system and question, with the moment until which they count.
type Answers = HashMap<(&'static str, String), (Instant, Arc<Value>)>;

/// All systems outside Kubernetes.
pub(crate) struct Outsides {
    drivers: BTreeMap<&'static str, Box<dyn Driver>>,
    answers: Mutex<Answers>,
    requests: Semaphore,
}

impl Outsides {
    pub(crate) fn new(drivers: Vec<Box<dyn Driver>>) -> Self {
        Self {
            drivers: drivers
                .into_iter()
                .map(|driver| (driver.system(), driver))
                .collect(),
            answers: Mutex::default(),
            requests: Semaphore::new(REQUESTS),
        }
    }

    /// What was answered lately.
    pub(crate) fn remembered(&self, question: &Outside) -> Option<Seen<Arc<Value>>> {
        let now = Instant::now();
        let mut answers = self.answers();
        answers.retain(|_, (until, _)| *until > now);
        let (_, answer) = answers.get(&(question.system, question.content.clone()))?;
        Some(Seen::Found(Arc::clone(answer)))
    }

    /// Asks, and remembers the answer.
    pub(crate) async fn observe(&self, question: &Outside) -> Result<(), DriverError> {
        let driver = self.driver(question)?;
        let asked = driver.observe(&question.content);
        let _permit = self.requests.acquire().await;
        let answer = timeout(PATIENCE, asked)
            .await
            .map_err(|_| slow(question))??;
        let until = Instant::now() + driver.validity();
        let place = (question.system, question.content.clone());
        self.answers().insert(place, (until, Arc::new(answer)));
        Ok(())
    }

    /// Calls, and forgets what the system answered before.
    pub(crate) async fn call(&self, call: &Outside) -> Result<(), DriverError> {
        let called = self.driver(call)?.call(&call.content);
        let _permit = self.requests.acquire().await;
        let called = timeout(PATIENCE, called).await;
        self.answers()
            .retain(|(system, _), _| *system != call.system);
        called.map_err(|_| slow(call))?
    }

    fn driver(&self, outside: &Outside) -> Result<&dyn Driver, DriverError> {
        let driver = self.drivers.get(outside.system).map(AsRef::as_ref);
        driver.ok_or_else(|| {
            DriverError::Refused(format!("this program can't talk to {}", outside.system))
        })
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn slow(outside: &Outside) -> DriverError {
    DriverError::Unavailable(format!(
        "{} did not answer within {} s",
        outside.system,
        PATIENCE.as_secs()
    ))
}
