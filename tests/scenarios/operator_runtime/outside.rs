//! Systems outside of Kubernetes are asked and called.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use lab::{Result, condition, ensure, eventually, minutes};
use provider_runtime::{Driver, DriverError, Leadership};
use serde_json::{Value, json};

use super::carried::{Running, quiet};
use super::trial::trial;
use super::{MANIFEST, TRIAL, annotate, cluster};

/// A system outside Kubernetes that has something done after the first call.
#[derive(Clone, Default)]
struct Done(Arc<(AtomicUsize, AtomicUsize)>);

impl Driver for Done {
    fn system(&self) -> &'static str {
        "trial"
    }

    fn observe<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, DriverError>> {
        let (asked, called) = &*self.0;
        let asked = asked.fetch_add(1, Ordering::Relaxed);
        let is_done = called.load(Ordering::Relaxed) > 0;
        async move {
            match (asked, is_done) {
                (0, _) => Err(DriverError::Unavailable("trial is asleep".to_owned())),
                (_, true) => Ok(json!("done")),
                (_, false) => Ok(json!("to do")),
            }
        }
        .boxed()
    }

    fn call<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), DriverError>> {
        self.0.1.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }.boxed()
    }
}

pub fn systems_outside_are_asked_and_called() -> Result<()> {
    lab::on_a_bare_machine(async |machine| {
        let (cluster, account) = cluster(&machine, "trial").await?;
        let system = Done::default();
        let drivers: Vec<Box<dyn Driver>> = vec![Box::new(system.clone())];
        let running =
            Running::start(&machine, &account, trial(), drivers, Leadership::Alone).await?;
        cluster.apply(MANIFEST).await?;
        annotate(&cluster, "one", json!({"asks": "whether"})).await?;
        eventually("trial is done", minutes(1), async || {
            let one = cluster.get(TRIAL, "default/one").await?;
            ensure!(
                condition(&one, "TrialReady") == Some("True"),
                "{}",
                one.data["status"]
            );
            Ok(())
        })
        .await?;
        quiet(&cluster, "trial").await?;
        let (asked, called) = &*system.0;
        ensure!(
            called.load(Ordering::Relaxed) == 1,
            "called {called:?} times"
        );
        ensure!(asked.load(Ordering::Relaxed) == 3, "asked {asked:?} times");
        running.stop().await
    })
}
