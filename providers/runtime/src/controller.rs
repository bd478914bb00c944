//! The controller: all operators of a process.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use c5c3_process::{listen, pages, serve};
use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
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
use crate::external::ExternalSystems;
use crate::lease::LeaderElection;
use crate::lease_guard::LeaseGuard;
use crate::metrics::Metrics;
use crate::pages::Pages;
use crate::reconcile::{Controller, slots};
use crate::{Leadership, Options, RunError};

/// How long reconciles may take to finish on shutdown.
const GRACE: Duration = Duration::from_secs(10);

/// Runs operators in a cluster until `shutdown`. Reconciles then get a few seconds to finish, and the Leases are
/// released.
///
/// # Errors
/// The address for health and metrics can't be listened on, or a kind of this project's names has the definition of another project or of
/// an earlier version.
pub async fn run_until(
    operators: Vec<Box<dyn Operator>>,
    drivers: Vec<Box<dyn Driver>>,
    client: Client,
    options: &Options,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let mut registry = Registry::default();
    let metrics = Metrics::new(&mut registry);
    let listener = match options.address {
        Some(address) => Some(listen("health and metrics", address).await?),
        None => None,
    };
    let identity = identity();
    let names: BTreeSet<&'static str> = operators.iter().map(|operator| operator.name()).collect();
    let address = listener
        .as_ref()
        .map(|(_, address)| tracing::field::display(address));
    info!(operators = ?names, identity, address, "running");

    let home = client.default_namespace().to_owned();
    let api = Api::new(client, metrics.clone());
    let elections = elections(&names, &options.leadership, &api, &identity, &home);
    let held = |name: &str| {
        let mut elections = elections.iter();
        let election = elections.find(|election| election.operator == name);
        election.map_or_else(LeaseGuard::forever, |election| election.guard.clone())
    };
    let guards = operators
        .iter()
        .map(|operator| held(operator.name()))
        .collect();
    let cache = Arc::new(Cache::new(&operators, &options.namespaces));
    let controller = Controller {
        events: Events::new(api.clone(), identity),
        random: Box::new(SystemRandom::new()),
        external: ExternalSystems::new(drivers),
        slots: slots(),
        operators,
        guards,
        cache: Arc::clone(&cache),
        api: api.clone(),
        metrics: metrics.clone(),
    };
    let watched = cache.watched();
    let mut following: FuturesUnordered<_> = watched
        .map(|(kind, namespace)| follow(&cache, &api, kind, namespace))
        .collect();
    let electing = join_all(
        elections
            .iter()
            .map(|election| election.run(|| cache.wake_operator(election.operator))),
    );
    let working = controller.work();
    let served = Pages {
        cache: Arc::clone(&cache),
        guards: names
            .iter()
            .copied()
            .map(|name| (name, held(name)))
            .collect(),
        metrics,
        registry,
    };
    let telling = async {
        match listener {
            Some((listener, _)) => {
                serve(listener, pages(move |path| served.page(path))).await;
            }
            None => pending().await,
        }
    };
    tokio::pin!(working, electing);
    let mut result = Ok(());
    tokio::select! {
        _ = &mut working => {}
        Some(error) = following.next() => result = Err(error),
        // No elections: nothing to wait for, and nothing that ends.
        _ = &mut electing, if !elections.is_empty() => {}
        () = telling => {}
        () = shutdown => {}
    }
    info!("stopping");
    cache.queue().close();
    // The Leases are renewed as long as anything is written.
    let ended = async {
        tokio::select! {
            _ = &mut working => {}
            _ = &mut electing, if !elections.is_empty() => {}
        }
    };
    if timeout(GRACE, ended).await.is_err() {
        warn!(?GRACE, "stopped with reconciles still under way");
    }
    join_all(elections.iter().map(LeaderElection::release)).await;
    result
}

/// Returns an election for each operator's name: operators of the same name share one.
fn elections(
    names: &BTreeSet<&'static str>,
    leadership: &Leadership,
    api: &Api,
    identity: &str,
    home: &str,
) -> Vec<LeaderElection> {
    let Leadership::Elected { namespace } = leadership else {
        return Vec::new();
    };
    let namespace = namespace.as_deref().unwrap_or(home);
    let election = |operator: &&'static str| LeaderElection {
        api: api.clone(),
        namespace: namespace.to_owned(),
        operator,
        identity: identity.to_owned(),
        guard: LeaseGuard::default(),
    };
    names.iter().map(election).collect()
}

/// Returns an identity that is unique among replicas and among restarts of a Pod.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "c5c3".to_owned());
    format!("{host}_{:08x}", fastrand::u32(..))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use c5c3_api::custom_resource;
    use c5c3_process::Answer;
    use provider_composer::{Composed, Failure, ObservedState, Reason, ResourceKind, Use};
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;
    use crate::api::TIMEOUT;
    use crate::cache::{DEFINITION, State};
    use crate::testing::{
        Hole, KEYSTONE, SECRET, Server, THING, WIDGET, during, facts, published, things, until,
    };

    /// An operator of a kind whose name others use, too.
    struct Keystones;

    impl Operator for Keystones {
        facts! { "keystones", KEYSTONE, Unordered, [] }

        fn composed(&self, _: &Value, _: &ObservedState<'_>) -> Result<Composed, Failure> {
            Err(Failure::new(Reason::Invalid, "not called in this test"))
        }
    }

    fn keystones() -> Vec<Box<dyn Operator>> {
        vec![Box::new(Keystones)]
    }

    /// What is published of this version's Keystones.
    fn own() -> Value {
        published(&custom_resource::schema_of(KEYSTONE.group, KEYSTONE.kind).unwrap())
    }

    /// What is published of an earlier version's Keystones, which have no other field.
    fn outdated() -> Value {
        described(custom_resource::OBSERVED_GENERATION_DESCRIPTION)
    }

    /// What is published of another operator's Keystones.
    fn foreign() -> Value {
        described("Another operator's.")
    }

    fn described(description: &str) -> Value {
        let observed = json!({ "description": description });
        let status = json!({ "properties": { "observedGeneration": observed } });
        published(&json!({ "properties": { "status": status } }))
    }

    /// Runs the operator of Keystones until a condition is true, or it ends by itself.
    async fn run_keystones(server: &Server, condition: impl Fn() -> bool) -> Result<(), RunError> {
        let options = Options {
            address: None,
            leadership: Leadership::Alone,
            ..Options::default()
        };
        let shutdown = until("the end", condition);
        run_until(keystones(), Vec::new(), server.client(), &options, shutdown).await
    }

    #[tokio::test]
    async fn operators_refuse_to_start_with_the_definition_of_another_project() {
        let server = Server::default();
        server.state().published = Some(foreign());
        let refused = run_keystones(&server, || false)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            refused.starts_with(
                "the definition of keystones.keystone.openstack.c5c3.io in this cluster isn't this project's"
            ),
            "{refused}"
        );
        let first = refused.find(
            "if an earlier version of this project installed it, apply package/charts/c5c3-crds/definitions;",
        );
        assert!(first < refused.find("delete"), "{refused}");
        assert!(first.is_some(), "{refused}");
        assert!(server.requests("/keystones").is_empty());
    }

    #[tokio::test]
    async fn operators_start_with_their_own_definition_and_with_one_that_is_not_published() {
        for published in [Some(own()), None] {
            let server = Server::default();
            server.state().published = published;
            let lists = || !server.requests("/keystones?limit=").is_empty();
            run_keystones(&server, lists).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn operators_refuse_to_start_with_the_definition_of_an_earlier_version() {
        let server = Server::default();
        server.state().published = Some(outdated());
        let refused = run_keystones(&server, || false)
            .await
            .unwrap_err()
            .to_string();
        let begins = "the definition of keystones.keystone.openstack.c5c3.io in this cluster is an earlier version's";
        assert!(refused.starts_with(begins), "{refused}");
        assert!(server.requests("/keystones?watch=true").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn operators_start_once_the_upgrade_of_a_definition_is_published() {
        let server = Server::default();
        server.state().published = Some(outdated());
        let (cache, api) = (Cache::new(&keystones(), &[]), server.api());
        let upgraded = async {
            until("a list", || !server.requests("/keystones?").is_empty()).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(cache.state(KEYSTONE, ""), State::Starting);
            server.state().published = Some(own());
            until("the kind", || cache.state(KEYSTONE, "") == State::Live).await;
        };
        during(follow(&cache, &api, KEYSTONE, ""), upgraded).await;
    }

    #[tokio::test(start_paused = true)]
    async fn kind_is_not_relied_on_until_its_definition_is_published() {
        let server = Server::default();
        let (cache, api) = (Cache::new(&keystones(), &[]), server.api());
        let publish = async {
            until("a list", || !server.requests("/keystones?").is_empty()).await;
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert_eq!(cache.state(KEYSTONE, ""), State::Starting);
            server.state().published = Some(foreign());
            pending::<RunError>().await
        };
        let refused = tokio::select! {
            error = follow(&cache, &api, KEYSTONE, "") => error,
            error = publish => error,
        };
        assert!(matches!(refused, RunError::Foreign { plural, .. } if plural == KEYSTONE.plural));
        assert!(server.requests("watch=true").is_empty());
    }

    /// How long it takes until Keystones are known, in seconds.
    async fn seconds_until_known(server: &Server) -> u64 {
        let (cache, api) = (Cache::new(&keystones(), &[]), server.api());
        let is_live = || cache.state(KEYSTONE, "") == State::Live;
        let began = Instant::now();
        during(
            follow(&cache, &api, KEYSTONE, ""),
            until("the kind", is_live),
        )
        .await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn kind_is_read_at_once_where_what_is_published_may_not_be_read() {
        let server = Server::default();
        server.state().forbidden.insert("openapi");
        assert_eq!(seconds_until_known(&server).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn kind_is_read_in_the_end_where_the_api_server_publishes_nothing_or_does_not_answer() {
        let server = Server::default();
        assert!((5..=15).contains(&seconds_until_known(&server).await));
        server.state().delay = Some(("/openapi/", TIMEOUT * 2));
        assert!((15..=60).contains(&seconds_until_known(&server).await));
    }

    const KINDS: [ResourceKind; 4] = [THING, WIDGET, SECRET, DEFINITION];

    #[tokio::test]
    async fn watch_through_a_black_hole_is_found_lost_and_recovers() {
        let server = Server::default();
        let hole = Hole::start(&server).await;
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        let api = Api::new(hole.client(), metrics.clone());
        let cache = Arc::new(Cache::new(&things(), &[]));
        let pages = Pages {
            cache: Arc::clone(&cache),
            guards: BTreeMap::new(),
            metrics,
            registry,
        };
        let page = |path| match pages.page(path) {
            Answer::Text(text) | Answer::Metrics(text) | Answer::Unavailable(text) => text,
            Answer::NotFound | Answer::Failed => String::new(),
        };
        let lost = |kind| format!("operator_unknown{{kind=\"{kind}\"}} 1\n");
        during(
            join_all(KINDS.map(|kind| follow(&cache, &api, kind, ""))),
            async {
                until("watches", || server.requests("watch=true").len() == KINDS.len()).await;
                assert_eq!(page("/readyz"), "ok\n");
                assert!(!page("/metrics").contains(&lost("Secret")));

                hole.swallow(true);
                tokio::time::pause();
                let began = Instant::now();
                let is_lost = |kind| matches!(cache.state(kind, ""), State::Unknown(_));
                until("the loss", || KINDS.iter().all(|kind| is_lost(*kind))).await;
                assert!(
                    began.elapsed() < Duration::from_secs(330),
                    "{:?}",
                    began.elapsed()
                );
                assert_eq!(
                    page("/readyz"),
                    "Secret: secrets can't be read now: the API server did not answer within 5 s\n\
                 CustomResourceDefinition: customresourcedefinitions.apiextensions.k8s.io can't be read now: the API server did not \
                 answer within 5 s\n\
                 Thing: things.test can't be read now: the API server did not answer within 5 s\n\
                 Widget: widgets.test can't be read now: the API server did not answer within 5 s\n"
                );
                assert!(page("/metrics").contains(&lost("Secret")));

                hole.swallow(false);
                tokio::time::resume();
                server.put(SECRET, "a", "late", serde_json::json!({}));
                until("the recovery", || page("/readyz") == "ok\n").await;
                let late = provider_composer::Key::new(SECRET, "a", "late");
                until("the change", || !cache.find(&late).is_missing()).await;
            },
        )
        .await;
    }
}
