//! A Glance from its resource to a running API, in a small cluster in memory.

use std::collections::BTreeSet;

use c5c3_api::glance::GlanceSpec;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use provider_composer::Custom;
use provider_glance::Glance;
use provider_openstack::manifest::{Manifest, mariadb};
use provider_openstack_fixtures::documents::{self, RBD};
use provider_openstack_fixtures::{Cluster, assert_recovers, shown};
use serde_json::json;

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

#[rstest::rstest]
#[case("rbd", RBD)]
#[case("file", FILE)]
#[case("s3", S3)]
#[case("several", SEVERAL)]
fn all_that_glance_is_made_of(#[case] name: &str, #[case] store: &str) {
    let mut cluster = given(store);
    let answer = cluster.settle(&GLANCE, "glance");
    assert_eq!(cluster.condition(&GLANCE, "glance", "Ready").0, "True");
    insta::assert_yaml_snapshot!(name, shown(&answer));
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
fn who_signs_for_a_bucket_is_said_beside_its_keys() {
    let mut cluster = given(SEVERAL);
    let keys = [("accessKey", "key"), ("secretKey", "s3cret")];
    cluster.secret(
        "glance-bucket",
        &[keys[0], keys[1], ("ca.crt", "who signs")],
    );
    cluster.settle(&GLANCE, "glance");
    let deployment = cluster.get::<Deployment>("glance").unwrap();
    let config = deployment["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"]
        .as_str()
        .unwrap();
    let conf = cluster.value(config, "glance-api.conf").unwrap();
    assert!(
        conf.contains("s3_store_cacert = /etc/glance/config/archive.ca.crt\n"),
        "{conf}"
    );
    let authority = cluster.value(config, "archive.ca.crt");
    assert_eq!(authority.as_deref(), Some("who signs"));
}

#[test]
fn each_replica_keeps_images_and_makes_room() {
    let mut cluster = given(FILE);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["cache"] = json!({ "size": "5Gi" });
    });
    let answer = cluster.settle(&GLANCE, "glance");
    insta::assert_yaml_snapshot!("cache", shown(&answer));
}

#[test]
fn volume_of_images_does_not_shrink_and_keeps_its_class() {
    let mut cluster = given(FILE);
    cluster.settle(&GLANCE, "glance");
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["storage"]["file"] = json!({ "size": "50Gi", "storageClass": "other" });
    });
    cluster.settle(&GLANCE, "glance");
    let spec = &cluster
        .get::<PersistentVolumeClaim>("glance-images")
        .unwrap()["spec"];
    assert_eq!(spec["resources"]["requests"]["storage"], "100Gi");
    assert_eq!(spec["storageClassName"], "shared");
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "SizeAccepted");
    assert_eq!((&*status, &*reason), ("False", "Unsupported"));
    let kept = "PersistentVolumeClaim glance-images keeps size: 100Gi instead of 50Gi and storageClass: shared instead of other: ";
    assert!(message.starts_with(kept), "{message}");
    assert_eq!(cluster.condition(&GLANCE, "glance", "Ready").0, "True");
}

#[test]
fn upload_of_an_image_may_take_hours() {
    let mut cluster = given(RBD);
    cluster.settle(&GLANCE, "glance");
    let api = cluster.get::<Deployment>("glance").unwrap();
    let command = &api["spec"]["template"]["spec"]["containers"][0]["command"];
    assert_eq!(command[0], "uwsgi");
    assert!(!command.to_string().contains("harakiri"), "{command}");
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

#[test]
fn images_outlast_glance_and_its_store() {
    let mut cluster = given(FILE);
    cluster.settle(&GLANCE, "glance");
    let metadata = &cluster
        .get::<PersistentVolumeClaim>("glance-images")
        .unwrap()["metadata"];
    assert_eq!(metadata["ownerReferences"], json!(null));
    assert_eq!(metadata["labels"]["c5c3.io/owner-name"], json!(null));

    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["storage"] = json!({
            "backend": "s3",
            "s3": { "endpoint": "https://objects.example.com", "bucket": "images", "secretRef": { "name": "glance-bucket" } },
        });
    });
    cluster.settle(&GLANCE, "glance");
    assert!(
        cluster
            .get::<PersistentVolumeClaim>("glance-images")
            .is_some()
    );
}

#[test]
fn ceph_is_said_to_be_connected_only_when_a_pod_has_seen_it() {
    let mut cluster = given(RBD);
    cluster.compose(&GLANCE, "glance").unwrap();
    assert_eq!(
        cluster.condition(&GLANCE, "glance", "CephConnected").1,
        "WaitingForJob"
    );
    let job = cluster
        .all::<Job>()
        .into_keys()
        .find(|name| name.starts_with("glance-ceph-"))
        .unwrap()
        .to_owned();
    cluster.finish_job(&job, "Failed");
    cluster.compose(&GLANCE, "glance").unwrap();
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "JobFailed"));
    let expected = format!(
        "Job {job} failed (the backoff limit was reached): often Ceph has no pool images, refuses user glance, its key has no capabilities"
    );
    assert!(message.starts_with(&expected), "{message}");

    cluster.secret(
        "glance-ceph-credentials",
        &[
            ("userID", "glance"),
            ("keyring", "right-s3cret"),
            ("ceph.conf", "[global]"),
        ],
    );
    cluster.settle(&GLANCE, "glance");
    assert_eq!(
        cluster.condition(&GLANCE, "glance", "CephConnected").0,
        "True"
    );
}

#[test]
fn ceph_is_connected_when_every_store_in_it_is() {
    let mut cluster = given(SEVERAL);
    cluster.delete::<Secret>("flash-ceph-credentials");
    cluster.settle(&GLANCE, "glance");
    let (status, _, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!(status, "False");
    assert!(message.contains("flash-ceph-credentials"), "{message}");
    assert!(cluster.get::<Deployment>("glance").is_none());
}

#[test]
fn a_job_looks_at_each_pool() {
    let mut cluster = given(SEVERAL);
    cluster.compose(&GLANCE, "glance").unwrap();
    let pools: BTreeSet<String> = cluster
        .all::<Job>()
        .into_values()
        .map(|job| {
            let variables = &job["spec"]["template"]["spec"]["containers"][0]["env"];
            variables[1]["value"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(pools, ["flash", "images"].map(str::to_owned).into());
}

#[rstest::rstest]
#[case(
    "s3",
    "another store or a section of Glance's configuration is called so"
)]
#[case(
    "database",
    "another store or a section of Glance's configuration is called so"
)]
#[case(
    "twice",
    "another store or a section of Glance's configuration is called so"
)]
#[case(
    "undescribed",
    "storage.additional[undescribed].backend is s3, and nothing describes it: give storage.additional[undescribed].s3"
)]
fn a_store_has_a_name_of_its_own_and_a_description(#[case] name: &str, #[case] expected: &str) {
    let mut cluster = given(FILE);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        let backend = if name == "undescribed" { "s3" } else { "file" };
        glance["spec"]["storage"]["additional"] = json!([
            { "name": "twice", "backend": "file" },
            { "name": name, "backend": backend },
        ]);
    });
    let failure = cluster.compose(&GLANCE, "glance").err().unwrap();
    assert!(failure.to_string().contains(expected), "{failure}");
}

#[rstest::rstest]
#[case(&[("userID", "glance"), ("ceph.conf", "[global]")], "Secret glance-ceph-credentials has no value under the key keyring")]
#[case(&[("keyring", "k-s3cret"), ("ceph.conf", "[global]")], "has no value under the key userID")]
#[case(
    &[("userID", "glance"), ("keyring", "[client.glance]\n\tkey =\n"), ("ceph.conf", "[global]")],
    "the keyring in Secret glance-ceph-credentials has no key: put in what `ceph auth get client.glance` prints"
)]
#[case(
    &[("userID", "client.glance"), ("keyring", "k-s3cret"), ("ceph.conf", "[global]")],
    "Ceph's user is client.glance: write it without client."
)]
fn a_secret_without_what_ceph_needs_is_named(
    #[case] values: &[(&str, &str)],
    #[case] expected: &str,
) {
    let mut cluster = given(RBD);
    cluster.secret("glance-ceph-credentials", values);
    cluster.settle(&GLANCE, "glance");
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "CephConnected");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "InvalidSecret")
    );
    assert!(message.contains(expected), "{message}");
    assert!(cluster.get::<Deployment>("glance").is_none());
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

#[test]
fn a_store_that_nothing_describes_is_a_mistake() {
    let mut cluster = given(RBD);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["storage"] = json!({ "backend": "s3" })
    });
    let failure = cluster.compose(&GLANCE, "glance").err().unwrap();
    assert_eq!(
        failure.to_string(),
        "storage.backend is s3, and nothing describes it: give storage.s3"
    );
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
