//! Everything that our operators work on in a cluster, at one moment. Pure, but for the first look.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_plan::{Branch, ClaimKind, Key, Manifest, Mark, Operated, Page, operated, readiness};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Operator, Owner, Resource};
use provider_operators::control_plane_operators;

use crate::against::composed;
use crate::cluster::Cluster;
use crate::error::Error;

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only what is called so, as `name` or `namespace/name`.
    pub name: Option<String>,
    /// Only what is in this namespace.
    pub namespace: Option<String>,
}

/// How a status is written.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// As a tree, for people.
    Tree(Page),
    /// As JSON, for programs.
    Json,
}

/// Objects of one cluster, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot(pub BTreeMap<Key, Manifest>);

/// A kind that is looked at, and the labels that its objects must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sought {
    pub api_version: String,
    pub kind: String,
    pub selector: &'static str,
}

/// The one cluster of a snapshot.
const HERE: &str = "";

/// Everything that the project's operators work on.
///
/// # Errors
/// The cluster can't be looked at, or there is nothing of the name.
pub async fn status(cluster: &Cluster, selection: &Selection, form: Form) -> Result<String, Error> {
    let mut snapshot = Snapshot::default();
    for sought in served(cluster).await? {
        let found = cluster
            .list(&sought.api_version, &sought.kind, sought.selector)
            .await?;
        for manifest in found {
            snapshot.insert(manifest);
        }
    }
    if let Some(name) = &selection.name
        && !snapshot.has(selection)
    {
        return Err(Error::NotFound(name.clone()));
    }
    Ok(match form {
        Form::Tree(page) => snapshot.tree(selection, page),
        Form::Json => format!("{:#}\n", snapshot.json(selection)),
    })
}

/// The kinds that are looked at, as far as the cluster serves them.
///
/// # Errors
/// It serves no ControlPlanes.
pub(crate) async fn served(cluster: &Cluster) -> Result<BTreeSet<Sought>, Error> {
    let mut served = BTreeSet::new();
    let mut installed = false;
    for sought in sought() {
        if cluster
            .served(&sought.api_version, &sought.kind)
            .await?
            .is_some()
        {
            installed |= sought.kind == "ControlPlane";
            served.insert(sought);
        }
    }
    match installed {
        true => Ok(served),
        false => Err(Error::NotInstalled),
    }
}

/// Claims, the resources of our operators, and what they make, but no Secrets: who looks at how things are needs no right to
/// read those.
fn sought() -> BTreeSet<Sought> {
    let claims = ClaimKind::ALL.into_iter().map(|kind| Sought {
        api_version: kind.api_version(),
        kind: kind.name().to_owned(),
        selector: "",
    });
    let subjects = control_plane_operators()
        .into_iter()
        .map(|operator| Sought {
            api_version: operator.subject().api_version(),
            kind: operator.subject().kind.to_owned(),
            selector: "",
        });
    let subjects: BTreeSet<Sought> = subjects.collect();
    let made = composed().into_iter().filter(|kind| *kind != Secret::KIND);
    let made = made.map(|kind| Sought {
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        selector: Owner::KIND,
    });
    let is_subject = |sought: &Sought| {
        let mut subjects = subjects.iter();
        subjects.any(|other| other.kind == sought.kind && other.api_version == sought.api_version)
    };
    let made: Vec<Sought> = made.filter(|sought| !is_subject(sought)).collect();
    claims.chain(subjects).chain(made).collect()
}

impl Snapshot {
    pub fn insert(&mut self, manifest: Manifest) -> Key {
        let key = Key::of(HERE, &manifest);
        self.0.insert(key.clone(), manifest);
        key
    }

    pub fn remove(&mut self, manifest: &Manifest) {
        self.0.remove(&Key::of(HERE, manifest));
    }

    /// Whether something goes by the name that is asked for.
    pub fn has(&self, selection: &Selection) -> bool {
        let mut shown = self.claims(selection).map(drop);
        shown.next().is_some() || !self.operated(selection).is_empty()
    }

    /// Claims first, then what our operators work on, each with what was made for it.
    pub fn tree(&self, selection: &Selection, page: Page) -> String {
        let claims = self
            .claims(selection)
            .map(|manifest| claim(manifest).render(page));
        let resources = self.operated(selection);
        let resources = resources.iter().map(|(resource, progress)| {
            let title = resource.resource.title();
            let title = match progress {
                (_, 0) => title,
                (ready, all) => format!("{title} ({ready} of {all} ready)"),
            };
            // Without a graph, it is shown with its conditions anyway.
            let known = resource.graph.iter();
            let known = known.flat_map(|_| conditions(&resource.resource));
            operated(&title, resource).with(known).render(page)
        });
        let blocks: Vec<String> = claims.chain(resources).collect();
        match (blocks.as_slice(), &selection.name) {
            ([], None) => "There is nothing yet: apply a ControlPlane or a claim.\n".to_owned(),
            ([], Some(name)) => format!("There is no {name} yet.\n"),
            (blocks, _) => blocks.join("\n"),
        }
    }

    /// What is shown, one line each, by object: for who follows without a terminal.
    pub fn lines(&self, selection: &Selection) -> BTreeMap<String, String> {
        let resources = self.operated(selection);
        let made = resources
            .iter()
            .flat_map(|(resource, _)| resource.all())
            .flat_map(|operated| &operated.manifests);
        let titles = resources.iter().map(|(resource, _)| &resource.resource);
        self.claims(selection)
            .chain(titles)
            .chain(made)
            .map(|manifest| {
                let state = match readiness(manifest) {
                    c5c3_plan::Readiness::Ready => "ready".to_owned(),
                    c5c3_plan::Readiness::Waiting(why) if why.is_empty() => "not ready".to_owned(),
                    c5c3_plan::Readiness::Waiting(why) => format!("not ready: {why}"),
                };
                (manifest.title(), state)
            })
            .collect()
    }

    pub(crate) fn claims<'a>(
        &'a self,
        selection: &'a Selection,
    ) -> impl Iterator<Item = &'a Manifest> {
        let all = self.0.values();
        all.filter(|manifest| ClaimKind::of(manifest).is_some() && selection.picks(manifest))
    }

    /// What our operators work on and nobody else of ours made, with how many of its parts are ready and how many it has.
    pub(crate) fn operated(&self, selection: &Selection) -> Vec<(Operated, (usize, usize))> {
        let operators = control_plane_operators();
        let subjects = self
            .0
            .values()
            .filter(|manifest| selection.picks(manifest) && owner(manifest).is_none());
        let operated = subjects.filter_map(|manifest| self.made_of(manifest, &operators));
        operated
            .map(|operated| {
                let progress = operated.progress();
                (operated, progress)
            })
            .collect()
    }

    /// What was made of a resource, if one of our operators works on it.
    fn made_of(&self, resource: &Manifest, operators: &[Box<dyn Operator>]) -> Option<Operated> {
        let operator = operators.iter().find(|operator| {
            let kind = operator.subject();
            kind.kind == resource.kind() && kind.api_version() == resource.api_version()
        })?;
        let of = owner_of(resource);
        let made = self.0.values();
        let made = made.filter(|made| owner(made).as_ref() == Some(&of));
        let made = made.map(|made| (made.clone(), self.made_of(made, operators)));
        Some(Operated::live(
            operator.name(),
            resource.clone(),
            made.collect(),
        ))
    }
}

impl Selection {
    fn picks(&self, manifest: &Manifest) -> bool {
        let namespace = self.namespace.as_deref();
        let name = self.name.as_ref();
        namespace.is_none_or(|namespace| namespace == manifest.namespace())
            && name.is_none_or(|name| *name == manifest.name() || *name == manifest.path())
    }
}

/// The owner that an object's labels name.
pub(crate) fn owner(manifest: &Manifest) -> Option<Owner> {
    let labels = manifest.value()["metadata"]["labels"].as_object()?;
    let labels = labels
        .iter()
        .filter_map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned())));
    Owner::from_labels(&labels.collect())
}

/// The owner that a resource is.
pub(crate) fn owner_of(manifest: &Manifest) -> Owner {
    Owner {
        kind: manifest.kind().to_owned(),
        namespace: manifest.namespace().to_owned(),
        name: manifest.name().to_owned(),
    }
}

fn claim(manifest: &Manifest) -> Branch {
    let phase = match manifest.text("/status/phase") {
        "" => "Unknown",
        phase => phase,
    };
    Branch::new(format!("{}: {phase}", manifest.title()))
        .marked(Mark::from(readiness(manifest).is_ready()))
        .with(conditions(manifest))
}

fn conditions(manifest: &Manifest) -> impl Iterator<Item = Branch> {
    let conditions = c5c3_plan::conditions(manifest);
    let branch = (!conditions.is_empty()).then(|| c5c3_plan::listed(&conditions));
    branch.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(api_version: &str, kind: &str, name: &str, status: Value) -> Value {
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": name, "namespace": "openstack", "generation": 1 },
            "status": status,
        })
    }

    fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    fn made(mut object: Value) -> Value {
        object["metadata"]["labels"] = json!({
            "c5c3.io/owner-kind": "ControlPlane",
            "c5c3.io/owner-namespace": "openstack",
            "c5c3.io/owner-name": "production",
        });
        object
    }

    /// A claim, and a control plane with a database that is ready, one that goes, and a cache that has a pod too few.
    fn snapshot() -> Snapshot {
        let why = "StatefulSet openstack-memcached: 1 of 3 pods are ready";
        let ready = json!({ "conditions": [condition("Ready", "True", "Ready", "")] });
        let mut cache = object(
            "apps/v1",
            "StatefulSet",
            "openstack-memcached",
            json!({
                "observedGeneration": 1, "readyReplicas": 1,
            }),
        );
        cache["spec"] = json!({ "replicas": 3 });
        let mut leaving = made(object(
            "k8s.mariadb.com/v1alpha1",
            "Grant",
            "old",
            ready.clone(),
        ));
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        leaving["metadata"]["finalizers"] = json!(["mariadb.com/grant"]);
        let mut control_plane = object(
            "c5c3.io/v1alpha1",
            "ControlPlane",
            "production",
            json!({ "conditions": [condition("Ready", "False", "WaitingForMemcached", why)] }),
        );
        let off = json!({ "enabled": false });
        control_plane["spec"] =
            json!({ "services": { "nova": off, "neutron": off, "cinder": off } });
        let objects = [
            object(
                "c5c3.io/v1alpha1",
                "OpenStackCluster",
                "tenant",
                json!({
                    "phase": "Provisioning",
                    "conditions": [condition("Ready", "False", "Waiting", "the control plane isn't ready")],
                }),
            ),
            object(
                "c5c3.io/v1alpha1",
                "SecretAggregate",
                "all",
                json!({ "conditions": [
                    condition("SourcesResolved", "False", "InvalidSecret", "Secret one has no key a"),
                    condition("Ready", "False", "InvalidSecret", "Secret one has no key a"),
                ] }),
            ),
            control_plane,
            made(object(
                "k8s.mariadb.com/v1alpha1",
                "MariaDB",
                "openstack-db",
                ready,
            )),
            made(cache),
            leaving,
        ];
        let mut snapshot = Snapshot::default();
        for object in objects {
            snapshot.insert(Manifest::try_from(object).unwrap());
        }
        snapshot
    }

    #[test]
    fn each_waiting_thing_says_what_it_waits_for_and_how_far_all_is() {
        insta::assert_snapshot!(snapshot().tree(&Selection::default(), Page::PLAIN));
        let lines = snapshot().lines(&Selection::default());
        let lines: Vec<String> = lines
            .iter()
            .map(|(title, state)| format!("{title}: {state}"))
            .collect();
        assert_eq!(
            lines,
            [
                "ControlPlane openstack/production: not ready: StatefulSet openstack-memcached: 1 of 3 pods are ready",
                "Grant openstack/old: not ready: is being deleted, held by mariadb.com/grant",
                "MariaDB openstack/openstack-db: ready",
                "OpenStackCluster openstack/tenant: not ready: the control plane isn't ready",
                "SecretAggregate openstack/all: not ready: Secret one has no key a",
                "StatefulSet openstack/openstack-memcached: not ready: 1 of 3 pods are ready",
            ]
        );
    }

    #[test]
    fn a_name_picks_with_or_without_the_namespace() {
        let named = |name: &str| Selection {
            name: Some(name.to_owned()),
            namespace: None,
        };
        let snapshot = snapshot();
        for name in ["production", "openstack/production", "tenant"] {
            assert!(snapshot.has(&named(name)), "{name}");
        }
        let missing = named("elsewhere/production");
        assert!(!snapshot.has(&missing));
        assert_eq!(
            snapshot.tree(&missing, Page::PLAIN),
            "There is no elsewhere/production yet.\n"
        );
        let tree = snapshot.tree(&named("tenant"), Page::PLAIN);
        assert!(!tree.contains("ControlPlane openstack"), "{tree}");
    }

    #[test]
    fn a_namespace_picks_what_is_in_it() {
        let inside = |namespace: &str| Selection {
            name: None,
            namespace: Some(namespace.to_owned()),
        };
        let snapshot = snapshot();
        assert_eq!(
            snapshot.lines(&inside("openstack")),
            snapshot.lines(&Selection::default())
        );
        assert_eq!(
            snapshot.tree(&inside("elsewhere"), Page::PLAIN),
            "There is nothing yet: apply a ControlPlane or a claim.\n"
        );
    }

    #[test]
    fn programs_read_the_same_as_people() {
        let json = snapshot().json(&Selection::default());
        insta::assert_snapshot!(format!("{json:#}"));
    }

    #[test]
    fn no_secret_is_ever_asked_for() {
        let sought = sought();
        assert!(sought.iter().any(|sought| sought.kind == "MariaDB"));
        assert!(sought.iter().all(|sought| sought.kind != "Secret"));
    }
}
