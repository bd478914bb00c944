//! A Glance from its resource to a running API, in a small cluster in memory.

#![cfg(test)]

mod ceph;
mod purge;
mod stores;
mod termination;

use c5c3_api::glance::GlanceSpec;
use c5c3_kinds::gateway::HttpRoute;
use c5c3_kinds::{Manifest, mariadb};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use provider_composer::Custom;
use provider_glance::Glance;
use provider_openstack_fixtures::documents::{self, RBD};
use provider_openstack_fixtures::{Cluster, assert_recovers, difference, shown};
use serde_json::{Value, json};

const GLANCE: Glance = Glance;

const FILE: &str = r#"
    backend: file
    file: { size: 100Gi, storageClass: shared }
"#;

const S3: &str = r#"
    backend: s3
    s3: { endpoint: "https://objects.example.com", bucket: images, secretRef: { name: glance-bucket } }
"#;

const SEVERAL: &str = r#"
    backend: rbd
    rbd: { pool: images, cephSecretRef: { name: glance-ceph-credentials } }
    additional:
      - name: fast
        description: "On flash: $5 more"
        backend: rbd
        rbd: { pool: flash, user: flash, cephSecretRef: { name: flash-ceph-credentials } }
      - { name: archive, backend: s3, s3: { endpoint: "https://objects.example.com", bucket: images, secretRef: { name: glance-bucket } } }
      - { name: shared, backend: file, file: { storageClass: shared } }
"#;

fn given(store: &str) -> Cluster {
    let mut cluster = Cluster::with_infrastructure();
    cluster.put_document::<Custom<GlanceSpec>>(&documents::glance(store));
    let flash = "[client.flash]\n\tkey = flash-s3cret\n";
    cluster.secret(
        "flash-ceph-credentials",
        &[("keyring", flash), ("ceph.conf", "[global]\nfsid = 2")],
    );
    cluster
}

/// All that a Glance is made of.
fn composed(mut cluster: Cluster) -> Value {
    let answer = cluster.settle(&GLANCE, "glance");
    assert_eq!(cluster.condition(&GLANCE, "glance", "Ready").0, "True");
    shown(&answer)
}

#[test]
fn glance_is_composed() {
    insta::assert_yaml_snapshot!("file", composed(given(FILE)));
}

#[rstest::rstest]
#[case("rbd", RBD)]
#[case("s3", S3)]
#[case("several", SEVERAL)]
fn glance_with_another_store_is_composed(#[case] name: &str, #[case] store: &str) {
    let with_files = composed(given(FILE));
    insta::assert_yaml_snapshot!(name, difference(&with_files, &composed(given(store))));
}

#[test]
fn glance_recovers_from_kills_of_its_operator() {
    assert_recovers(&GLANCE, "glance", || {
        let mut cluster = given(SEVERAL);
        cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
            glance["spec"]["tls"] = json!({ "issuerRef": { "name": "ca" } });
        });
        cluster
    });
}

#[test]
fn each_replica_keeps_images_and_makes_room() {
    let mut cluster = given(FILE);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["cache"] = json!({ "size": "5Gi" });
    });
    let without_cache = composed(given(FILE));
    insta::assert_yaml_snapshot!("cache", difference(&without_cache, &composed(cluster)));
}

#[rstest::rstest]
#[case::staged(|_: &mut Value| {}, "2052Gi")]
#[case::cached(|spec: &mut Value| spec["cache"] = json!({ "size": "5Gi" }), "2062Gi")]
#[case::set(
    |spec: &mut Value| spec["resources"] = json!({ "limits": { "ephemeral-storage": "100Gi" } }),
    "100Gi"
)]
fn glance_has_ephemeral_storage_for_its_images(
    #[case] change: fn(&mut Value),
    #[case] limit: &str,
) {
    let mut cluster = given(FILE);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| change(&mut glance["spec"]));
    cluster.settle(&GLANCE, "glance");
    let api = cluster.get::<Deployment>("glance").unwrap();
    let limits = &api["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(limits["ephemeral-storage"], limit, "{limits}");
}

/// Otherwise the limit of the exporter would be that of the pod, whose images have more.
#[test]
fn glance_that_requests_ephemeral_storage_keeps_its_limit_beside_the_exporter() {
    let mut cluster = given(FILE);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["monitoring"] = json!({ "enabled": true });
        glance["spec"]["resources"] = json!({ "requests": { "ephemeral-storage": "50Gi" } });
    });
    cluster.settle(&GLANCE, "glance");
    let api = cluster.get::<Deployment>("glance").unwrap();
    let containers = api["spec"]["template"]["spec"]["containers"].as_array();
    let limits = containers.unwrap().iter().map(|container| {
        let limit = &container["resources"]["limits"]["ephemeral-storage"];
        (container["name"].as_str(), limit.as_str())
    });
    let limits: Vec<(Option<&str>, Option<&str>)> = limits.collect();
    assert_eq!(
        limits,
        [
            (Some("glance"), Some("2052Gi")),
            (Some("metrics"), Some("4Gi"))
        ]
    );
}

#[test]
fn upload_of_an_image_may_have_any_size_and_take_hours() {
    let mut cluster = given(RBD);
    cluster.settle(&GLANCE, "glance");
    let api = cluster.get::<Deployment>("glance").unwrap();
    let command = &api["spec"]["template"]["spec"]["containers"][0]["command"];
    let words = command.as_array().into_iter().flatten();
    let words: Vec<&str> = words.filter_map(serde_json::Value::as_str).collect();
    let value = |option: &str| {
        let mut pairs = words.windows(2);
        pairs.find(|pair| pair[0] == option).map(|pair| pair[1])
    };
    assert_eq!(words[0], "uwsgi");
    assert_eq!(value("--threads"), Some("16"));
    let probe = &api["spec"]["template"]["spec"]["containers"][0]["livenessProbe"];
    assert!(
        probe.is_null(),
        "connections wait while all threads transfer"
    );
    assert_eq!(value("--socket-timeout"), Some("60"));
    assert_eq!(value("--chunked-input-limit"), Some("16777216"));
    // The first three end a request after a time, the others limit its size or keep it on a disk.
    for limit in [
        "--harakiri",
        "--http-timeout",
        "--chunked-input-timeout",
        "--limit-post",
        "--post-buffering",
    ] {
        assert!(!words.contains(&limit), "{limit}");
    }
    let secrets = cluster.all::<Secret>().into_keys();
    let mut files = secrets.filter_map(|secret| cluster.value(secret, "glance-api.conf"));
    let file = files.next().unwrap();
    for limit in ["image_size_cap", "user_storage_quota"] {
        assert!(!file.contains(limit), "{limit} is Glance's own");
    }
}

#[rstest::rstest]
#[case(json!(null), json!({ "request": "0s" }))]
#[case(json!("Gateway"), json!(null))]
fn upload_of_an_image_through_a_gateway_may_take_hours_unless_the_gateway_decides(
    #[case] request_timeout: serde_json::Value,
    #[case] timeouts: serde_json::Value,
) {
    let mut cluster = given(RBD);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["expose"] = json!({
            "hostname": "image.example.com",
            "gateway": { "name": "public" },
            "requestTimeout": request_timeout,
        });
    });
    cluster.settle(&GLANCE, "glance");
    let route = cluster.get::<Manifest<HttpRoute>>("glance").unwrap();
    assert_eq!(route["spec"]["rules"][0]["timeouts"], timeouts);
}

#[test]
fn upload_of_an_image_through_an_ingress_has_no_limit_but_the_users() {
    let mut cluster = given(RBD);
    let body_size = "nginx.ingress.kubernetes.io/proxy-body-size";
    let mut annotations = |given: serde_json::Value| {
        cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
            glance["spec"]["expose"] = json!({
                "hostname": "image.example.com",
                "ingress": { "className": "nginx", "annotations": given },
            });
        });
        cluster.settle(&GLANCE, "glance");
        cluster.get::<Ingress>("glance").unwrap()["metadata"]["annotations"].clone()
    };
    let protocol = "nginx.ingress.kubernetes.io/backend-protocol";
    assert_eq!(
        annotations(json!({ protocol: "HTTPS" })),
        json!({
            protocol: "HTTPS",
            body_size: "0",
            "nginx.ingress.kubernetes.io/proxy-read-timeout": "900",
            "nginx.ingress.kubernetes.io/proxy-request-buffering": "off",
            "nginx.ingress.kubernetes.io/proxy-send-timeout": "900",
        })
    );
    assert_eq!(annotations(json!({ body_size: "50g" }))[body_size], "50g");
}

#[rstest::rstest]
#[case("DEFAULT", "enabled_backends", "s3:s3", "use storage")]
#[case("DEFAULT", "image_cache_driver", "xattr", "use cache")]
#[case(
    "glance_store",
    "default_backend",
    "s3",
    "[glance_store] default_backend, and the operator owns it: use storage"
)]
#[case(
    "rbd",
    "rbd_store_pool",
    "other",
    "[rbd] rbd_store_pool, and the operator owns it: use storage"
)]
#[case(
    "fast",
    "rbd_store_pool",
    "other",
    "[fast] rbd_store_pool, and the operator owns it: use storage.additional"
)]
#[case("keystone_authtoken", "auth_url", "http://a", "use keystone")]
#[case(
    "oslo_concurrency",
    "lock_path",
    "/tmp",
    "use nothing: only there can be written"
)]
#[case(
    "paste_deploy",
    "config_file",
    "/tmp/a",
    "use nothing: it is the image's"
)]
fn what_the_operator_owns_is_not_for_extra_config(
    #[case] section: &str,
    #[case] option: &str,
    #[case] value: &str,
    #[case] message: &str,
) {
    let mut cluster = given(SEVERAL);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["extraConfig"] = json!({ section: { option: value } })
    });
    let failure = cluster.compose(&GLANCE, "glance").err().unwrap();
    assert_eq!(failure.reason().to_string(), "OwnedByOperator");
    assert!(failure.to_string().contains(message), "{failure}");
}

#[rstest::rstest]
#[case(
    "get_imagge",
    "role:reader",
    "a rule get_imagge, and glance 2025.2 has no such rule: did you mean get_image?"
)]
#[case("get_image", "role:reader or", "a check is missing at the end")]
fn a_wrong_policy_is_told_while_everything_else_is_awaited(
    #[case] name: &str,
    #[case] rule: &str,
    #[case] message: &str,
) {
    let mut cluster = Cluster::default();
    cluster.put_document::<Custom<GlanceSpec>>(&documents::glance(FILE));
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["policyOverrides"] = json!({ "rules": { name: rule } })
    });
    let failure = cluster.compose(&GLANCE, "glance").err().unwrap();
    assert_eq!(failure.reason().to_string(), "InvalidPolicy");
    assert!(failure.to_string().contains(message), "{failure}");
}

#[rstest::rstest]
#[case::galera(json!({ "tls": { "enabled": true }, "galera": { "enabled": true } }), "openstack-db", "MariaDB's", "openstack-db-primary")]
#[case::max_scale(
    json!({ "tls": { "enabled": true, "required": true }, "maxScale": { "enabled": true } }),
    "openstack-db-maxscale",
    "MaxScale's",
    "openstack-db-maxscale"
)]
#[case::its_own_max_scale(
    json!({ "tls": { "enabled": true, "required": true }, "maxScaleRef": { "name": "proxy" } }),
    "proxy",
    "MaxScale's",
    "proxy"
)]
fn database_connection_is_encrypted_and_verified_where_the_server_offers_tls(
    #[case] spec: serde_json::Value,
    #[case] signer: &str,
    #[case] signed: &str,
    #[case] host: &str,
) {
    let mut cluster = given(FILE);
    cluster.delete::<Manifest<mariadb::MariaDb>>("openstack-db");
    cluster.put::<Manifest<mariadb::MariaDb>>("openstack-db", json!({ "spec": spec }));
    cluster.settle(&GLANCE, "glance");
    let (_, reason, message) = cluster.condition(&GLANCE, "glance", "DatabaseReady");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        (
            "WaitingForSecret",
            &*format!(
                "waits for Secret {signer}-ca-bundle with the certificates that {signed} is signed by"
            )
        )
    );

    cluster.secret(&format!("{signer}-ca-bundle"), &[("ca.crt", "authority")]);
    cluster.settle(&GLANCE, "glance");
    assert_eq!(cluster.condition(&GLANCE, "glance", "Ready").0, "True");
    let deployment = cluster.get::<Deployment>("glance").unwrap();
    let config = deployment["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"]
        .as_str()
        .unwrap();
    let file = cluster.value(config, "glance-api.conf").unwrap();
    let connection = file.lines().find(|line| line.starts_with("connection = "));
    assert_eq!(
        connection,
        Some(&*format!(
            "connection = mysql+pymysql://glance:db-s3cret@{host}.openstack.svc:3306/glance\
                 ?charset=utf8mb4&ssl_ca=/etc/glance/config/database-ca.crt"
        ))
    );
    let authority = cluster.value(config, "database-ca.crt");
    assert_eq!(authority.as_deref(), Some("authority"));
}

#[rstest::rstest]
#[case::ipv4(json!(["IPv4"]), "openstack-memcached-0.openstack-memcached.openstack.svc:11211,")]
#[case::ipv6(json!(["IPv6"]), "inet6:[openstack-memcached-0.openstack-memcached.openstack.svc]:11211,")]
#[case::both(json!(["IPv6", "IPv4"]), "openstack-memcached-0.openstack-memcached.openstack.svc:11211,")]
fn glance_reaches_memcached_in_a_cluster_of_either_family(
    #[case] families: serde_json::Value,
    #[case] first: &str,
) {
    let mut cluster = given(RBD);
    let service = json!({ "spec": { "clusterIP": "None", "ipFamilies": families } });
    cluster.put::<Service>("openstack-memcached", service);
    cluster.settle(&GLANCE, "glance");
    let secrets = cluster.all::<Secret>().into_keys();
    let mut files = secrets.filter_map(|secret| cluster.value(secret, "glance-api.conf"));
    let line = format!("\nmemcached_servers = {first}");
    assert!(files.any(|file| file.contains(&line)));
}

#[test]
fn glance_caches_tokens_in_an_external_memcached() {
    let mut cluster = given(RBD);
    cluster.delete::<StatefulSet>("openstack-memcached");
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["keystone"]["memcachedServers"] =
            json!(["cache-0.example.com:11211", "[2001:db8::21]"]);
    });
    cluster.settle(&GLANCE, "glance");
    let secrets = cluster.all::<Secret>().into_keys();
    let files: Vec<String> = secrets
        .filter_map(|secret| cluster.value(secret, "glance-api.conf"))
        .collect();
    let servers = "\nmemcached_servers = cache-0.example.com:11211,inet6:[2001:db8::21]:11211\n";
    assert!(!files.is_empty());
    for file in files {
        assert!(file.contains(servers), "{file}");
        let encrypted = "\nmemcache_security_strategy = ENCRYPT\n";
        assert!(file.contains(encrypted), "{file}");
    }
}
