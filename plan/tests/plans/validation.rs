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
        format!("{{apiVersion: c5c3.io/v1alpha1, kind: OpenStackCluster, spec: {{{SPEC}}}}}\n"),
        control_plane(
            "backup: {schedule: 0 2 * * 7}, services: {keystone: {fernet: {rotationSchedule: 0 0 31 2 *}}}",
        ),
        control_plane("backup: {schedule: 0 2 31 2 *}"),
    ];
    insta::assert_snapshot!(said(&[("all.yaml", &documents.join("---\n"))]));
}

/// A Secret with these fields.
fn secret(name: &str, fields: &str) -> String {
    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: t}}\n{fields}\n")
}

#[rstest]
#[case::text_in_data(
    "data: {password: hunter2}",
    "data.password: must be Base64: encode the value, or move it to stringData"
)]
#[case::space_in_base64(
    "data: {password: aHVu dGVyMg==}",
    "data.password: must be Base64: encode the value, or move it to stringData"
)]
#[case::number("data: {password: 5}", "data.password: must be a string, not a number")]
#[case::space_in_key(
    "stringData: {pass word: hunter2}",
    "stringData.pass word: its key must consist of letters, digits, -, _ and ."
)]
#[case::parent_folder(
    "data: {..data: aHVudGVyMg==}",
    "data...data: its key must not be . or begin with .."
)]
#[case::immutable("immutable: hunter2", "immutable: must be a boolean, not a string")]
#[case::misspelt_field("dta: {password: hunter2}", "dta: unknown field; did you mean data?")]
#[case::unknown_field("password: hunter2", "password: unknown field; remove it")]
#[case::certificate_without_a_key(
    "type: kubernetes.io/tls\nstringData: {tls.crt: hunter2}",
    "data.tls.key: must be set, since type is kubernetes.io/tls"
)]
#[case::key_without_a_certificate(
    "type: kubernetes.io/tls\ndata: {tls.key: aHVudGVyMg==}",
    "data.tls.crt: must be set, since type is kubernetes.io/tls"
)]
#[case::credentials_of_a_registry_under_another_key(
    "type: kubernetes.io/dockerconfigjson\nstringData: {config.json: '{}'}",
    "data..dockerconfigjson: must be set, since type is kubernetes.io/dockerconfigjson"
)]
#[case::credentials_of_a_registry_that_are_no_json(
    "type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: hunter2}",
    "data..dockerconfigjson: must be JSON, since type is kubernetes.io/dockerconfigjson"
)]
#[case::empty_private_key(
    "type: kubernetes.io/ssh-auth\nstringData: {ssh-privatekey: ''}",
    "data.ssh-privatekey: must not be empty, since type is kubernetes.io/ssh-auth"
)]
#[case::neither_name_nor_password(
    "type: kubernetes.io/basic-auth\nstringData: {user: hunter2}",
    "data: must have username, password or both, since type is kubernetes.io/basic-auth"
)]
fn secret_that_the_api_server_refuses_is_named_with_the_field(
    #[case] fields: &str,
    #[case] says: &str,
) {
    assert_eq!(
        said(&[("s.yaml", &secret("s", fields))]),
        format!("refused:\ns.yaml, document 1: Secret t/s: {says}")
    );
}

#[rstest]
#[case("type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{}'}")]
#[case("type: kubernetes.io/ssh-auth\nstringData: {ssh-privatekey: hunter2}")]
#[case("type: kubernetes.io/basic-auth\nstringData: {password: ''}")]
#[case("type: example.com/own\nstringData: {anything: hunter2}")]
fn secret_with_the_keys_of_its_type_is_taken(#[case] fields: &str) {
    assert_eq!(
        said(&[("claim.yaml", CLAIM), ("s.yaml", &secret("s", fields))]),
        "s.yaml, document 1: skipped v1 Secret: given without a resource that reads it"
    );
}

#[test]
fn secret_is_refused_with_more_than_a_mebibyte_or_a_key_of_more_than_253_characters() {
    let taken = "s.yaml, document 1: skipped v1 Secret: given without a resource that reads it";
    let of_size = |data: &str, size: usize| {
        let text = "x".repeat(size);
        let fields = format!("data: {{{data}: eA==}}\nstringData:\n  a: {text}");
        said(&[("claim.yaml", CLAIM), ("s.yaml", &secret("s", &fields))])
    };
    assert_eq!(of_size("b", (1 << 20) - 1), taken);
    assert_eq!(of_size("a", 1 << 20), taken, "stringData replaces data");
    assert_eq!(
        of_size("b", 1 << 20),
        "refused:\ns.yaml, document 1: Secret t/s: data: must have at most 1048576 bytes, not 1048577"
    );

    let of_key = |length: usize| {
        let key = "k".repeat(length);
        let fields = format!("stringData: {{{key}: hunter2}}");
        let said = said(&[("claim.yaml", CLAIM), ("s.yaml", &secret("s", &fields))]);
        said.replace(&key, "KEY")
    };
    assert_eq!(of_key(253), taken);
    assert_eq!(
        of_key(254),
        "refused:\ns.yaml, document 1: Secret t/s: stringData.KEY: its key must have at most 253 characters, not 254"
    );
}

#[test]
fn base64_with_line_breaks_is_taken() {
    let secret = secret("s", "data:\n  password: |\n    aHVu\n    dGVyMg==\n");
    assert_eq!(
        said(&[("claim.yaml", CLAIM), ("s.yaml", &secret)]),
        "s.yaml, document 1: skipped v1 Secret: given without a resource that reads it"
    );
}

#[test]
fn refused_secrets_show_no_value() {
    let documents = [
        secret(
            "types",
            "password: hunter2\nimmutable: hunter2\ndata: {a: [hunter2]}\nstringData: {b: {c: hunter2}}",
        ),
        secret(
            "values",
            "type: kubernetes.io/tls\ndata: {a: hunter2, ..b: hunter2}\nstringData: {c d: hunter2}",
        ),
        secret("twice", "stringData: {a: hunter2}"),
        secret("twice", "stringData: {a: hunter3}"),
    ];
    let said = said(&[("all.yaml", &documents.join("---\n"))]);
    assert_eq!(said.lines().count(), 1 + 4 + 6 + 1, "{said}");
    assert!(!said.contains("hunter"), "{said}");
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

/// A dump of a cluster has many documents, and parsing them all takes long.
#[test]
fn many_documents_of_others_are_skipped_without_being_parsed() {
    let unreadable = "---\napiVersion: v1\ndata: [\nkind: ConfigMap\nmetadata:\n  name: a\n";
    let text = CLAIM.to_owned() + &unreadable.repeat(10_000);
    assert_eq!(
        said(&[("all.yaml", &text)]),
        "all.yaml: skipped 10000 documents of v1 ConfigMap: c5c3 does not plan this kind"
    );
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
