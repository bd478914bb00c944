//! One plan, from claims and pools to the result.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_api::Generation;
use function_c5c3::Claims;
use jiff::Timestamp;
use provider_composer::Operator;
use provider_control_plane::credentials::{flavors, keystone, neutron, rabbitmq};
use provider_operators::control_plane_operators;
use serde_json::{Value, json};

use crate::Error;
use crate::composite::composite;
use crate::compositions::Compositions;
use crate::controller::{Controller, Flavors, Keystone, Neutron, RabbitMq, Simulated, stored};
use crate::crossplane::required::Wanted;
use crate::crossplane::{Composite, Crossplane};
use crate::input::{Files, Given};
use crate::kind::ClaimKind;
use crate::manifest::Manifest;
use crate::operators::Operators;
use crate::outcome::Plan;
use crate::placeholder;
use crate::provider::Provider;
use crate::resource::{CONTROL_PLANE, GARDEN, SHOOT};
use crate::settle::settle;
use crate::store::{Key, MANAGEMENT, Store};

/// The options of a plan.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which generation of Crossplane.
    pub generation: Generation,
    /// The environment that the function gets.
    pub compositions: Compositions,
    /// The Composition of OpenStackClusters that choose none, instead of the usual one.
    pub composition: Option<String>,
    /// Whether to go on as if every pool were there, and everything composed were ready.
    pub assume_ready: bool,
    /// Objects that a cluster has already, by the cluster's name.
    pub present: BTreeMap<String, Vec<Manifest>>,
    /// The moment of the plan.
    pub now: Timestamp,
}

/// The creation time of a claim whose file has none: after all those that have one.
const NOW: &str = "9999-12-31T23:59:59Z";

/// Phases in which a pool can be consumed.
const USABLE: [&str; 3] = ["Ready", "Scaling", "Expanding"];

/// Runs everything that would run in the clusters until nothing changes. Pools are composed first, then who consumes them,
/// so nobody waits for a pool that was only a moment behind. What is given without a claim is in the cluster
/// [`CONTROL_PLANE`].
///
/// Pools come up, unless their file has a status that says otherwise. The parts of control planes don't, unless
/// `assume_ready` is set; then missing pools are made up as well, and no status counts but who consumes a pool.
///
/// # Errors
/// The Compositions lack one that is asked for, or nothing comes to rest. A claim that can't be composed is no error: the
/// plan says so.
pub fn plan(files: &Files, settings: &Settings) -> Result<Plan, Error> {
    let operators = control_plane_operators();
    let mut assumed: Vec<Given> = Vec::new();
    loop {
        let mut run = Run::new(settings, &operators);
        for shoot in &files.shoots {
            run.store.apply(GARDEN, shoot.clone(), None);
        }
        run.add(files.given.iter().chain(&assumed))?;
        run.add_resources(&files.resources);
        run.settle()?;
        run.crossplane.compose_claims();
        run.settle()?;
        let missing = run.crossplane.missing(&run.store);
        if settings.assume_ready && !missing.is_empty() {
            for (wanted, region) in &missing {
                assumed.push(made_up(wanted, region)?);
            }
            continue;
        }
        let (run, assumed_secrets) = run.with_secrets()?;
        let assumed = assumed
            .iter()
            .map(|given| Key::of(MANAGEMENT, &given.manifest));
        let plan = Plan::of(
            &run.store,
            &run.crossplane,
            &run.controller,
            &assumed.collect(),
            missing.into_keys().collect(),
            settings.assume_ready,
        );
        return Ok(Plan {
            assumed_secrets,
            unused_shoots: run.unused_shoots(),
            ..plan
        });
    }
}

/// The least that a cluster of this name can be.
fn made_up(wanted: &Wanted, region: &str) -> Result<Given, Error> {
    let mut spec = json!({ "region": region });
    if wanted.kind != ClaimKind::ControlPlaneCluster {
        spec["name"] = json!(wanted.name);
    }
    let manifest = Manifest::try_from(json!({
        "apiVersion": wanted.kind.api_version(),
        "kind": wanted.kind.name(),
        "metadata": { "name": wanted.name, "namespace": wanted.namespace },
        "spec": spec,
    }))?;
    Ok(Given {
        kind: wanted.kind,
        manifest,
    })
}

/// The external systems of those operators.
fn external() -> BTreeMap<&'static str, Box<dyn Simulated>> {
    let identity: Box<dyn Simulated> = Box::new(Keystone::default());
    let network: Box<dyn Simulated> = Box::new(Neutron::default());
    let compute: Box<dyn Simulated> = Box::new(Flavors::default());
    let messaging: Box<dyn Simulated> = Box::new(RabbitMq);
    BTreeMap::from([
        (keystone::SYSTEM, identity),
        (neutron::SYSTEM, network),
        (flavors::SYSTEM, compute),
        (rabbitmq::SYSTEM, messaging),
    ])
}

#[derive(Clone)]
struct Run<'a> {
    settings: &'a Settings,
    store: Store,
    crossplane: Crossplane<'a>,
    controller: Controller<'a>,
    /// Claims and resources of which what they compose becomes ready.
    coming_up: BTreeSet<Key>,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings, operators: &'a [Box<dyn Operator>]) -> Self {
        let crossplane = Crossplane {
            function: &Claims,
            generation: settings.generation,
            compositions: &settings.compositions,
            composition: settings.composition.as_deref(),
            composites: BTreeMap::new(),
            pools_only: true,
        };
        let mut store = Store::default();
        for (cluster, objects) in &settings.present {
            for object in objects {
                store.apply(cluster, object.clone(), None);
            }
        }
        Self {
            settings,
            store,
            crossplane,
            controller: Controller {
                operators,
                now: settings.now,
                external: external(),
                reconciled: BTreeMap::new(),
            },
            coming_up: BTreeSet::new(),
        }
    }

    /// Puts claims, and their composite resources, into the management cluster.
    fn add<'g>(&mut self, given: impl Iterator<Item = &'g Given>) -> Result<(), Error> {
        for Given { kind, manifest } in given {
            let status = if kind.is_pool() {
                manifest.status()
            } else {
                &Value::Null
            };
            let claim = manifest.clone().with_status(Value::Null);
            let created = match claim.text("/metadata/creationTimestamp") {
                "" => NOW,
                created => created,
            };
            let composite = composite(&claim, *kind, self.settings.generation)?;
            let uid = uid(&composite, &claim, &self.store);
            let composite = composite
                .with_metadata("creationTimestamp", created)
                .with_metadata("uid", &uid)
                .with_status(status.clone());
            let claim = Key::of(MANAGEMENT, &claim);
            let key = Key::of(MANAGEMENT, &composite);
            if key != claim {
                self.store.apply(MANAGEMENT, manifest.clone(), None);
            }
            let maker = (key != claim).then_some(&claim);
            self.store.apply(MANAGEMENT, composite, maker);

            let assume_ready = self.settings.assume_ready;
            let given_status = if assume_ready {
                Value::Null
            } else {
                status.clone()
            };
            let phase = given_status["phase"].as_str();
            let assumed = phase.is_none() && (assume_ready || kind.is_pool());
            if assumed || phase.is_some_and(|phase| USABLE.contains(&phase)) {
                self.coming_up.insert(claim.clone());
            }
            let composite = Composite::new(*kind, claim, given_status, assumed);
            self.crossplane.composites.insert(key, composite);
        }
        Ok(())
    }

    /// Puts resources that were given without a claim where they belong.
    fn add_resources(&mut self, resources: &[Manifest]) {
        for manifest in resources {
            let key = self
                .store
                .apply(CONTROL_PLANE, stored(manifest.clone()), None);
            if self.settings.assume_ready {
                self.coming_up.insert(key);
            }
        }
    }

    /// Goes on with the Secrets that users create and that weren't given, if they are to be assumed. That an operator generates
    /// one of them is known only once what the operator waits for is there: then it starts from here without that one.
    fn with_secrets(self) -> Result<(Self, Vec<Key>), Error> {
        if !self.settings.assume_ready {
            return Ok((self, Vec::new()));
        }
        let mut generated = BTreeSet::new();
        loop {
            let mut run = self.clone();
            let assumed = run.assume_secrets(&generated)?;
            let known = generated.len();
            generated.extend(run.controller.generated(&assumed));
            if generated.len() == known {
                return Ok((run, assumed));
            }
        }
    }

    /// Assumes the Secrets that users create and that weren't given, except those that an operator generates.
    fn assume_secrets(&mut self, generated: &BTreeSet<Key>) -> Result<Vec<Key>, Error> {
        let mut assumed = Vec::new();
        loop {
            let missing = self.controller.missing_secrets(&self.store);
            let missing: Vec<Key> = missing.difference(generated).cloned().collect();
            if missing.is_empty() {
                return Ok(assumed);
            }
            for key in missing {
                let secret =
                    placeholder::of_a_user(&key.namespace, &key.name, ceph_user(&self.store, &key));
                self.store
                    .apply(&key.cluster, Manifest::try_from(secret)?, None);
                assumed.push(key);
            }
            self.settle()?;
        }
    }

    /// The given Shoots that no Object is for.
    fn unused_shoots(&self) -> Vec<Key> {
        let api_version = SHOOT.api_version();
        let given = self.store.of_kind(GARDEN, &api_version, SHOOT.kind, None);
        given
            .map(|(key, _)| key)
            .filter(|given| {
                let mut all = self.store.iter().map(|(key, _)| key);
                !all.any(|key| {
                    key.cluster != GARDEN
                        && (&key.kind, &key.namespace, &key.name)
                            == (&given.kind, &given.namespace, &given.name)
                })
            })
            .cloned()
            .collect()
    }

    fn settle(&mut self) -> Result<(), Error> {
        let coming_up = &self.coming_up;
        let mut operators = Operators::new(|claim: &Key| coming_up.contains(claim));
        settle(
            &mut self.store,
            &mut [
                &mut self.crossplane,
                &mut Provider::default(),
                &mut self.controller,
                &mut operators,
            ],
        )
    }
}

/// The UID of a composite resource: the one given, the one that objects of its claim already have, or a placeholder.
fn uid(composite: &Manifest, claim: &Manifest, store: &Store) -> String {
    let of_the_claim = |object: &&Manifest| object.annotation("c5c3.io/claim") == claim.path();
    let mut objects = store.iter().map(|(_, object)| object);
    let recorded = objects.find(of_the_claim);
    let recorded = recorded.map_or("", |object| object.label("c5c3.io/claim-uid"));
    match (composite.text("/metadata/uid"), recorded) {
        ("", "") => placeholder::identifier(&composite.title()),
        ("", recorded) => recorded.to_owned(),
        (given, _) => given.to_owned(),
    }
}

/// The user of Ceph whose key a resource in its namespace expects in a Secret.
fn ceph_user<'s>(store: &'s Store, secret: &Key) -> Option<&'s str> {
    fn find<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
        match value {
            Value::Object(fields) => {
                let is_it = value["cephSecretRef"]["name"] == name;
                let user = fields.get("user").and_then(Value::as_str);
                user.filter(|_| is_it)
                    .or_else(|| fields.values().find_map(|value| find(value, name)))
            }
            Value::Array(values) => values.iter().find_map(|value| find(value, name)),
            _ => None,
        }
    }
    let beside = |key: &Key| (&key.cluster, &key.namespace) == (&secret.cluster, &secret.namespace);
    let mut manifests = store.iter().filter(|(key, _)| beside(key));
    manifests.find_map(|(_, manifest)| find(manifest.value(), &secret.name))
}
