//! Everything that our operators work on in a cluster, at one moment. Pure, but for the first look.

use std::collections::{BTreeMap, BTreeSet};

use c5c3_plan::{Branch, ClaimKind, Key, Manifest, Mark, Operated, Page, operated, readiness};
use k8s_openapi::api::core::v1::Secret;
use provider_composer::{Access, Operator, Owner, Resource, ResourceKind};
use provider_operators::control_plane_operators;

use crate::cluster::Cluster;
use crate::error::Error;

mod deleted;
mod left;

pub(crate) use deleted::is_gone;

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

/// A kind that is listed, and the labels that its objects must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListedKind {
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
    let served = served(cluster).await?;
    let objects = left::objects_of_claims(cluster, selection).await;
    for listed in served {
        let found = cluster
            .list(&listed.api_version, &listed.kind, listed.selector)
            .await?;
        for manifest in found {
            snapshot.insert(manifest);
        }
    }
    snapshot.insert_gone(objects, selection);
    snapshot.add_objects(cluster).await;
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
/// It serves neither ControlPlanes nor claims.
pub(crate) async fn served(cluster: &Cluster) -> Result<BTreeSet<ListedKind>, Error> {
    let mut served = BTreeSet::new();
    for listed in listed_kinds() {
        if cluster
            .served(&listed.api_version, &listed.kind)
            .await?
            .is_some()
        {
            served.insert(listed);
        }
    }
    match served.iter().any(is_control_plane_or_claim) {
        true => Ok(served),
        false => Err(Error::NotInstalled),
    }
}

/// Whether a cluster with this kind is a control plane cluster, or a management cluster, which has claims alone.
fn is_control_plane_or_claim(listed: &ListedKind) -> bool {
    let mut claims = ClaimKind::ALL.into_iter();
    listed.kind == "ControlPlane" || claims.any(|claim| claim.name() == listed.kind)
}

/// Claims, the resources of our operators, and what they make, but no Secrets: who looks at how things are needs no right to
/// read those.
fn listed_kinds() -> BTreeSet<ListedKind> {
    let claims = ClaimKind::ALL.into_iter().map(|kind| ListedKind {
        api_version: kind.api_version(),
        kind: kind.name().to_owned(),
        selector: "",
    });
    let of = |kind: ResourceKind, selector| ListedKind {
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        selector,
    };
    let operators = control_plane_operators().into_iter();
    let subjects: BTreeSet<ListedKind> = operators.map(|one| of(one.subject(), "")).collect();
    let made = composed().into_iter().filter(|kind| *kind != Secret::KIND);
    let made = made.map(|kind| of(kind, Owner::KIND));
    let is_subject = |listed: &ListedKind| {
        let mut subjects = subjects.iter();
        subjects.any(|other| other.kind == listed.kind && other.api_version == listed.api_version)
    };
    let made: Vec<ListedKind> = made.filter(|listed| !is_subject(listed)).collect();
    claims.chain(subjects).chain(made).collect()
}

/// The kinds that our operators make.
pub(crate) fn composed() -> BTreeSet<ResourceKind> {
    let operators = control_plane_operators();
    let uses = operators.iter().flat_map(|operator| operator.uses());
    uses.filter(|used| used.access == Access::Composes)
        .map(|used| used.kind)
        .collect()
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
            .map(|manifest| claim(manifest).with(self.waits(manifest)).render(page));
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
            operated(&title, resource)
                .with(reported(&resource.resource))
                .with(known)
                .render(page)
        });
        let blocks: Vec<String> = claims.chain(resources).collect();
        match (blocks.as_slice(), &selection.name) {
            ([], None) => "There is nothing yet: apply a ControlPlane or a claim.\n".to_owned(),
            ([], Some(name)) => format!("There is no {name} yet.\n"),
            (blocks, _) => blocks.join("\n"),
        }
    }

    /// What a claim that is being deleted waits for.
    fn waits<'a>(&'a self, claim: &'a Manifest) -> impl Iterator<Item = Branch> + use<'a> {
        let drains = self.drains(claim).into_iter();
        let drains = drains.map(|(pool, message)| format!("Nodes of {pool}: {message}"));
        let data = self.data(claim).into_iter();
        let data = data.map(|data| {
            let (cluster, kind, name) = (data.cluster, data.kind, data.name);
            format!("Data in {cluster}: {kind} {name} {}", data.message)
        });
        let left = self.remains(claim).into_iter();
        drains.chain(data).chain(left).map(Branch::new)
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
            kind.is(resource.api_version(), resource.kind())
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
        .with(reported(manifest))
        .with(conditions(manifest))
}

/// What a claim or a ControlPlane reports besides its conditions: the URLs of its APIs, the Secret with its first user's credentials, and
/// what Tempest found.
fn reported(manifest: &Manifest) -> impl Iterator<Item = Branch> {
    let endpoints = manifest.status()["endpoints"].as_object();
    let endpoints = endpoints.into_iter().flatten();
    let endpoints = endpoints.filter_map(|(service, url)| Some((service.as_str(), url.as_str()?)));
    let branches = [
        c5c3_plan::urls("Endpoints", endpoints),
        c5c3_plan::credentials(manifest),
        verified(manifest),
    ];
    branches.into_iter().flatten()
}

/// What Tempest's last run found.
fn verified(manifest: &Manifest) -> Option<Branch> {
    let verified = &manifest.status()["verified"];
    let time = verified["time"].as_str()?;
    let count = |field: &str| verified[field].as_u64().unwrap_or_default();
    let [passed, failed, skipped] = ["passed", "failed", "skipped"].map(count);
    Some(Branch::new(format!(
        "Last verification at {time}: {passed} tests passed, {failed} failed, {skipped} skipped"
    )))
}

fn conditions(manifest: &Manifest) -> impl Iterator<Item = Branch> {
    let conditions = c5c3_plan::conditions(manifest);
    let branch = (!conditions.is_empty()).then(|| c5c3_plan::listed(&conditions));
    branch.into_iter()
}

#[cfg(test)]
mod tests;
