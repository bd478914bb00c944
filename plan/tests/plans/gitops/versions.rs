//! Versions are exact, and those of this project are the present one.

use std::collections::BTreeSet;

use super::repository::{FLUX, Id, OVERLAYS, gitops, items, read, site, text};
use crate::given::root;

/// The version of this project, as tags of Git and of images have it.
const OWN_VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

fn is_exact(version: &str) -> bool {
    let parts: Vec<&str> = version
        .strip_prefix('v')
        .unwrap_or(version)
        .split('.')
        .collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok())
}

#[test]
fn gitops_versions_are_exact_and_those_of_this_project_are_one() {
    for overlay in OVERLAYS {
        for applied in site(overlay) {
            for object in &applied.objects {
                let spec = &object["spec"];
                let id = Id::of(object);
                let chart = &spec["chart"]["spec"];
                let version = match id.kind.as_str() {
                    "FluxInstance" => text(&spec["distribution"]["version"]),
                    "GitRepository" if spec["ref"]["branch"] == "main" => {
                        assert!(text(&spec["url"]).ends_with("/c5c3-gitops.git"), "{id}");
                        continue;
                    }
                    "GitRepository" => text(&spec["ref"]["tag"]),
                    "HelmRelease" if chart["sourceRef"]["kind"] == "GitRepository" => {
                        assert_eq!(chart["reconcileStrategy"], "Revision", "{id}");
                        continue;
                    }
                    "HelmRelease" => text(&chart["version"]),
                    "Provider" | "Function" => text(&spec["package"])
                        .rsplit(':')
                        .next()
                        .unwrap_or_default(),
                    "CronJob" => {
                        let pod = &spec["jobTemplate"]["spec"]["template"]["spec"];
                        let image = text(&pod["containers"][0]["image"]);
                        image.rsplit(':').next().unwrap_or_default()
                    }
                    _ => continue,
                };
                assert!(is_exact(version), "{id}: {version:?}");
                if id.name.contains("c5c3") {
                    assert_eq!(version, OWN_VERSION, "{id}");
                }
            }
        }
    }
}

#[test]
fn gitops_staging_has_one_version_for_everything_of_this_project() {
    let text = read(&gitops("clusters/staging/versions.yaml"));
    let values = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("value: "))
        .filter_map(|value| value.rsplit(':').next());
    assert_eq!(
        values.collect::<BTreeSet<_>>(),
        BTreeSet::from([OWN_VERSION])
    );
}

#[test]
fn gitops_images_of_manifests_have_the_version_of_their_source() {
    for applied in site("management") {
        let spec = &applied.kustomization["spec"];
        let source = Id::new("GitRepository", FLUX, text(&spec["sourceRef"]["name"]));
        for image in items(&spec["images"]) {
            let sources = site("management");
            let mut objects = sources.iter().flat_map(|applied| &applied.objects);
            let source = objects.find(|object| Id::of(object) == source).unwrap();
            let tag = text(&source["spec"]["ref"]["tag"]);
            assert_eq!(tag, format!("v{}", text(&image["newTag"])), "{image}");
        }
    }
}

/// A person installs the Flux Operator before Flux follows the repository, which then has the same release of it.
#[test]
fn gitops_page_installs_the_flux_operator_that_the_repository_has() {
    let sources = site("management");
    let mut objects = sources.iter().flat_map(|applied| &applied.objects);
    let release = Id::new("HelmRelease", FLUX, "flux-operator");
    let release = objects.find(|object| Id::of(object) == release).unwrap();
    let version = text(&release["spec"]["chart"]["spec"]["version"]);
    let page = read(&root("docs/gitops.md"));
    let command = format!("charts/flux-operator --version {version} ");
    assert!(page.contains(&command), "{command}");
    assert_eq!(release["spec"]["releaseName"], "flux-operator");
    assert_eq!(release["spec"]["targetNamespace"], FLUX);
}
