//! What docs/install.md says that Gardener has to have, compared with what is composed.

use std::fs;
use std::path::Path;

use super::*;

fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_default()
}

/// The second and third cell of the row that begins with `what`.
fn row(what: &str) -> String {
    let page = file("docs/install.md");
    let row = page
        .lines()
        .find_map(|line| line.strip_prefix(&format!("| {what} |")));
    row.unwrap_or_default().to_owned()
}

#[rstest]
#[case("Gardener", &["1.120 or newer", "1.120 and 1.150"])]
#[case("Kubernetes", &["1.35 in each CloudProfile", "`kubernetesVersion`"])]
#[case("feature gate", &["`InPlaceNodeUpdates`", "`gardener.updateStrategy: AutoRollingUpdate`"])]
#[case("infrastructure", &["`provider-ironcore-metal` for pools", "`provider-openstack` for control plane clusters"])]
#[case("network", &["`networking-calico`"])]
#[case("operating system", &["`os-gardenlinux`", "`gardenlinux`"])]
#[case("credentials", &["`cc-credentials`", "`ironcore-credentials`", "`gardener.secretBinding`"])]
fn docs_name_what_gardener_needs(#[case] what: &str, #[case] needs: &[&str]) {
    let row = row(what);
    for need in needs {
        assert!(row.contains(need), "{what}: {need} isn't in {row}");
    }
}

#[test]
fn shoots_need_what_docs_name() {
    for (folder, version) in [("gardener", "v1.120.0"), ("gardener-newest", "v1.150.0")] {
        let pins = file(&format!("tests/tools/{folder}/go.mod"));
        assert!(
            pins.contains(&format!("github.com/gardener/gardener {version}\n")),
            "{folder}"
        );
    }
    for (name, provider, credentials, strategy) in [
        (
            "control-plane",
            "openstack",
            "cc-credentials",
            "AutoRollingUpdate",
        ),
        (
            "hv-pool-a",
            "ironcore-metal",
            "ironcore-credentials",
            "ManualInPlaceUpdate",
        ),
        (
            "st-pool-a",
            "ironcore-metal",
            "ironcore-credentials",
            "ManualInPlaceUpdate",
        ),
    ] {
        let outcome = pool(name).run();
        let spec = &outcome.manifest("shoot")["spec"];
        let worker = &spec["provider"]["workers"][0];
        assert_eq!(
            json!([
                spec["kubernetes"]["version"],
                spec["provider"]["type"],
                spec["networking"]["type"],
                spec["credentialsBindingName"],
                worker["machine"]["image"]["name"],
                worker["updateStrategy"]
            ]),
            json!([
                "1.35",
                provider,
                "calico",
                credentials,
                "gardenlinux",
                strategy
            ])
        );
    }
}
