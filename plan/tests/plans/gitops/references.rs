//! Files, names and dependencies lead somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use rstest::rstest;
use serde_json::Value;

use super::repository::{Applied, FLUX, Id, OVERLAYS, documents, gitops, items, read, site, text};

/// A path without `..` in it.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
        plain
    })
}

/// The YAML files of a folder and of those in it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            files.insert(path);
        }
    }
    files
}

/// Follows the kustomization.yaml of a folder, and of those that it names.
fn follow(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    let file = folder.join("kustomization.yaml");
    let kustomization = documents(&file).remove(0);
    found.insert(file);
    let patches = items(&kustomization["patches"]).map(|patch| &patch["path"]);
    for named in items(&kustomization["resources"]).chain(patches) {
        let path = plain(&folder.join(text(named)));
        match path.is_dir() {
            true => follow(&path, found),
            false => {
                found.insert(path);
            }
        }
    }
}

#[test]
fn gitops_files_are_all_used_by_a_management_cluster() {
    let mut found = BTreeSet::new();
    for overlay in OVERLAYS {
        // What a person applies once.
        follow(
            &plain(&gitops(&format!("clusters/{overlay}/flux"))),
            &mut found,
        );
        for applied in site(overlay) {
            let spec = &applied.kustomization["spec"];
            if !applied.objects.is_empty() {
                follow(&plain(&gitops(text(&spec["path"]))), &mut found);
            }
        }
    }
    assert_eq!(found, files(&plain(&gitops(""))));
}

/// What an object refers to by name.
fn references(object: &Value) -> Vec<Id> {
    let spec = &object["spec"];
    let id = Id::of(object);
    let here = |kind: &str, name: &Value| Id::new(kind, &id.namespace, text(name));
    let source = |source: &Value| here(text(&source["kind"]), &source["name"]);
    let mut names = match id.kind.as_str() {
        "Kustomization" => vec![
            source(&spec["sourceRef"]),
            here("ServiceAccount", &spec["serviceAccountName"]),
        ],
        "HelmRelease" => vec![source(&spec["chart"]["spec"]["sourceRef"])],
        "GitRepository" => vec![here("Secret", &spec["secretRef"]["name"])],
        "ShootKubeconfig" => vec![here("Secret", &spec["garden"]["name"])],
        "ProviderConfig" | "ClusterProviderConfig" => {
            let secret = &spec["credentials"]["secretRef"];
            vec![Id::new(
                "Secret",
                text(&secret["namespace"]),
                text(&secret["name"]),
            )]
        }
        "Provider" => vec![here(
            "DeploymentRuntimeConfig",
            &spec["runtimeConfigRef"]["name"],
        )],
        "CronJob" => {
            let pod = &spec["jobTemplate"]["spec"]["template"]["spec"];
            vec![here("ServiceAccount", &pod["serviceAccountName"])]
        }
        "RoleBinding" => vec![
            here("Role", &object["roleRef"]["name"]),
            match &object["subjects"][0] {
                subject if subject["kind"] == "ServiceAccount" => {
                    here("ServiceAccount", &subject["name"])
                }
                _ => here("", &Value::Null),
            },
        ],
        _ => Vec::new(),
    };
    names.push(here("Secret", &spec["kubeConfig"]["secretRef"]["name"]));
    names.extend(dependencies(object));
    names.retain(|id| !id.name.is_empty());
    names
}

fn dependencies(object: &Value) -> Vec<Id> {
    let Id {
        kind, namespace, ..
    } = Id::of(object);
    let names = items(&object["spec"]["dependsOn"]);
    names
        .map(|other| Id::new(&kind, &namespace, text(&other["name"])))
        .collect()
}

/// The Secrets that the README tells people to create.
fn created_by_people() -> BTreeSet<Id> {
    let page = read(&gitops("README.md"));
    let (_, section) = page.split_once("## Secrets that aren't in Git\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').filter_map(|name| name.split_once('/')));
    names
        .map(|(namespace, name)| Id::new("Secret", namespace, name))
        .collect()
}

/// The Secrets with kubeconfigs that Flux finds, under the key that it looks for.
fn kubeconfigs(objects: &[&Value]) -> BTreeSet<Id> {
    let requests = objects
        .iter()
        .filter(|object| object["kind"] == "ShootKubeconfig");
    let of_flux = requests.filter(|object| {
        object["metadata"]["namespace"] != FLUX || object["spec"]["target"]["key"] == "value"
    });
    of_flux
        .map(|object| {
            let namespace = text(&object["metadata"]["namespace"]);
            Id::new("Secret", namespace, text(&object["spec"]["target"]["name"]))
        })
        .collect()
}

fn objects(site: &[Applied]) -> Vec<&Value> {
    site.iter().flat_map(|applied| &applied.objects).collect()
}

#[rstest]
fn gitops_references_name_what_is_there(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let site = site(overlay);
    let objects = objects(&site);
    let mut there: BTreeSet<Id> = objects.iter().map(|object| Id::of(object)).collect();
    there.extend(created_by_people());
    there.extend(kubeconfigs(&objects));
    // The FluxInstance creates it.
    there.insert(Id::new("GitRepository", FLUX, FLUX));
    let mut missing = Vec::new();
    for object in &objects {
        let wanted = references(object).into_iter();
        let absent = wanted.filter(|wanted| !there.contains(wanted));
        missing.extend(absent.map(|absent| format!("{} names {absent}", Id::of(object))));
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(
        there.contains(&Id::new("FluxInstance", FLUX, "flux")),
        "the site has Flux"
    );
}

#[rstest]
fn gitops_names_every_object_once(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let site = site(overlay);
    let mut seen = BTreeSet::new();
    for applied in site.iter().filter(|applied| !applied.is_remote()) {
        for object in &applied.objects {
            assert!(seen.insert(Id::of(object)), "{} twice", Id::of(object));
        }
    }
}

#[rstest]
fn gitops_dependencies_have_no_cycle(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let mut waits: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
    for applied in site(overlay) {
        // Who waits for the health of what it applies waits for Kustomizations and HelmReleases, too.
        let reconciled =
            |object: &&Value| object["kind"] == "Kustomization" || object["kind"] == "HelmRelease";
        let reconciled: Vec<&Value> = applied.objects.iter().filter(reconciled).collect();
        if applied.kustomization["spec"]["wait"] == true {
            let own = waits.entry(Id::of(&applied.kustomization)).or_default();
            own.extend(reconciled.iter().map(|object| Id::of(object)));
        }
        for object in reconciled {
            let own = waits.entry(Id::of(object)).or_default();
            own.extend(dependencies(object));
        }
    }
    while !waits.is_empty() {
        let free: Vec<Id> = waits
            .iter()
            .filter(|(_, others)| others.iter().all(|other| !waits.contains_key(other)))
            .map(|(id, _)| id.clone())
            .collect();
        assert!(!free.is_empty(), "a cycle: {waits:#?}");
        for id in free {
            waits.remove(&id);
        }
    }
}

/// Flux creates no namespace of a release.
#[rstest]
fn gitops_releases_of_a_cluster_have_namespaces_there(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let site = site(overlay);
    let mut releases = 0;
    for release in objects(&site) {
        let spec = &release["spec"];
        let secret = text(&spec["kubeConfig"]["secretRef"]["name"]);
        let cluster = secret.strip_suffix("-kubeconfig");
        let Some(cluster) = cluster.filter(|_| release["kind"] == "HelmRelease") else {
            continue;
        };
        let namespaces = format!("{cluster}-namespaces");
        let wanted = Id::new("Namespace", "", text(&spec["targetNamespace"]));
        let mut created = site
            .iter()
            .filter(|applied| Id::of(&applied.kustomization).name == namespaces)
            .flat_map(|applied| &applied.objects);
        let is_there = created.any(|object| Id::of(object) == wanted);
        assert!(is_there, "{namespaces} lacks {wanted}");
        releases += 1;
    }
    assert!(releases > 0);
}

/// Certificates of services and of hypervisors are cert-manager's.
#[rstest]
fn gitops_clusters_of_control_planes_and_hypervisors_have_cert_manager(
    #[values("management", "management-v1", "staging")] overlay: &str,
) {
    let site = site(overlay);
    let there: BTreeSet<Id> = objects(&site).into_iter().map(Id::of).collect();
    let mut clusters = 0;
    for applied in &site {
        let spec = &applied.kustomization["spec"];
        let paths = ["./clusters/control-plane", "./clusters/hypervisor"];
        if !paths.contains(&text(&spec["path"])) {
            continue;
        }
        let cluster = text(&spec["postBuild"]["substitute"]["cluster"]);
        let release = Id::new("HelmRelease", FLUX, &format!("{cluster}-cert-manager"));
        assert!(there.contains(&release), "{release}");
        clusters += 1;
    }
    assert!(clusters > 1);
}

/// What another cluster gets depends on that cluster's namespaces, and so on its kubeconfig.
#[rstest]
fn gitops_releases_of_a_cluster_follow_its_namespaces(
    #[values("management", "staging")] overlay: &str,
) {
    let site = site(overlay);
    for applied in &site {
        let clusters: BTreeSet<&str> = applied
            .objects
            .iter()
            .filter(|object| object["kind"] == "HelmRelease")
            .filter_map(|object| object["spec"]["kubeConfig"]["secretRef"]["name"].as_str())
            .collect();
        for secret in clusters {
            let cluster = secret.strip_suffix("-kubeconfig").unwrap();
            let wanted = Id::new("Kustomization", FLUX, &format!("{cluster}-namespaces"));
            let mut before = dependencies(&applied.kustomization);
            let mut found = before.contains(&wanted);
            while let Some(id) = before.pop() {
                let other = site
                    .iter()
                    .find(|other| Id::of(&other.kustomization) == id)
                    .unwrap();
                let further = dependencies(&other.kustomization);
                found |= further.contains(&wanted);
                before.extend(further);
            }
            assert!(found, "{}: {wanted}", Id::of(&applied.kustomization));
        }
    }
}
