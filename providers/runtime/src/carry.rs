//! All operators of a process, from the first watch to the last write.

use std::time::Duration;

use futures::future::join_all;
use kube::Client;
use prometheus_client::registry::Registry;
use provider_composer::Operator;
use ring::rand::SystemRandom;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::api::Api;
use crate::cache::{Cache, follow};
use crate::driver::Driver;
use crate::events::Events;
use crate::lease::{Candidate, Hold};
use crate::metrics::Metrics;
use crate::outside::Outsides;
use crate::reconcile::Carrier;
use crate::{CarryError, Options};

/// How many subjects have their turn at once.
const WORKERS: usize = 8;

/// How long turns may take to end once the process is told to stop.
const GRACE: Duration = Duration::from_secs(10);

/// Carries operators in a cluster until `shutdown`; then turns get a few seconds to end, and another replica may lead.
///
/// # Errors
/// The address for health and metrics can't be listened on.
pub async fn carry(
    operators: Vec<Box<dyn Operator>>,
    drivers: Vec<Box<dyn Driver>>,
    client: Client,
    options: &Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), CarryError> {
    let mut registry = Registry::default();
    let metrics = Metrics::new(&mut registry);
    let api = Api::new(client, metrics.clone());
    let identity = identity();
    let names: Vec<&str> = operators.iter().map(|operator| operator.name()).collect();
    info!(operators = names.join(" "), identity, "carrying");

    let holds: Vec<Hold> = operators
        .iter()
        .map(|_| match &options.lease_namespace {
            Some(_) => Hold::default(),
            None => Hold::forever(),
        })
        .collect();
    let candidates: Vec<Candidate> = match &options.lease_namespace {
        None => Vec::new(),
        Some(namespace) => operators
            .iter()
            .zip(&holds)
            .map(|(operator, hold)| Candidate {
                api: api.clone(),
                namespace: namespace.clone(),
                operator: operator.name(),
                identity: identity.clone(),
                hold: hold.clone(),
            })
            .collect(),
    };
    let cache = Cache::new(&operators);
    let carrier = Carrier {
        events: Events::new(api.clone(), identity),
        random: Box::new(SystemRandom::new()),
        outsides: Outsides::new(drivers),
        operators,
        holds,
        cache,
        api: api.clone(),
        metrics,
    };
    let cache = &carrier.cache;
    let following = join_all(cache.kinds().map(|kind| follow(cache, &api, kind)));
    let electing = join_all(
        candidates
            .iter()
            .enumerate()
            .map(|(operator, candidate)| candidate.run(move || cache.wake_all(operator))),
    );
    let working = join_all((0..WORKERS).map(|_| carrier.work()));
    tokio::pin!(working, following, electing);
    tokio::select! {
        _ = &mut working => {}
        _ = following => {}
        // No candidates: nothing to wait for, and nothing that ends.
        _ = &mut electing, if !candidates.is_empty() => {}
        () = shutdown => {}
    }
    info!("stopping");
    cache.queue().close();
    if timeout(GRACE, working).await.is_err() {
        warn!(?GRACE, "stopped with turns still under way");
    }
    join_all(candidates.iter().map(Candidate::release)).await;
    Ok(())
}

/// Unlike any other replica's, and told apart from the last one of the same Pod.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "c5c3".to_owned());
    format!("{host}_{:08x}", fastrand::u32(..))
}
