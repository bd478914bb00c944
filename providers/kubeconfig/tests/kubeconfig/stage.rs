//! A management cluster in memory with a ShootKubeconfig, and a simulated Gardener.

use std::cell::RefCell;
use std::rc::Rc;

use c5c3_api::shoot_kubeconfig::ShootKubeconfigSpec;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Custom, Key};
use provider_composer_testing::{Cluster, System, secret_with};
use provider_kubeconfig::ShootKubeconfig;
use provider_kubeconfig::garden::{Answer, Issued, Query, SYSTEM};
use serde_json::{Value, json};

const NAMESPACE: &str = "crossplane-system";

/// Gardener's API: what it answers, none while it can't be reached, and what was requested of it.
#[derive(Clone, Default)]
pub struct Garden(pub Rc<RefCell<(Option<Answer>, Vec<Query>)>>);

impl System for Garden {
    fn answer(&self, query: &str) -> Option<Value> {
        let mut garden = self.0.borrow_mut();
        garden.1.push(serde_json::from_str(query).unwrap());
        garden
            .0
            .as_ref()
            .map(|answer| serde_json::to_value(answer).unwrap())
    }

    fn call(&mut self, _: &str) -> Result<(), String> {
        Err("nothing is called".to_owned())
    }
}

/// A management cluster with a ShootKubeconfig.
pub struct Stage {
    pub cluster: Cluster,
    pub garden: Garden,
    pub key: Key,
}

pub fn secret(name: &str) -> Key {
    Key::of::<Secret>(NAMESPACE, name)
}

pub fn target() -> Key {
    secret("hv-pool-a-kubeconfig")
}

pub fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

impl Stage {
    /// Without the kubeconfig of Gardener's API.
    pub fn bare() -> Self {
        let garden = Garden::default();
        let mut cluster = Cluster::default();
        cluster.join(SYSTEM, garden.clone());
        let key = Key::of::<Custom<ShootKubeconfigSpec>>(NAMESPACE, "hv-pool-a");
        let spec = json!({
            "garden": { "name": "requester" },
            "shoot": { "namespace": "garden-c5c3", "name": "hv-pool-a" },
            "target": { "name": "hv-pool-a-kubeconfig" },
        });
        cluster.put(&key, &json!({ "spec": spec }));
        Self {
            cluster,
            garden,
            key,
        }
    }

    pub fn new() -> Self {
        let mut stage = Self::bare();
        stage.put_secret(&secret("requester"), "kubeconfig", "of the garden");
        stage
    }

    /// With a kubeconfig that was issued now.
    pub fn issued() -> Self {
        let mut stage = Self::new();
        stage.issue("first", hours(24));
        stage.reconcile();
        assert_eq!(stage.kubeconfig().as_deref(), Some("first"));
        stage
    }

    pub fn put_secret(&mut self, key: &Key, name: &str, value: &str) {
        self.cluster.put(key, &secret_with(&[(name, value)]));
    }

    /// Has Gardener issue this kubeconfig, which expires after a time.
    pub fn issue(&mut self, kubeconfig: &str, life: SignedDuration) {
        let now = self.cluster.now();
        self.answer(Some(Answer::Issued(Issued {
            kubeconfig: kubeconfig.to_owned(),
            issued: now.to_string(),
            expires: (now + life).to_string(),
        })));
    }

    pub fn answer(&mut self, answer: Option<Answer>) {
        self.garden.0.borrow_mut().0 = answer;
    }

    pub fn reconcile(&mut self) {
        self.cluster.settle(&ShootKubeconfig, &self.key);
    }

    pub fn requests(&self) -> usize {
        self.garden.0.borrow().1.len()
    }

    /// The kubeconfig in the Secret.
    pub fn kubeconfig(&self) -> Option<String> {
        self.cluster.value(&target(), "kubeconfig")
    }

    /// Reason and message of Ready, and whether it is True.
    pub fn ready(&self) -> (bool, String, String) {
        let [status, reason, message] = self.cluster.condition(&self.key, "Ready").unwrap();
        (status == "True", reason, message)
    }

    /// Whether the last event is a Warning.
    pub fn is_warned(&self) -> bool {
        self.cluster
            .events()
            .last()
            .is_some_and(|event| event.is_warning)
    }
}
