//! A control plane whose catalogue is composed and nothing else, with a K-ORC and a Keystone that do as they are told.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use c5c3_api::control_plane::ControlPlaneSpec;
use c5c3_api::credential_rotation::CredentialRotationSpec;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Key, Operator, ResourceKind};
use provider_composer_testing::{Cluster, System, secret_with};
use provider_control_plane::credentials::keystone::{
    Answer, Call, Change, HandedOut, Query, SYSTEM, Scope,
};
use provider_control_plane::rotation::CredentialRotationComposer;
use provider_control_plane_fixtures::Catalogue;
use serde_json::{Value, json};

pub const NAMESPACE: &str = "openstack";

/// What a Keystone knows.
#[derive(Default)]
pub struct Known {
    pub answer: Answer,
    /// Roles in projects and domains of others than the services.
    pub roles: BTreeMap<Scope, BTreeMap<String, BTreeSet<String>>>,
    /// Where roles were asked for, and of which user; without one, those of all.
    pub asked: BTreeSet<(Scope, Option<String>)>,
    pub is_up: bool,
    pub calls: usize,
    /// The secrets that application credentials have in Keystone and not here, by ID.
    pub secrets: BTreeMap<String, String>,
    /// The IDs of users that aren't restricted.
    pub exempt: BTreeSet<String>,
}

struct Keystone(Rc<RefCell<Known>>);

impl System for Keystone {
    fn answer(&self, query: &str) -> Option<Value> {
        let mut known = self.0.borrow_mut();
        let query: Query = serde_json::from_str(query).unwrap();
        known.asked.insert((query.scope.clone(), query.user));
        let roles = match query.scope {
            Scope::Named(_) => known.answer.roles.clone(),
            scope => known.roles.get(&scope).cloned().unwrap_or_default(),
        };
        let is_lost = |credential: &HandedOut| {
            let other = known.secrets.get(&credential.id);
            known.answer.lost.contains(&credential.id)
                || other.is_some_and(|secret| *secret != credential.secret)
        };
        let lost = query.credentials.into_values().filter(is_lost);
        let lost: BTreeSet<String> = lost.map(|credential| credential.id).collect();
        let answer = Answer {
            roles,
            regions: known.answer.regions.clone(),
            lost,
            restricted: &query.exempt - &known.exempt,
        };
        known.is_up.then(|| serde_json::to_value(answer).unwrap())
    }

    fn call(&mut self, call: &str) -> Result<(), String> {
        let call: Call = serde_json::from_str(call).unwrap();
        let mut known = self.0.borrow_mut();
        known.calls += 1;
        match call.change {
            Change::Grant { user, role, scope } => {
                let users = match scope {
                    Scope::Named(_) => &mut known.answer.roles,
                    scope => known.roles.entry(scope).or_default(),
                };
                users.entry(user).or_default().insert(role);
            }
            Change::Revoke { user, role, scope } => {
                let users = known.roles.get_mut(&scope);
                users.unwrap().get_mut(&user).unwrap().remove(&role);
            }
            Change::Exempt { user } => {
                known.exempt.insert(user);
            }
            Change::Place { endpoint, region } => {
                known.answer.regions.insert(endpoint, region);
            }
        }
        Ok(())
    }
}

pub struct Stage {
    pub cluster: Cluster,
    pub keystone: Rc<RefCell<Known>>,
    pub control_plane: Key,
    /// Counts what K-ORC has made, for IDs.
    made: usize,
}

impl Stage {
    /// A control plane with only Glance and Nova, and the password of Keystone's first user.
    pub fn new(spec: &Value) -> Self {
        Self::named("production", spec)
    }

    /// The same with another name.
    pub fn named(name: &str, spec: &Value) -> Self {
        let keystone = Rc::new(RefCell::new(Known {
            is_up: true,
            ..Known::default()
        }));
        let mut cluster = Cluster::default();
        cluster.join(SYSTEM, Keystone(Rc::clone(&keystone)));
        let kind = ResourceKind::of::<ControlPlaneSpec>();
        let control_plane = Key::new(kind, NAMESPACE, name);
        let mut wanted = json!({ "services": {
            "placement": { "enabled": false },
            "neutron": { "enabled": false },
            "cinder": { "enabled": false },
        } });
        for (field, value) in spec.as_object().unwrap() {
            wanted[field] = value.clone();
        }
        cluster.put(&control_plane, &json!({ "spec": wanted }));
        let mut stage = Self {
            cluster,
            keystone,
            control_plane,
            made: 0,
        };
        stage.put_secret(
            "keystone-admin-credentials",
            &[("username", "admin"), ("password", "pa55word")],
        );
        stage
    }

    pub fn put_secret(&mut self, name: &str, values: &[(&str, &str)]) {
        self.cluster.put(&secret(name), &secret_with(values));
    }

    /// The control plane's operator looks once.
    pub fn look(&mut self) {
        let key = self.control_plane.clone();
        // A failure is in the status.
        let _ = self.cluster.reconcile(&Catalogue, &key);
    }

    /// K-ORC does what it can: each object once that it refers to nothing that isn't there.
    pub fn korc(&mut self) {
        let keys: Vec<Key> = self.cluster.objects().keys().cloned().collect();
        for key in keys
            .into_iter()
            .filter(|key| key.kind.group == "openstack.k-orc.cloud")
        {
            self.make(&key);
        }
    }

    /// K-ORC does what it can with one object.
    pub fn make(&mut self, key: &Key) {
        let Some(object) = self.cluster.get(key) else {
            return;
        };
        if object.pointer("/metadata/deletionTimestamp").is_some() {
            self.cluster.release(key);
            return;
        }
        let refers = |field: &str| {
            let name = object.pointer(&format!("/spec/{field}"))?.as_str()?;
            Some(self.cluster.get(&secret(name)).is_some())
        };
        let fields = [
            "cloudCredentialsRef/secretName",
            "resource/passwordRef",
            "resource/secretRef",
        ];
        let lacks = fields.iter().any(|field| refers(field) == Some(false));
        if lacks || object.pointer("/status/id").is_some() {
            return;
        }
        self.made += 1;
        let (generation, id) = (object["metadata"]["generation"].clone(), self.made);
        let id = format!("{}-{id}", key.name);
        self.say(key, &id, "True", &generation);
    }

    pub fn say(&mut self, key: &Key, id: &str, available: &str, generation: &Value) {
        let status = json!({
            "id": id,
            "conditions": [{
                "type": "Available",
                "status": available,
                "reason": "Success",
                "observedGeneration": generation,
            }],
        });
        self.cluster.set_status(key, status);
    }

    /// Everybody looks until nothing changes any more.
    pub fn settle(&mut self) {
        for _ in 0..32 {
            let before = (self.cluster.writes(), self.keystone.borrow().calls);
            self.look();
            self.korc();
            self.rotate();
            if (self.cluster.writes(), self.keystone.borrow().calls) == before {
                return;
            }
        }
        unreachable!("it never settles");
    }

    /// Everybody looks until nothing changes any more, or the operator has written so much and is killed. Whether it was.
    pub fn settle_until(&mut self, writes: usize) -> bool {
        let mut left = writes;
        for _ in 0..32 {
            let before = (self.cluster.writes(), self.keystone.borrow().calls);
            let control_plane = self.control_plane.clone();
            let rotations = self.keys(ResourceKind::of::<CredentialRotationSpec>());
            if self.look_until(&Catalogue, &control_plane, &mut left) {
                return true;
            }
            self.korc();
            for key in rotations {
                if self.look_until(&CredentialRotationComposer, &key, &mut left) {
                    return true;
                }
            }
            if (self.cluster.writes(), self.keystone.borrow().calls) == before {
                return false;
            }
        }
        unreachable!("it never settles");
    }

    /// One look, with so many writes left. Whether they were all used up.
    fn look_until(&mut self, operator: &dyn Operator, key: &Key, left: &mut usize) -> bool {
        let before = self.cluster.writes();
        // A failure is in the status.
        let _ = self.cluster.reconcile_until(operator, key, *left);
        *left -= self.cluster.writes() - before;
        *left == 0
    }

    /// External Secrets brings what was pushed.
    pub fn bring(&mut self) {
        let names: Vec<String> = self
            .names("ExternalSecret")
            .into_iter()
            .map(str::to_owned)
            .collect();
        for name in names {
            let source = self.cluster.get(&secret(&format!("{name}-source")));
            let data = source.unwrap()["data"].clone();
            self.cluster.put(&secret(&name), &json!({ "data": data }));
        }
    }

    /// All rotations are looked at once.
    pub fn rotate(&mut self) {
        let kind = ResourceKind::of::<CredentialRotationSpec>();
        let rotations: Vec<Key> = self.keys(kind);
        for key in rotations {
            let _ = self.cluster.reconcile(&CredentialRotationComposer, &key);
        }
    }

    pub fn wait(&mut self, days: i64) {
        self.cluster.wait(SignedDuration::from_hours(24 * days));
    }

    pub fn keys(&self, kind: ResourceKind) -> Vec<Key> {
        let keys = self.cluster.objects().keys();
        keys.filter(|key| key.kind == kind).cloned().collect()
    }

    pub fn names(&self, kind: &str) -> Vec<&str> {
        let keys = self.cluster.objects().keys();
        keys.filter(|key| key.kind.kind == kind)
            .map(|key| key.name.as_str())
            .collect()
    }

    /// A value of a Secret.
    pub fn value(&self, name: &str, key: &str) -> Option<String> {
        self.cluster.value(&secret(name), key)
    }

    /// Status, reason and message of a condition.
    pub fn condition(&self, key: &Key, type_: &str) -> (String, String, String) {
        self.cluster.condition(key, type_).unwrap().into()
    }

    pub fn ready(&self) -> (String, String, String) {
        self.condition(&self.control_plane, "KORCReady")
    }
}

pub fn secret(name: &str) -> Key {
    Key::of::<Secret>(NAMESPACE, name)
}

pub fn korc(kind: &'static str, plural: &'static str, name: &str) -> Key {
    let kind = ResourceKind::namespaced("openstack.k-orc.cloud", "v1alpha1", kind, plural);
    Key::new(kind, NAMESPACE, name)
}

pub fn application_credential(name: &str) -> Key {
    korc("ApplicationCredential", "applicationcredentials", name)
}
