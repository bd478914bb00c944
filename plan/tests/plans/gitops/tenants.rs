//! What tenants have in Git is applied with their own rights, in their own namespace.

use serde_json::{Value, json};

use super::repository::{Applied, FLUX, Id, site, text};

/// The verbs that change nothing.
const READS: [&str; 3] = ["get", "list", "watch"];

fn namespace(applied: &Applied) -> &str {
    text(&applied.kustomization["metadata"]["namespace"])
}

/// The Kustomizations that are a tenant's, each with its namespace.
fn tenants(site: &[Applied]) -> Vec<(&Applied, &str)> {
    let all = site.iter().map(|applied| (applied, namespace(applied)));
    all.filter(|(_, namespace)| *namespace != FLUX).collect()
}

fn find<'a>(site: &'a [Applied], id: &Id) -> &'a Value {
    let mut objects = site.iter().flat_map(|applied| &applied.objects);
    objects
        .find(|object| Id::of(object) == *id)
        .unwrap_or_else(|| panic!("{id} isn't there"))
}

#[test]
fn gitops_tenants_use_a_service_account_of_their_namespace_that_can_only_write_claims() {
    let site = site("management");
    let tenants = tenants(&site);
    assert!(tenants.len() > 1);
    for (applied, namespace) in tenants {
        let spec = &applied.kustomization["spec"];
        assert_eq!(spec["serviceAccountName"], "flux");
        assert!(spec["kubeConfig"].is_null());
        assert!(spec["sourceRef"]["namespace"].is_null());
        for object in &applied.objects {
            assert_eq!(object["kind"], "OpenStackCluster");
            assert_eq!(object["metadata"]["namespace"], namespace);
        }

        let binding = find(&site, &Id::new("RoleBinding", namespace, "flux"));
        assert_eq!(
            binding["subjects"],
            json!([{ "kind": "ServiceAccount", "name": "flux", "namespace": namespace }])
        );
        let role = find(
            &site,
            &Id::new("Role", namespace, text(&binding["roleRef"]["name"])),
        );
        assert_eq!(
            role["rules"],
            json!([{
                "apiGroups": ["c5c3.io"],
                "resources": ["openstackclusters"],
                "verbs": ["get", "list", "watch", "create", "update", "patch"],
            }])
        );
    }
}

/// Objects, Usages and provider configurations of Crossplane above all: docs/security.md.
#[test]
fn gitops_people_of_a_tenant_write_nothing_but_claims() {
    let site = site("management");
    for (_, namespace) in tenants(&site) {
        let role = find(&site, &Id::new("Role", namespace, "tenant"));
        let rules = role["rules"].as_array().unwrap();
        let writes = |rule: &&Value| {
            let verbs = rule["verbs"].as_array().unwrap();
            !verbs.iter().all(|verb| READS.contains(&text(verb)))
        };
        let of_writes: Vec<&Value> = rules.iter().filter(writes).collect();
        let expected = json!({
            "apiGroups": ["c5c3.io"],
            "resources": ["openstackclusters"],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        });
        assert_eq!(of_writes, [&expected]);
    }
}

#[test]
fn gitops_people_of_a_tenant_read_the_credentials_of_their_claims_and_no_other_secret() {
    let site = site("management");
    for (applied, namespace) in tenants(&site) {
        let claims = applied.objects.iter();
        let credentials: Vec<String> = claims
            .map(|claim| format!("{}-clouds", text(&claim["metadata"]["name"])))
            .collect();
        let role = find(&site, &Id::new("Role", namespace, "tenant"));
        let rules = role["rules"].as_array().unwrap();
        let of_secrets: Vec<&Value> = rules
            .iter()
            .filter(|rule| rule["resources"].to_string().contains("secrets"))
            .collect();
        let expected = json!({
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": credentials,
            "verbs": ["get"],
        });
        assert_eq!(of_secrets, [&expected]);
        for rule in rules {
            assert!(!rule.to_string().contains('*'), "{rule}");
        }
    }
}
