//! What users may get wrong.

use c5c3_api::keystone::KeystoneSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use provider_composer::Custom;
use provider_openstack_fixtures::Cluster;
use serde_json::{Value, json};

use crate::stage::{KEYSTONE, MANAGED, running};

#[rstest::rstest]
#[case(json!({ "replicas": 0 }), "Invalid", "replicas is 0, and then nothing would answer: give at least 1")]
#[case(json!({ "release": "2026.2" }), "ReleaseNotReachable", "upgrade to 2026.1 first")]
#[case(json!({ "release": "2025.1" }), "ReleaseNotReachable", "release 2025.1 is older than 2025.2, which runs, and databases can't be downgraded: request 2025.2")]
#[case(json!({ "release": "2031.1" }), "ReleaseUnknown", "choose one of 2025.1, 2025.2, 2026.1, 2026.2")]
#[case(json!({ "image": { "tag": "29.0.0" } }), "ReleaseMismatch", "release is 2025.2, and image.tag 29.0.0 is of 2026.1")]
#[case(json!({ "release": null, "image": { "tag": "a1b2c3d" } }), "ReleaseUnknown", "the image's tag a1b2c3d doesn't say")]
#[case(
    json!({ "extraConfig": { "fernet_tokens": { "max_active_keys": "9" } } }),
    "OwnedByOperator",
    "extraConfig sets [fernet_tokens] max_active_keys, and the operator owns it: use fernet"
)]
#[case(
    json!({ "extraConfig": { "database": { "connection": "sqlite://" } } }),
    "OwnedByOperator",
    "[database] connection, and the operator owns it: use database, and leave it out"
)]
#[case(
    json!({ "extraConfig": { "cache": { "memcached_servers": "a:1" } } }),
    "InvalidConfiguration",
    "extraConfig sets [cache] memcached_servers, and keystone 2025.2 has no such option: did you mean memcache_servers?"
)]
#[case(
    json!({ "extraConfig": { "cache": { "memcache_servers": "a:1" } } }),
    "OwnedByOperator",
    "use cache.servers or cache.clusterRef"
)]
#[case(
    json!({ "extraConfig": { "cahce": { "enabled": "false" } } }),
    "InvalidConfiguration",
    "keystone 2025.2 has no section [cahce]: did you mean [cache]?"
)]
#[case(
    json!({ "extraConfig": { "token": { "expiration": "1h" } } }),
    "InvalidConfiguration",
    "extraConfig sets [token] expiration to an invalid value; valid: a whole number"
)]
#[case(
    json!({ "extraConfig": { "token": { "expiration": "1\n2" } } }),
    "InvalidConfiguration",
    "several lines, and it takes one value"
)]
#[case(json!({ "extraConfig": { "token": { "provider": "jws" } } }), "OwnedByOperator", "use nothing: the keys")]
#[case(
    json!({ "extraConfig": { "DEFAULT": { "logfile": "/tmp/a" } } }),
    "OwnedByOperator",
    "extraConfig sets [DEFAULT] log_file, and the operator owns it"
)]
#[case(json!({ "extraConfig": { "oslo_policy": { "policy_file": "a" } } }), "OwnedByOperator", "use policyOverrides")]
#[case(json!({ "extraConfig": { "DEFAULT]\n[x": {} } }), "InvalidConfiguration", "not a valid name of a section")]
#[case(json!({ "extraConfig": { "DEFAULT": { "a = b": "c" } } }), "InvalidConfiguration", "not a valid name of an option")]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:create_user": "role:admin or" } } }),
    "InvalidPolicy",
    "the policy rule identity:create_user can't be understood: a check is missing at the end"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:creat_user": "role:admin" } } }),
    "InvalidPolicy",
    "the policies have a rule identity:creat_user, and keystone 2025.2 has no such rule: did you mean identity:create_user?"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:create_user": "rule:admin_requird" } } }),
    "InvalidPolicy",
    "refers to admin_requird, and keystone 2025.2 has no such rule: did you mean admin_required?"
)]
#[case(
    json!({ "policyOverrides": { "rules": { "identity:create_user": "rule:lead", "lead": "(rule:identity:create_user)" } } }),
    "InvalidPolicy",
    "the policy rule identity:create_user refers to itself: break the circle"
)]
#[case(
    json!({ "policyOverrides": { "configMapRef": { "name": "policies" }, "rules": { "identity:create_user": "admin" } } }),
    "InvalidPolicy",
    "\"admin\" is not a valid check: write for instance role:admin"
)]
#[case(
    json!({ "fernet": { "rotationSchedule": "0 0 30 2 *" } }),
    "Invalid",
    "fernet.rotationSchedule \"0 0 30 2 *\" is never due"
)]
#[case(json!({ "fernet": { "rotationSchedule": "weekly" } }), "Invalid", "\"weekly\" is not a valid schedule")]
#[case(json!({ "fernet": { "maxActiveKeys": 2 } }), "Invalid", "give at least 3")]
#[case(
    json!({ "resources": { "requests": { "cpu": 4 }, "limits": { "cpu": "500m" } } }),
    "Invalid",
    "spec.resources: requests.cpu 4 is above limits.cpu 500m: raise the limit or lower the request"
)]
fn a_mistake_changes_nothing_and_says_what_to_do(
    #[case] mistake: Value,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let wrong = |keystone: &mut Value| {
        for (field, value) in mistake.as_object().unwrap() {
            keystone["spec"][field] = value.clone();
        }
        keystone["spec"]
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
    };
    let mut cluster = running(MANAGED);
    let before = cluster.get::<Deployment>("keystone").cloned();
    cluster.change::<Custom<KeystoneSpec>>("keystone", wrong);
    let failure = cluster.compose(&KEYSTONE, "keystone").err().unwrap();
    assert_eq!(failure.reason().to_string(), reason);
    assert!(failure.to_string().contains(message), "{failure}");
    assert_eq!(cluster.get::<Deployment>("keystone").cloned(), before);
    assert_eq!(cluster.condition(&KEYSTONE, "keystone", "Ready").1, reason);

    // The resource alone is enough to tell.
    let mut empty = Cluster::default();
    empty.put_document::<Custom<KeystoneSpec>>(MANAGED);
    empty.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["status"] = json!({ "release": "2025.2" });
        wrong(keystone);
    });
    assert_eq!(empty.compose(&KEYSTONE, "keystone").err(), Some(failure));
}

#[test]
fn what_a_config_map_may_define_is_judged_with_it_and_before_the_database_is_there() {
    let mut cluster = Cluster::default();
    cluster.put_document::<Custom<KeystoneSpec>>(MANAGED);
    cluster.change::<Custom<KeystoneSpec>>("keystone", |keystone| {
        keystone["spec"]["policyOverrides"] = json!({
            "configMapRef": { "name": "policies" },
            "rules": { "identity:create_user": "rule:lead" },
        });
    });
    cluster.compose(&KEYSTONE, "keystone").unwrap();
    let mut given = |rules: &str| {
        cluster.put::<ConfigMap>("policies", json!({ "data": { "policy.yaml": rules } }));
        let answer = cluster.compose(&KEYSTONE, "keystone");
        answer.err().map(|failure| failure.to_string())
    };
    let unknown = given("{}").unwrap();
    assert!(unknown.contains("refers to lead, and keystone 2025.2 has no such rule"));
    assert_eq!(given("lead: role:lead"), None);
}
