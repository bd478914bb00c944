//! Documents that an API server would refuse, and documents of others.

use std::fs;

use c5c3_plan::read;
use rstest::rstest;
use tempfile::TempDir;

/// Reads files of these names and texts as a folder; returns what is refused or skipped, without the folder's path.
fn said(files: &[(&str, &str)]) -> String {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let said = match read(&[folder.path().to_owned()]) {
        Ok(files) => files.skipped.join("\n"),
        Err(error) => format!("refused:\n{error}"),
    };
    said.replace(&format!("{}/", folder.path().display()), "")
}

/// A claim with these fields in its metadata and spec.
fn claim(metadata: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: c5c3.io/v1alpha1, kind: OpenStackCluster, metadata: {{{metadata}}}, spec: {{{spec}}}}}\n"
    )
}

/// A resource of this kind with these fields in its spec.
fn resource(api_version: &str, kind: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: {api_version}/v1alpha1, kind: {kind}, metadata: {{name: p1}}, spec: {{{spec}}}}}\n"
    )
}

const SPEC: &str = "region: r, size: small, hypervisorClusters: [hv], storageClusters: [st]";
const CLAIM: &str = "{apiVersion: c5c3.io/v1alpha1, kind: OpenStackCluster, metadata: {name: c}, \
                     spec: {region: r, size: small, hypervisorClusters: [hv], storageClusters: [st]}}\n";

#[test]
fn fields_that_the_api_server_refuses_are_all_named_with_what_must_be() {
    let pool = |spec| resource("crossplane.c5c3.io", "HypervisorCluster", spec);
    let storage = |spec| resource("crossplane.c5c3.io", "StorageCluster", spec);
    let control_plane = |spec| resource("c5c3.io", "ControlPlane", spec);
    let spec = |more: &str| format!("{SPEC}, {more}");
    let twenty: Vec<String> = (0..20).map(|number| format!("p{number}")).collect();
    let twenty = SPEC.replace("[hv]", &format!("[{}]", twenty.join(", ")));
    let documents = [
        claim("name: a", &SPEC.replace("size", "sizze")),
        claim("name: a", &SPEC.replace("small", "huge")),
        claim("name: a", &SPEC.replace("small", "5")),
        claim("name: a", &SPEC.replace("[hv]", "hv")),
        claim("name: a", &SPEC.replace("[hv]", "[]")),
        claim("name: a", &SPEC.replace("[hv]", "[hv, hv]")),
        claim("name: a", &twenty),
        claim("name: a", ""),
        claim("name: a", &spec("services: {glance: false}")),
        claim("name: a", &spec("compositionRef: production")),
        claim("namespace: t", SPEC),
        claim("name: Prod", SPEC),
        claim("name: a.b", SPEC),
        claim("name: operators", SPEC),
        claim("name: \"a\\u001b[31m\"", SPEC),
        claim("name: a, labels: {x: 1}", SPEC),
        claim(&format!("name: {}", "a".repeat(54)), SPEC),
        "{apiVersion: c5c3.io/v1alpha1, kind: OpenStackCluster, metadata: {name: a}}\n".to_owned(),
        pool("region: r, name: p1, workers: 0"),
        pool("region: r, name: p1, workers: 3, maxWorkers: 2"),
        pool("region: r, name: other"),
        pool("region: r, name: p1, labels: {dedicated: \"true\"}, sharing: {mode: Shared}"),
        pool("region: r, name: p1, labels: {foo/bar: a}"),
        pool("region: r, name: p1, labels: {availability-zone: \"\"}"),
        pool(
            "region: r, name: p1, network: {physicalNetworks: [{name: a, bridge: b}, {name: a, bridge: c}]}",
        ),
        storage("region: r, name: p1, ceph: {osdCount: 0}"),
        storage("region: r, name: p1, capacity: lots"),
        storage("region: r, name: p1, capacity: 1Ti, ceph: {targetCapacity: 1Ti}"),
        resource(
            "crossplane.c5c3.io",
            "ControlPlaneCluster",
            "region: r, kubernetesVersion: latest",
        ),
        resource("crossplane.c5c3.io", "ControlPlaneCluster", "region: EU_DE"),
        control_plane("infrastructure: {mariadb: {replicas: 2}}"),
        control_plane("services: {}, openstack: {}"),
        claim("name: a", &spec("network: {mtu: 1}")),
    ];
    insta::assert_snapshot!(said(&[("all.yaml", &documents.join("---\n"))]));
}

#[test]
fn kinds_of_other_versions_and_groups_are_refused_with_the_one_that_is_meant() {
    let document = |types: &str| format!("{{{types}, metadata: {{name: a, namespace: t}}}}\n");
    let documents = [
        CLAIM.to_owned(),
        document("apiVersion: c5c3.io/v1, kind: OpenStackCluster"),
        document("apiVersion: c5c3.io/v1alpha1, kind: HypervisorCluster"),
        document("apiVersion: c5c3.io/v1alpha1, kind: ControlPlan"),
        document("apiVersion: c5c3.io/v1alpha1, kind: Something"),
        document("kind: OpenStackCluster"),
    ];
    insta::assert_snapshot!(said(&[("all.yaml", &documents.join("---\n"))]));
}

#[test]
fn documents_of_others_are_skipped_with_a_note() {
    let maps = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n".repeat(3);
    insta::assert_snapshot!(said(&[
        ("claim.yaml", CLAIM),
        (
            "inputs.yaml",
            "apiVersion: c5c3.io/v1alpha1\nkind: OpenStackPresets\n"
        ),
        (
            "kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [claim.yaml]\n"
        ),
        ("maps.yaml", &maps),
        ("nova.yaml", &resource("nova.openstack.c5c3.io", "Nova", "")),
        (
            "other.yaml",
            "{apiVersion: other.io/v1, kind: ControlPlane, metadata: {name: a}}\n"
        ),
        ("text.yaml", "just words\n"),
        ("values.yaml", "replicas: 1\n"),
    ]));
}

#[test]
fn resources_of_pools_are_left_out_with_a_note() {
    let pool = resource("hypervisor.c5c3.io", "HypervisorPool", "mode: Shared");
    assert_eq!(
        said(&[("claim.yaml", CLAIM), ("pool.yaml", &pool)]),
        "pool.yaml, document 1: skipped hypervisor.c5c3.io/v1alpha1 HypervisorPool p1: a plan shows claims and control planes, \
         and leaves this kind out"
    );
}

#[rstest]
#[case::yaml("a: 1\n---\nb: [1,\n", "given.yaml, document 2: ")]
#[case::twice(
    "a: 1\n---\nb: 1\nb: 2\n",
    "given.yaml, document 2: duplicate mapping key: b"
)]
#[case::nothing(
    "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n",
    "there is nothing to plan: "
)]
#[case::empty("---\n# only a comment\n", "there is nothing to plan: ")]
fn files_that_cannot_be_read_are_named_with_document_and_line(
    #[case] text: &str,
    #[case] says: &str,
) {
    let said = said(&[("given.yaml", text)]);
    assert!(said.starts_with(&format!("refused:\n{says}")), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[test]
fn document_too_large_for_the_parser_is_refused_without_the_parsers_words() {
    let items = "- 1\n".repeat(250_001);
    assert_eq!(
        said(&[("given.yaml", &format!("a:\n{items}"))]),
        "refused:\ngiven.yaml, document 1: it is too large or too deeply nested: split it into several documents at line \
         249999, column 3"
    );
}

#[test]
fn many_documents_of_others_are_skipped_in_no_time() {
    let data = "  k: |\n    some text: [\n".repeat(50);
    let map = format!("---\napiVersion: v1\ndata:\n{data}kind: ConfigMap\nmetadata:\n  name: a\n");
    let text = CLAIM.to_owned() + &map.repeat(10_000);
    let started = std::time::Instant::now();
    assert_eq!(
        said(&[("all.yaml", &text)]),
        "all.yaml: skipped 10000 documents of v1 ConfigMap: c5c3 does not plan this kind"
    );
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn resource_given_twice_names_the_field_that_differs() {
    let other = CLAIM.replace("small", "large");
    assert_eq!(said(&[("a.yaml", CLAIM), ("b.yaml", CLAIM)]), "");
    assert_eq!(
        said(&[("a.yaml", CLAIM), ("b.yaml", &other)]),
        "refused:\nb.yaml, document 1: OpenStackCluster default/c: also in a.yaml, document 1, with another spec.size; give \
         one of them"
    );
}
