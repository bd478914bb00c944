//! `c5c3 images` lists the images that are composed, and no others.

use std::collections::BTreeSet;
use std::fs;

use c5c3_plan::Plan;
use c5c3_plan::images::{ListedImage, Mirror, images};
use provider_openstack::table::RELEASES;
use rstest::rstest;
use serde_json::Value;

use crate::given::{assuming_ready, ready, root, settings, written};

const CONTROL_PLANE: &str = "ControlPlane: global.images.registry";
const CEPH: &str = "ClusterPresets: ceph.image";

fn listed(releases: &[&str], mirror: Option<&Mirror>) -> Vec<ListedImage> {
    let releases: Vec<String> = releases.iter().map(|&release| release.to_owned()).collect();
    images(&releases, &settings().compositions, mirror, true).unwrap()
}

/// The images that a setting names.
fn set_by(setting: &str, release: &str) -> BTreeSet<String> {
    let listed = listed(&[release], None).into_iter();
    let listed = listed.filter(|image| image.set_by.iter().any(|by| by == setting));
    listed.map(|image| image.image).collect()
}

/// The images of all pods of a plan, of the resources that pods come of, and of Ceph.
fn composed(plan: &Plan) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for applied in &plan.applied {
        collect(applied.manifest.value(), &mut found);
    }
    found
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("containers" | "initContainers", Value::Array(containers)) => {
                        found.extend(containers.iter().filter_map(|it| text(&it["image"])));
                    }
                    ("cephVersion", version) => found.extend(text(&version["image"])),
                    ("image" | "ovnImage", image) if image["repository"].is_string() => {
                        let [repository, tag] = ["repository", "tag"].map(|it| text(&image[it]));
                        found.insert(format!("{}:{}", repository.unwrap(), tag.unwrap()));
                    }
                    (_, field) => collect(field, found),
                }
            }
        }
        _ => {}
    }
}

/// The example of a control plane, of another release and with more in `global`.
fn control_plane(release: &str, global: &str) -> Plan {
    let text = fs::read_to_string(root("examples/control-planes/production.yaml")).unwrap();
    let named = format!("openStackRelease: \"{release}\"");
    let text = text.replace("openStackRelease: \"2025.2\"", &named);
    assert!(text.contains(&named) && text.ends_with("    region: eu-de-1\n"));
    written(&format!("{text}{global}"), &assuming_ready()).unwrap()
}

#[test]
fn images_of_a_release_are_those_that_its_control_plane_composes() {
    for tags in RELEASES {
        let release = tags.release.to_string();
        let plan = control_plane(&release, "");
        assert_eq!(
            composed(&plan),
            set_by(CONTROL_PLANE, &release),
            "{release}"
        );
    }
}

#[test]
fn images_of_a_control_plane_are_where_the_mirror_has_them() {
    let mirror: Mirror = "registry.example.com:5000/mirror".parse().unwrap();
    let global = format!("    images: {{registry: \"{mirror}\"}}\n");
    let plan = control_plane("2025.2", &global);
    let listed = listed(&["2025.2"], Some(&mirror)).into_iter();
    let listed = listed.filter(|image| image.set_by.iter().any(|by| by == CONTROL_PLANE));
    let targets: BTreeSet<String> = listed.filter_map(|image| image.target).collect();
    assert_eq!(composed(&plan), targets);
}

#[rstest]
#[case::claims(&["examples/claims", "examples/pools"])]
#[case::dedicated(&["examples/isolation/dedicated.yaml"])]
#[case::hybrid(&["examples/isolation/hybrid.yaml"])]
#[case::shared(&["examples/isolation/shared.yaml"])]
#[case::tiered(&["examples/isolation/tiered.yaml"])]
fn images_of_every_example_are_listed(#[case] paths: &[&str]) {
    let composed = composed(&ready(paths));
    let listed = listed(&["2025.2"], None).into_iter();
    let listed: BTreeSet<String> = listed.map(|image| image.image).collect();
    let missing: Vec<&String> = composed.difference(&listed).collect();
    assert_eq!(missing, Vec::<&String>::new());
    let ceph = set_by(CEPH, "2025.2");
    assert_eq!(ceph.len(), 1);
    assert!(ceph.is_subset(&composed), "{composed:?}");
}

#[test]
fn images_of_all_releases_have_places_of_their_own_in_a_mirror() {
    let mirror = "registry.example.com".parse().unwrap();
    let listed = listed(&[], Some(&mirror));
    let targets: BTreeSet<&String> = listed.iter().filter_map(|it| it.target.as_ref()).collect();
    assert_eq!(targets.len(), listed.len());
    for tags in RELEASES {
        let release = tags.release.to_string();
        for image in set_by(CONTROL_PLANE, &release) {
            assert!(listed.iter().any(|it| it.image == image), "{image}");
        }
    }
}

/// Nothing here composes them: pods of operators, agents, which the hypervisor-pool-operator's own tests compare, and what the operators of
/// MariaDB and RabbitMQ choose.
#[test]
fn images_that_no_plan_composes_are_of_operators_and_hypervisors() {
    let listed = listed(&["2025.2"], None).into_iter();
    let listed = listed.filter(|image| {
        let mut by = image.set_by.iter();
        !by.any(|by| [CONTROL_PLANE, CEPH].contains(&by.as_str()))
    });
    let others: Vec<(String, Vec<String>)> =
        listed.map(|image| (image.image, image.set_by)).collect();
    let names = others.iter().map(|(image, by)| {
        let name = image.rsplit('/').next().unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default();
        let by = by.iter().map(|by| by.split(':').next().unwrap_or_default());
        (name, by.collect::<Vec<_>>().join(", "))
    });
    let names: Vec<(&str, String)> = names.collect();
    let expected = [
        ("function-c5c3", "charts of operators"),
        ("libvirt", "HypervisorPool"),
        ("mariadb", "mariadb-operator 0.38.1"),
        ("mariadb-operator", "mariadb-operator 0.38.1"),
        ("mysqld-exporter", "mariadb-operator 0.38.1"),
        ("maxscale", "mariadb-operator 0.38.1"),
        ("rabbitmq", "RabbitMQ's cluster-operator 2.16.0"),
    ];
    assert_eq!(names, expected.map(|(name, by)| (name, by.to_owned())));
}

#[test]
fn image_of_cortex_is_listed_only_where_it_is_asked_for() {
    let releases = ["2025.2".to_owned()];
    let given = settings();
    let listed = |cortex| images(&releases, &given.compositions, None, cortex).unwrap();
    let (cortex, others): (Vec<_>, Vec<_>) = listed(true)
        .into_iter()
        .partition(|image| image.image.contains("/cortex:"));
    assert_eq!(cortex.len(), 1);
    assert_eq!(listed(false), others);
}

#[test]
fn image_of_the_program_is_what_its_charts_run() {
    let chart = |file: &str| {
        let path = root("package/charts/c5c3-operator").join(file);
        let text = fs::read_to_string(path).unwrap();
        serde_saphyr::from_str::<Value>(&text).unwrap()
    };
    let repository = &chart("values.yaml")["image"]["repository"];
    let version = &chart("Chart.yaml")["appVersion"];
    let (repository, version) = (repository.as_str().unwrap(), version.as_str().unwrap());
    let listed = listed(&["2025.2"], None);
    assert_eq!(listed[0].image, format!("{repository}:v{version}"));
    assert_eq!(listed[0].digest, None);
}

#[test]
fn images_of_an_unknown_release_are_refused_with_those_that_are_known() {
    let releases = ["2023.1".to_owned()];
    let error = images(&releases, &settings().compositions, None, false).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("2023.1") && message.contains("2025.2"),
        "{message}"
    );
}
