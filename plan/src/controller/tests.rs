//! A composer of two steps, reconciled over the store.

use std::collections::BTreeMap;

use c5c3_api::secret_aggregate::{SecretAggregateSpec, SecretAggregateStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use provider_composer::{
    Composer, DesiredState, ExternalRequest, Failure, Generated, Lookup, ObservedState, Operator,
    Progress, Reason, Resource, Subject, Use,
};
use serde_json::{Value, json};

use super::{Controller, Simulated, stored};
use crate::manifest::Manifest;
use crate::settle::settle;
use crate::store::{Key, Store};

/// Generates a password; once it exists, calls a system; once that has responded, composes a ConfigMap.
struct Stepwise;

impl Composer for Stepwise {
    type Spec = SecretAggregateSpec;
    type Status = SecretAggregateStatus;
    const OPERATOR: &'static str = "stepwise-operator";

    fn uses(&self) -> Vec<Use> {
        vec![Use::composes(ConfigMap::KIND), Use::reads(Secret::KIND)]
    }

    fn compose(
        &self,
        subject: &Subject<SecretAggregateSpec>,
        observed: &ObservedState<'_>,
        desired: &mut DesiredState,
    ) -> Result<SecretAggregateStatus, Failure> {
        if subject.spec.sources.is_empty() {
            return Err(Failure::new(Reason::Invalid, "name a source"));
        }
        desired.generate(subject.namespace(), "drawn", Generated::credentials("nova"));
        let ask = || ExternalRequest {
            system: "bell",
            content: "rung?".to_owned(),
        };
        let drawn = observed.get::<Secret>(subject.namespace(), "drawn");
        let progress = match (drawn, observed.external(ask())) {
            (Lookup::Found(_), Lookup::Found(answer)) if *answer == json!(true) => {
                desired.apply(subject.namespace(), "made", &ConfigMap::default());
                Progress::Ready
            }
            (Lookup::Found(_), _) => {
                desired.call(ask());
                Progress::waiting(Reason::WaitingFor("Bell"), "waits for the bell")
            }
            _ => Progress::waiting(Reason::WaitingFor("Secret"), "waits for Secret drawn"),
        };
        desired.conditions.set("SourcesResolved", &progress);
        Ok(SecretAggregateStatus::default())
    }
}

/// A bell that rings when it is called.
#[derive(Clone)]
struct Bell(bool);

impl Simulated for Bell {
    fn observe(&self, _: &str) -> Value {
        json!(self.0)
    }

    fn call(&mut self, _: &str) -> bool {
        !std::mem::replace(&mut self.0, true)
    }
}

fn aggregate(sources: Value) -> Manifest {
    let value = json!({
        "apiVersion": "c5c3.io/v1alpha1",
        "kind": "SecretAggregate",
        "metadata": { "name": "all", "namespace": "openstack" },
        "spec": { "sources": sources, "target": { "name": "sum" } },
    });
    Manifest::try_from(value).unwrap()
}

fn key(kind: &str, name: &str) -> Key {
    Key {
        cluster: "here".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: "openstack".to_owned(),
        name: name.to_owned(),
    }
}

fn reconciled(store: &mut Store, check: impl Fn(&mut Controller<'_>, &mut Store)) {
    let operators: [Box<dyn Operator>; 1] = [Box::new(Stepwise)];
    let mut controller = Controller {
        operators: &operators,
        now: Timestamp::constant(1_769_904_000, 0),
        external: BTreeMap::from([("bell", Box::new(Bell(false)) as Box<dyn Simulated>)]),
        reconciled: BTreeMap::new(),
    };
    settle(store, &mut [&mut controller]).unwrap();
    check(&mut controller, store);
}

#[test]
fn a_composer_is_carried_until_nothing_changes_and_its_steps_are_known() {
    let mut store = Store::default();
    let sources = json!([{ "secretRef": { "name": "one" } }]);
    let subject = store.apply("here", aggregate(sources.clone()), None);
    reconciled(&mut store, |controller, store| {
        let steps = &controller.reconciled[&subject].steps;
        assert_eq!(
            *steps,
            [[key("Secret", "drawn")], [key("ConfigMap", "made")]]
        );
        assert!(controller.looked_up().contains(&key("Secret", "drawn")));
        let status = store.get(&subject).unwrap().status();
        assert_eq!(status["conditions"][1]["status"], "True", "{status}");

        store.remove(&key("ConfigMap", "made"));
        settle(store, &mut [controller]).unwrap();
        assert!(store.get(&key("ConfigMap", "made")).is_some());
    });
}

#[test]
fn a_secret_that_is_there_is_never_changed() {
    let mut store = Store::default();
    let present = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "drawn", "namespace": "openstack" },
        "stringData": { "password": "mine" },
    });
    let present = stored(Manifest::try_from(present).unwrap());
    store.apply("here", present.clone(), None);
    let sources = json!([{ "secretRef": { "name": "one" } }]);
    store.apply("here", aggregate(sources), None);
    reconciled(&mut store, |_, store| {
        assert_eq!(store.get(&key("Secret", "drawn")), Some(&present));
    });
}

#[test]
fn what_is_refused_changes_nothing_but_ready() {
    let mut store = Store::default();
    let subject = store.apply("here", aggregate(json!([])), None);
    reconciled(&mut store, |controller, store| {
        let failure = controller.reconciled[&subject].failure.as_ref().unwrap();
        assert_eq!(failure.to_string(), "name a source");
        let conditions = &store.get(&subject).unwrap().status()["conditions"];
        assert_eq!(conditions[0]["reason"], "Invalid");
        assert_eq!(store.made_by(&subject).count(), 0);
    });
}

#[test]
fn a_message_names_a_secret_by_its_whole_name() {
    let key = key("Secret", "glance-ceph");
    for message in [
        "waits for Secret glance-ceph with Ceph's configuration and key",
        "Cortex's PostgreSQL is managed externally, and Secret glance-ceph is missing: make it",
        "waits for Secret glance-ceph, which is yours",
    ] {
        assert!(super::names(message, &key), "{message}");
    }
    for message in [
        "waits for Secret glance-ceph-2",
        "waits for Job glance-ceph",
        "",
    ] {
        assert!(!super::names(message, &key), "{message}");
    }
}
