//! ControlPlanes and other resources of our operators, planned without a claim.

use c5c3_plan::graph::{Picture, draw};
use c5c3_plan::{CONTROL_PLANE, Format, Page, Plan, configuration, stream, tree};
use k8s_openapi::ByteString;

use crate::given::{assuming_ready, planned, ready, settings, written};

const COMMAND: &str = "c5c3 plan";

const EXAMPLE: &str = "examples/control-planes/production.yaml";

fn pictures(plan: &Plan, picture: Picture) -> String {
    let graphs: Vec<_> = plan.graphs().cloned().collect();
    draw(&graphs, picture)
}

#[test]
fn a_control_plane_waits_for_the_operators_of_others() {
    let plan = planned(&[EXAMPLE], &settings());
    assert!(!plan.has_failed());
    assert!(!plan.resources[0].is_ready());
    insta::assert_snapshot!(tree(&plan, Page::PLAIN, COMMAND));
}

#[test]
fn a_control_plane_becomes_ready_down_to_its_last_object() {
    let plan = ready(&[EXAMPLE]);
    let waiting: Vec<&str> = plan.resources[0]
        .conditions
        .iter()
        .filter(|condition| condition.status != "True")
        .map(|condition| condition.type_.as_str())
        .collect();
    assert!(waiting.is_empty(), "{waiting:?}");
    insta::assert_snapshot!(tree(&plan, Page::PLAIN, COMMAND));
}

#[test]
fn a_control_plane_shows_its_consoles_and_the_tenants_secret() {
    let given = "  access: Domain\n  services: {nova: {consoles: {hostname: novnc.example.com, gateway: {name: public}}}}\n";
    let text = std::fs::read_to_string(crate::given::root(EXAMPLE)).unwrap() + given;
    let plan = written(&text, &assuming_ready()).unwrap();
    let shown = tree(&plan, Page::PLAIN, COMMAND);
    let consoles = "
├─ Public endpoints
│  └─ consoles: https://novnc.example.com
├─ Endpoints within the cluster
";
    assert!(shown.contains(consoles), "{shown}");
    let secret = "\n└─ Credentials: Secret openstack/production-clouds\n";
    assert!(shown.contains(secret), "{shown}");
}

#[test]
fn options_that_an_upgrade_changes_are_listed_once() {
    let text = std::fs::read_to_string(crate::given::root(EXAMPLE)).unwrap();
    let shown = |services: &str| {
        let plan = written(&format!("{text}{services}"), &settings()).unwrap();
        assert!(!plan.has_failed());
        tree(&plan, Page::PLAIN, COMMAND)
    };
    let option = "{extraConfig: {cache: {dead_timeout: \"60\"}, token: {expiration: \"7200\"}}}";
    let text = shown(&format!("  services: {{keystone: {option}}}\n"));
    let listed = "
Options to change
└─ ○ extraConfig sets [cache] dead_timeout, which is [cache] hashclient_dead_timeout from keystone 2026.1
   │   on: rename it after the upgrade
   └─ ControlPlane openstack/production
";
    assert_eq!(text.matches(listed).count(), 1, "{text}");
    assert!(!shown("").contains("Options to change"));
}

#[test]
fn the_graph_is_drawn_with_what_waits_for_what() {
    let plan = planned(&[EXAMPLE], &settings());
    insta::assert_snapshot!("dot", pictures(&plan, Picture::Dot));
    insta::assert_snapshot!("svg", pictures(&plan, Picture::Svg));
    let ready = pictures(&ready(&[EXAMPLE]), Picture::Dot);
    assert!(!ready.contains("waits for"), "{ready}");
}

#[test]
fn no_secret_is_shown() {
    let plan = ready(&[EXAMPLE]);
    let yaml = stream(&plan, Format::Yaml).unwrap();
    let secrets: Vec<&str> = yaml
        .split("---\n")
        .filter(|document| document.contains("kind: Secret\n"))
        .collect();
    assert!(secrets.len() > 10, "{}", secrets.len());
    assert!(yaml.contains("\nstringData:\n  keystone.conf: |\n"));
    for secret in secrets {
        let values = secret.split("\ndata:\n").nth(1).unwrap_or_default();
        let values = values.lines().take_while(|line| line.starts_with(' '));
        for value in values {
            assert!(value.ends_with(": (hidden)"), "{secret}");
        }
    }
    let shown = [
        yaml,
        tree(&plan, Page::PLAIN, COMMAND),
        pictures(&plan, Picture::Svg),
        configuration(&plan),
    ];
    let secrets = secrets_of(&plan);
    assert!(secrets.len() > 20, "{}", secrets.len());
    for (key, secret) in secrets {
        assert!(shown.iter().all(|text| !text.contains(&secret)), "{key}");
    }
}

#[test]
fn a_password_that_is_given_is_not_shown_in_any_file() {
    let given = "\
---
apiVersion: v1
kind: Secret
metadata: {name: placement-db-credentials, namespace: openstack}
stringData: {username: placement, password: \"of@the/user:himself\"}
";
    let text = std::fs::read_to_string(crate::given::root(EXAMPLE)).unwrap() + given;
    let plan = written(&text, &assuming_ready()).unwrap();
    assert!(!plan.has_failed());
    let shown = configuration(&plan) + &stream(&plan, Format::Json).unwrap();
    assert!(shown.contains("connection = mysql+pymysql://placement:****@openstack-db-primary"));
    for written in ["himself", "of%40the", "b2ZAdGhlL3VzZXI6aGltc2VsZg"] {
        assert!(!shown.contains(written), "{written}");
    }
}

#[test]
fn the_configuration_of_each_service_is_shown_without_its_secrets() {
    let text = configuration(&ready(&[EXAMPLE]));
    for file in [
        "keystone.conf of Secret openstack/keystone-config-",
        "glance-api.conf of Secret openstack/glance-config-",
        "placement.conf of Secret openstack/placement-config-",
        "tempest.conf of ConfigMap openstack/tempest-config-",
        "nova.conf of Secret openstack/nova-cell1-compute in ",
        "neutron-ovn-agent.ini of Secret openstack/neutron-agent in ",
    ] {
        assert_eq!(text.matches(&format!("# {file}")).count(), 1, "{file}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn configuration_of_libvirt_is_shown_for_each_pool() {
    let text = configuration(&ready(&["examples/claims/customer-a-prod.yaml"]));
    for pool in ["hv-pool-a", "hv-pool-b"] {
        for (file, option) in [
            ("libvirtd.conf", "unix_sock_group = \"root\"\n"),
            ("qemu.conf", "stdio_handler = \"file\"\n"),
        ] {
            let title = format!("# {file} of ConfigMap agents-customer-a-prod/libvirt in {pool}\n");
            let shown: Vec<&str> = text.split(&title).skip(1).collect();
            assert_eq!(shown.len(), 1, "{title}");
            let shown = shown[0].split("\n\n").next().unwrap_or_default();
            assert!(shown.contains(option), "{title}{shown}");
        }
    }
}

/// The values of all Secrets of a plan that nobody may know, as they are stored and as they are read.
fn secrets_of(plan: &Plan) -> Vec<(String, String)> {
    let secrets = plan.applied.iter();
    let secrets = secrets.filter(|applied| applied.key.kind == "Secret");
    let mut values = Vec::new();
    for applied in secrets {
        let data = applied.manifest.value()["data"].as_object();
        for (name, stored) in data.into_iter().flatten() {
            let ByteString(read) = serde_json::from_value(stored.clone()).unwrap();
            let read = String::from_utf8(read).unwrap();
            // A user's name, an ID, an image, an address and a CA certificate are no secrets, nor is all of a file one.
            let is_public =
                ["release", "remote", "cacert", "keystone-ca.crt"].contains(&name.as_str());
            if read.len() > 20 && !read.contains('\n') && !name.ends_with("_id") && !is_public {
                let key = format!("{name} of {}", applied.key);
                let stored = stored.as_str().unwrap().to_owned();
                values.extend([(key.clone(), stored), (key, read)]);
            }
        }
    }
    values
}

#[test]
fn a_given_secret_is_looked_at_and_kept() {
    let text = "
apiVersion: c5c3.io/v1alpha1
kind: SecretAggregate
metadata: {name: all, namespace: openstack}
spec:
  sources: [{secretRef: {name: one}}, {secretRef: {name: two}, keys: [b]}]
  target: {name: sum}
";
    let missing = written(text, &assuming_ready()).unwrap();
    assert!(!missing.resources[0].is_ready());

    let secret = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: openstack}}\n\
             stringData: {{a: first, b: second}}\n"
        )
    };
    let text = text.to_owned() + &secret("one") + &secret("two");
    let plan = written(&text, &settings()).unwrap();
    assert!(
        plan.resources[0].is_ready(),
        "{:?}",
        plan.resources[0].conditions
    );
    let mut applied = plan.applied.iter();
    let sum = applied.find(|applied| applied.key.name == "sum").unwrap();
    assert_eq!(sum.key.cluster, CONTROL_PLANE);
    assert_eq!(sum.operator, Some("c5c3-operator"));
    assert_eq!(sum.manifest.value()["data"]["b"], "c2Vjb25k");
}

#[test]
fn what_cannot_be_composed_says_what_to_change() {
    let text = std::fs::read_to_string(crate::given::root(EXAMPLE)).unwrap();
    let plan = written(&text.replace("2025.2", "2019.1"), &settings()).unwrap();
    assert!(plan.has_failed());
    let failure = plan.resources[0].failure.as_deref().unwrap();
    assert!(failure.contains("2019.1"), "{failure}");
    assert!(tree(&plan, Page::PLAIN, COMMAND).starts_with('✘'));
}

#[test]
fn service_is_planned_without_a_control_plane() {
    let text = std::fs::read_to_string(crate::given::root("docs/services.md")).unwrap();
    let manifest = text.split("```yaml\n").nth(1).unwrap();
    let manifest = manifest.split("```").next().unwrap();
    let plan = written(manifest, &assuming_ready()).unwrap();
    let ready: Vec<(String, bool)> = plan
        .resources
        .iter()
        .map(|resource| (resource.resource.title(), resource.is_ready()))
        .collect();
    assert_eq!(ready, [("Keystone openstack/keystone".to_owned(), true)]);
}

#[test]
fn a_claim_is_planned_through_its_control_plane_to_the_services() {
    let plan = ready(&["examples/claims/customer-a-prod.yaml"]);
    let operated = plan.operated();
    let control_plane = operated
        .iter()
        .find(|operated| operated.resource.kind() == "ControlPlane")
        .unwrap();
    assert!(control_plane.is_ready());
    for kind in ["Keystone", "Glance", "Placement"] {
        let mut services = operated.iter();
        let service = services.find(|operated| operated.resource.kind() == kind);
        let service = service.unwrap();
        assert!(service.is_ready(), "{kind}: {:?}", service.conditions);
        for made in ["Deployment", "Job", "Secret"] {
            assert!(
                service.made.iter().any(|object| object.kind == made),
                "{kind}: {made}"
            );
        }
    }
    let (ready, all) = control_plane.progress();
    assert_eq!(ready, all);
    let made = |kind: &str| control_plane.made.iter().any(|made| made.kind == kind);
    for kind in [
        "MariaDB", "Keystone", "Endpoint", "Nova", "Neutron", "Cinder", "Cortex",
    ] {
        assert!(made(kind), "{kind}");
    }
}
