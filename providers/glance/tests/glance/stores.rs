//! Stores of images: what describes them, and what stays of them.

use c5c3_api::glance::GlanceSpec;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use provider_composer::Custom;
use provider_openstack_fixtures::documents::{self, RBD};
use serde_json::json;

use super::{FILE, GLANCE, SEVERAL, given};

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

#[rstest::rstest]
#[case::without_a_slash("31.1.0", "ab+cd", true)]
#[case::with_a_slash_before("30.2.0", "ab/cd", true)]
#[case::with_a_slash("31.1.0", "ab/cd", false)]
#[case::with_a_slash_after("32.0.0", "ab/cd", true)]
fn key_of_a_bucket_with_which_glance_loses_images_is_refused(
    #[case] tag: &str,
    #[case] key: &str,
    #[case] is_taken: bool,
) {
    let mut cluster = given(SEVERAL);
    cluster.secret("glance-bucket", &[("accessKey", "key"), ("secretKey", key)]);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["image"]["tag"] = json!(tag);
    });
    cluster.settle(&GLANCE, "glance");
    let (status, reason, message) = cluster.condition(&GLANCE, "glance", "APIReady");
    assert_eq!(status == "True", is_taken, "{reason}: {message}");
    if !is_taken {
        assert_eq!(reason, "InvalidSecret");
        assert!(
            message.contains("Secret glance-bucket has a slash"),
            "{message}"
        );
        assert!(!message.contains(key), "{message}");
    }
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

/// It outlasts both, so no ownerReference says whose it is.
#[test]
fn volume_with_the_images_of_another_glance_is_left_alone() {
    let mut cluster = given(FILE);
    cluster.change::<Custom<GlanceSpec>>("glance", |glance| {
        glance["spec"]["storage"]["additional"] = json!([{ "name": "images", "backend": "file" }]);
    });
    cluster.settle(&GLANCE, "glance");
    let volume = "glance-images-images";
    let before = cluster.get::<PersistentVolumeClaim>(volume).cloned();
    assert!(before.is_some());

    let other = documents::glance(FILE)
        .replace("name: glance,", "name: glance-images,")
        .replace("uid: \"1234\"", "uid: \"5678\"")
        .replace("database: glance }", "database: other }");
    cluster.put_document::<Custom<GlanceSpec>>(&other);
    let failure = cluster.compose(&GLANCE, "glance-images").err().unwrap();
    assert_eq!(
        (failure.reason().name(), failure.to_string()),
        (
            "NameTaken",
            format!(
                "PersistentVolumeClaim {volume} has the images of Glance glance: give this Glance or its store another name"
            )
        )
    );
    let after = cluster.get::<PersistentVolumeClaim>(volume).cloned();
    assert_eq!(after, before);
}
