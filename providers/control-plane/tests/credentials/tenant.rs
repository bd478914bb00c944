//! The tenant's first user: what it may do, and how it connects.

use provider_control_plane::credentials::keystone::Scope;
use rstest::rstest;
use serde_json::{Value, json};

use crate::stage::{Stage, korc, secret};

const PASSWORD: &str = "t3nant'spassword";

fn stage(spec: &Value) -> Stage {
    named("production", spec)
}

fn named(name: &str, spec: &Value) -> Stage {
    let mut stage = Stage::named(name, spec);
    stage.put_secret(
        "tenant-keystone-user",
        &[("username", "tenant"), ("password", PASSWORD)],
    );
    stage.settle();
    stage
}

fn set_access(stage: &mut Stage, access: &str) {
    let key = stage.control_plane.clone();
    let mut object = stage.cluster.get(&key).unwrap().clone();
    object["spec"]["access"] = json!(access);
    stage.cluster.put(&key, &object);
    stage.settle();
}

/// Names of the roles in the tenant's domain, and in its project.
fn roles(stage: &Stage) -> [Vec<String>; 2] {
    let known = stage.keystone.borrow();
    let mut found = [Vec::new(), Vec::new()];
    for (scope, users) in &known.roles {
        let place = match scope {
            Scope::Domain(_) => 0,
            _ => 1,
        };
        found[place].extend(users.values().flatten().cloned());
    }
    found
}

fn access_ready(stage: &Stage) -> [String; 2] {
    let (status, reason, _) = stage.condition(&stage.control_plane, "AccessReady");
    [status, reason]
}

fn connection(stage: &Stage) -> Value {
    let object = stage.cluster.get(&stage.control_plane).unwrap();
    object["status"]["connection"].clone()
}

#[test]
fn tenant_manages_a_domain_of_its_own_and_nothing_else() {
    let stage = stage(&json!({ "access": "Domain" }));
    assert_eq!(roles(&stage), [vec!["manager"], vec!["member"]]);
    assert_eq!(access_ready(&stage)[0], "True");
    assert_eq!(
        connection(&stage),
        json!({ "secretName": "production-clouds" })
    );
    for (kind, plural) in [
        ("Domain", "domains"),
        ("Project", "projects"),
        ("User", "users"),
    ] {
        let object = stage.cluster.get(&korc(kind, plural, "tenant")).unwrap();
        let policy = &object["spec"]["managedOptions"]["onDelete"];
        assert_eq!(policy, "detach", "{kind}");
        if kind != "Domain" {
            assert_eq!(object["spec"]["resource"]["domainRef"], "tenant");
        }
    }
}

/// Tenants choose the names of control planes, and get what is in the Secret that the status names.
#[rstest]
#[case::that_k_orc_works_with("k-orc")]
#[case::of_keystones_first_user("k-orc-bootstrap")]
#[case::of_a_service_user("k-orc-nova")]
fn tenant_of_a_control_plane_that_is_called_like_k_orc_gets_none_of_its_secrets(
    #[case] name: &str,
) {
    let stage = named(name, &json!({ "access": "Domain" }));
    assert_eq!(access_ready(&stage)[0], "True");
    let handed_out = format!("tenant-{name}-clouds");
    assert_eq!(connection(&stage), json!({ "secretName": handed_out }));
    let user = |secret: &str| {
        let clouds = stage.value(secret, "clouds.yaml").unwrap();
        let clouds: Value = serde_saphyr::from_str(&clouds).unwrap();
        clouds["clouds"]["openstack"]["auth"]["username"].clone()
    };
    assert_eq!(user(&handed_out), "tenant");
    assert_ne!(user(&format!("{name}-clouds")), "tenant");
}

/// A manager of a domain creates any number of users, and gives them roles in it.
#[test]
fn tenant_has_only_its_first_users_roles_read() {
    let stage = stage(&json!({ "access": "Domain" }));
    let key = korc("User", "users", "tenant");
    let user = &stage.cluster.get(&key).unwrap()["status"];
    let user = user["id"].as_str();
    assert!(user.is_some());
    let known = stage.keystone.borrow();
    let asked = known.asked.iter();
    let asked = asked.filter(|(scope, _)| !matches!(scope, Scope::Named(_)));
    let users: Vec<_> = asked.map(|(_, user)| user.as_deref()).collect();
    assert_eq!(users, [user, user], "in its domain and in its project");
}

#[test]
fn clouds_yaml_of_the_tenant_has_public_endpoints_and_the_users_domain() {
    let exposed = json!({ "hostname": "identity.example.com", "ingress": { "tlsSecretName": "identity-tls" } });
    let mut stage = stage(&json!({
        "access": "Domain",
        "services": { "keystone": { "expose": exposed }, "neutron": { "enabled": false } },
    }));
    assert_eq!(stage.value("production-clouds", "cacert"), None);
    stage.put_secret("identity-tls", &[("ca.crt", "authority")]);
    stage.settle();
    let value = |key: &str| stage.value("production-clouds", key).unwrap();
    assert_eq!(value("cacert"), "authority");
    let clouds: Value = serde_saphyr::from_str(&value("clouds.yaml")).unwrap();
    let cloud = |auth: Value| {
        json!({
            "auth_type": "password", "auth": auth, "region_name": "RegionOne",
            "endpoint_type": "public", "identity_api_version": 3,
        })
    };
    let (url, tenant) = ("https://identity.example.com/v3", "tenant");
    assert_eq!(
        clouds,
        json!({ "clouds": {
            "openstack": cloud(json!({
                "auth_url": url, "username": tenant, "password": PASSWORD, "project_name": tenant,
                "user_domain_name": tenant, "project_domain_name": tenant,
            })),
            "openstack-domain": cloud(json!({
                "auth_url": url, "username": tenant, "password": PASSWORD, "user_domain_name": tenant,
                "domain_name": tenant,
            })),
        } })
    );
}

#[test]
fn clouds_yaml_of_the_tenant_keeps_the_authority_while_the_certificate_is_issued_again() {
    let exposed = json!({ "hostname": "identity.example.com", "ingress": { "tlsSecretName": "identity-tls" } });
    let mut stage = stage(&json!({
        "access": "Domain",
        "services": { "keystone": { "expose": exposed }, "neutron": { "enabled": false } },
    }));
    let issue = |stage: &mut Stage, authority: &str| {
        stage.put_secret("identity-tls", &[("ca.crt", authority)]);
        stage.settle();
    };
    issue(&mut stage, "authority");
    stage.cluster.delete(&secret("identity-tls"));
    stage.settle();
    let value = |stage: &Stage, key: &str| stage.value("production-clouds", key);
    assert_eq!(value(&stage, "cacert").as_deref(), Some("authority"));
    assert!(value(&stage, "clouds.yaml").is_some());
    assert_eq!(access_ready(&stage)[0], "True");
    issue(&mut stage, "another");
    assert_eq!(value(&stage, "cacert").as_deref(), Some("another"));
}

#[test]
fn administrator_gains_the_role_and_loses_it_again() {
    let mut stage = stage(&json!({ "access": "Domain" }));
    set_access(&mut stage, "Admin");
    assert_eq!(roles(&stage), [vec!["manager"], vec!["admin", "member"]]);
    set_access(&mut stage, "Domain");
    assert_eq!(roles(&stage), [vec!["manager"], vec!["member"]]);
    assert_eq!(access_ready(&stage)[0], "True");
}

#[test]
fn password_of_the_tenant_is_made_once_and_shown_nowhere() {
    let mut stage = Stage::new(&json!({ "access": "Domain" }));
    stage.settle();
    let password = |stage: &Stage| stage.value("tenant-keystone-user", "password").unwrap();
    let made = password(&stage);
    stage.settle();
    assert_eq!(password(&stage), made);
    for (key, object) in stage.cluster.objects() {
        if key.kind.kind != "Secret" {
            assert!(!object.to_string().contains(&made), "{key}");
        }
    }
}

#[test]
fn no_user_is_made_unless_access_says_so_and_the_catalogue_is_there() {
    assert_eq!(
        stage(&json!({}))
            .cluster
            .get(&korc("User", "users", "tenant")),
        None
    );
    let mut early = Stage::new(&json!({ "access": "Domain" }));
    early.look();
    assert_eq!(early.cluster.get(&korc("User", "users", "tenant")), None);
    assert_eq!(early.cluster.get(&secret("tenant-keystone-user")), None);
}

#[test]
fn access_without_k_orc_is_refused_with_a_reason() {
    let stage = stage(&json!({ "access": "Domain", "korc": { "enabled": false } }));
    assert_eq!(access_ready(&stage), ["False", "Unsupported"]);
    assert_eq!(connection(&stage), Value::Null);
}

#[test]
fn tenant_keeps_its_connection_while_keystone_does_not_answer() {
    let mut stage = stage(&json!({ "access": "Domain" }));
    stage.keystone.borrow_mut().is_up = false;
    stage.settle();
    assert_ne!(access_ready(&stage)[0], "True");
    assert_eq!(
        connection(&stage),
        json!({ "secretName": "production-clouds" })
    );
    assert!(stage.value("production-clouds", "clouds.yaml").is_some());
    assert!(
        stage
            .cluster
            .get(&korc("User", "users", "tenant"))
            .is_some()
    );
}

/// Without a domain, K-ORC would take over a user of a service's name that the tenant has in its own.
#[test]
fn service_users_are_not_created_beside_a_tenant_without_their_domain() {
    let user = |stage: &Stage, name| {
        let key = korc("User", "users", name);
        stage.cluster.get(&key).is_some()
    };
    let without = json!({ "bootstrapResources": [] });
    let refused = stage(&json!({ "access": "Domain", "korc": without }));
    let (status, reason, message) = refused.ready();
    assert_eq!([&*status, &*reason], ["False", "Unsupported"]);
    let advice = "add domains to korc.bootstrapResources";
    assert!(message.contains(advice), "{message}");
    assert!(!user(&refused, "glance") && !user(&refused, "nova"));

    let mut earlier = stage(&json!({ "korc": without }));
    set_access(&mut earlier, "Domain");
    assert_eq!(earlier.ready().0, "True");
    assert!(user(&earlier, "glance") && user(&earlier, "tenant"));
}
