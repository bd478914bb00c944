//! Images of releases: how they are listed, and what is copied to a mirror.

use super::{c5c3, refused, stderr, stdout};

const MIRROR: &str = "registry.example.com:5000/mirror";

#[test]
fn images_of_a_release_are_listed_with_their_digests_and_settings() {
    let table = stdout(&c5c3(&["images", "2025.2"]).success().stderr(""));
    let mut lines = table.lines();
    let header: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    assert_eq!(header, ["IMAGE", "DIGEST", "SET", "BY"]);
    let program = concat!(
        "ghcr.io/openstack-control-planes/function-c5c3:v",
        env!("CARGO_PKG_VERSION")
    );
    for image in [
        program,
        "ghcr.io/openstack-control-planes/nova:32.2.1",
        "docker.io/library/memcached:1.6",
    ] {
        let line = table.lines().find(|line| line.starts_with(image));
        let line = line.unwrap_or_else(|| panic!("{image} isn't in {table}"));
        assert!(line.contains("not pinned"), "{line}");
    }
    assert!(!table.contains("keystone:29"), "another release's: {table}");

    let all = stdout(&c5c3(&["images"]).success());
    assert!(all.contains("keystone:28") && all.contains("keystone:29"));
}

#[test]
fn images_to_copy_are_pairs_for_scripts_and_lists_for_programs() {
    let copies = ["images", "2025.2", "--mirror", MIRROR, "-o"];
    let written = |form: &str| stdout(&c5c3(&[&copies[..], &[form]].concat()).success().stderr(""));

    let pairs = written("copy");
    let pair = format!("ghcr.io/openstack-control-planes/nova:32.2.1 {MIRROR}/nova:32.2.1");
    assert!(pairs.lines().any(|line| line == pair), "{pairs}");
    for line in pairs.lines() {
        assert_eq!(line.split(' ').count(), 2, "{line}");
    }

    let json = written("json");
    assert!(json.starts_with("[\n  {\n    \"image\": "), "{json}");
    assert!(json.contains(&format!("\"target\": \"{MIRROR}/nova:32.2.1\"")));
    assert!(json.contains("\"digest\": null"), "{json}");
    let yaml = written("yaml");
    assert!(yaml.contains("image: quay.io/ceph/ceph:"), "{yaml}");
    assert_eq!(yaml.matches("image: ").count(), pairs.lines().count());

    let skopeo = written("skopeo");
    assert!(skopeo.contains("ghcr.io:\n"), "{skopeo}");
    assert!(!skopeo.contains(MIRROR), "{skopeo}");
}

#[test]
fn images_that_cannot_be_listed_or_copied_are_refused_with_what_to_write() {
    refused(
        c5c3(&["images", "2023.1"]),
        &["2023.1", "choose one of", "2025.2"],
    );
    refused(
        c5c3(&["images", "--output", "copy"]),
        &["--mirror registry.example.com/mirror"],
    );
    refused(
        c5c3(&["images", "--compositions", "nowhere"]),
        &["nowhere: No such file"],
    );
    let run = c5c3(&["images", "--mirror", "https://registry.example.com"]);
    let run = run.failure().code(2).stdout("");
    let said = stderr(&run);
    assert!(said.contains("without https://"), "{said}");
}
