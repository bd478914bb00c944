//! What derives from the registry of services, and the places that docs/contributing/add-a-service.md has to name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use provider_openstack::{KEYSTONE, SERVICES, ServiceDefinition, dependency_kinds};

use crate::given::{ready, root};

#[test]
fn registry_of_services_determines_credentials_catalogue_and_network_policies() {
    let plan = ready(&["examples/control-planes/production.yaml"]);
    let composed: BTreeSet<(&str, &str, &str)> = plan
        .applied
        .iter()
        .map(|applied| &applied.manifest)
        .map(|manifest| (manifest.group(), manifest.kind(), manifest.name()))
        .collect();
    let mut missing = Vec::new();
    for service in SERVICES {
        let name = service.name;
        let mut expected = vec![
            ("apps", "Deployment", name.to_owned()),
            ("", "Service", name.to_owned()),
            ("networking.k8s.io", "NetworkPolicy", name.to_owned()),
            (
                "networking.k8s.io",
                "NetworkPolicy",
                format!("connections-{name}"),
            ),
        ];
        let databases = service.databases.iter();
        expected
            .extend(databases.map(|suffix| ("", "Secret", service.database_credentials(suffix))));
        let buses = service.buses.iter();
        expected.extend(buses.map(|suffix| ("", "Secret", service.bus_credentials(suffix))));
        // Keystone's bootstrap creates its own entries.
        if *service != KEYSTONE {
            expected.extend([
                ("", "Secret", service.keystone_credentials()),
                ("openstack.k-orc.cloud", "User", name.to_owned()),
                ("openstack.k-orc.cloud", "Service", name.to_owned()),
                (
                    "openstack.k-orc.cloud",
                    "Endpoint",
                    format!("{name}-internal"),
                ),
                (
                    "openstack.k-orc.cloud",
                    "Endpoint",
                    format!("{name}-public"),
                ),
            ]);
        }
        missing.extend(
            expected
                .into_iter()
                .filter(|(group, kind, name)| !composed.contains(&(*group, *kind, name.as_str()))),
        );
    }
    assert_eq!(missing, Vec::<(&str, &str, String)>::new());
}

#[test]
fn depends_on_can_name_every_service() {
    let unknown = SERVICES
        .iter()
        .filter(|service| !dependency_kinds().any(|known| known == service.kind));
    assert_eq!(
        unknown.collect::<Vec<_>>(),
        Vec::<&&ServiceDefinition>::new()
    );
}

/// The files of code that name Placement, other than its own and those of services that use it. One more service has to change them.
const PLACES: [&str; 6] = [
    "providers/api/src/control_plane/services.rs",
    "providers/api/src/lib.rs",
    "providers/control-plane/src/services/mod.rs",
    "providers/openstack/src/registry.rs",
    "providers/operators/Cargo.toml",
    "providers/operators/src/lib.rs",
];

#[test]
fn add_a_service_names_every_file_that_names_placement() {
    let mut places = Vec::new();
    for path in [
        "Cargo.toml",
        "functions",
        "plan",
        "providers",
        "src",
        "xtask",
    ] {
        collect(&root(path), &mut places);
    }
    let top = root("");
    let places: BTreeSet<String> = places
        .iter()
        .filter_map(|place| {
            Some(
                Path::new(place)
                    .strip_prefix(&top)
                    .ok()?
                    .display()
                    .to_string(),
            )
        })
        .collect();
    assert_eq!(places, BTreeSet::from(PLACES.map(str::to_owned)));
    let page = fs::read_to_string(root("docs/contributing/add-a-service.md")).unwrap();
    let unnamed = PLACES
        .iter()
        .filter(|place| !page.contains(&format!("`{place}`")));
    assert_eq!(unnamed.collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn add_a_service_describes_the_toy_service() {
    let page = fs::read_to_string(root("docs/contributing/add-a-service.md")).unwrap();
    let toy = fs::read_to_string(root("providers/openstack/fixtures/src/toy.rs")).unwrap();
    let (_, definition) = toy.split_once("pub const TOY").unwrap();
    let (definition, _) = definition.split_once("\n};").unwrap();
    assert!(
        page.contains(definition),
        "the page has another definition than toy.rs: copy it from there"
    );
    let spans = page.split('`').skip(1).step_by(2);
    let words = spans.filter(|span| !span.contains(char::is_whitespace));
    let is_outdated = |word: &&str| match word.contains("::") {
        true => word.starts_with(char::is_uppercase) && !toy.contains(word),
        false => word.contains('/') && !word.contains('<') && !root(word).exists(),
    };
    let outdated: Vec<&str> = words.filter(is_outdated).collect();
    assert_eq!(outdated, Vec::<&str>::new());
}

/// Adds the files of code under a path that name Placement.
fn collect(path: &Path, places: &mut Vec<String>) {
    const OTHERS: [&str; 10] = [
        "tests",
        "fixtures",
        "testing",
        "benches",
        "target",
        "placement",
        "nova",
        "neutron",
        "hypervisor-pool",
        "openstack-driver",
    ];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".rs");
    if OTHERS.contains(&name) {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), places);
        }
    } else if path
        .extension()
        .is_some_and(|extension| extension == "rs" || extension == "toml")
    {
        let code = fs::read_to_string(path).unwrap();
        let mut lines = code
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.starts_with("//"));
        let names = [
            "Placement",
            "PlacementSpec",
            "PLACEMENT",
            "\"placement\"",
            ".placement",
            "(placement)",
            "provider-placement",
        ];
        if lines.any(|line| names.iter().any(|name| has_word(line, name))) {
            places.push(path.display().to_string());
        }
    }
}

/// Whether a line has a name as a whole word: Ceph's placement groups have longer names.
fn has_word(line: &str, name: &str) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    let is_edge = |at: usize| {
        let (before, after) = line.split_at(at);
        !(before.ends_with(is_of_word) && after.starts_with(is_of_word))
    };
    let mut found = line.match_indices(name);
    found.any(|(start, _)| is_edge(start) && is_edge(start + name.len()))
}
